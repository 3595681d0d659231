"""Tests of the mutants: each is a program, a seed draws the same ones, and those that are listed can be drawn."""

import ast
from itertools import islice

from tests.mutants import drawn, equivalents, mutants_of


def test_a_seed_draws_the_same_lines_and_another_one_others():
    first, again, other = (list(islice(drawn(seed), 40)) for seed in (0, 0, 1))
    assert first == again
    assert {(mutant.file, mutant.line) for mutant in first} != {(mutant.file, mutant.line) for mutant in other}
    assert len({(mutant.file, mutant.line) for mutant in first}) == 40


def test_a_mutant_is_a_program_that_differs_in_one_statement():
    for mutant in islice(drawn(0), 40):
        assert mutant.before != mutant.after
        ast.parse(mutant.content)


def test_equivalent_mutants_can_be_drawn():
    keys = {file: {one.key for line in mutants_of(file).values() for one in line} for file, *_ in equivalents()}
    for key in equivalents():
        assert key in keys[key[0]], f"{key} is no mutant of today: take it off the list or rewrite it"

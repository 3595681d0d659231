"""Tests of `mase.rng`: global random states are as they were, with threads, too."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import torch
from tests.forks import forked, held

import mase
from mase.rng import seeded, untouched


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002


def draw():
    return random.random(), np.random.rand(), float(torch.rand(()))  # noqa: NPY002


def test_the_same_text_and_seed_draw_the_same_numbers_of_all_libraries():
    before, drawn = states(), []
    for seed, text in ((0, "a"), (0, "a"), (1, "a"), (0, "b")):
        with seeded(seed, text):
            drawn.append(draw())
    assert drawn[0] == drawn[1]
    assert len(set(drawn[1:])) == 3
    assert states() == before


def test_an_inner_block_does_not_disturb_the_outer_one():
    with seeded(0, "a"):
        expected = [draw(), draw()]
    with seeded(0, "a"):
        first = draw()
        with untouched():
            draw()
        assert [first, draw()] == expected


def test_the_last_of_several_threads_restores_what_the_first_one_found():
    before, barrier = states(), Barrier(2)

    def first():
        with seeded(0, "a"):
            barrier.wait()  # the other one enters now
            barrier.wait()
        barrier.wait()  # this one has left

    def second():
        barrier.wait()
        with seeded(0, "b"):
            barrier.wait()
            barrier.wait()
            draw()

    with ThreadPoolExecutor(2) as pool:
        for done in (pool.submit(first), pool.submit(second)):
            done.result(timeout=240)
    assert states() == before


def test_a_fork_begins_with_the_states_before_the_blocks_of_other_threads():
    before = states()

    def restored():
        found = states()
        with seeded(0, "b"):
            draw()
        return found == states() == before

    with held(seeded(0, "a")):
        assert forked(restored)


def test_a_function_that_draws_numbers_of_torch_answers_a_text_in_the_same_way():
    def judge(texts):
        shares = [0.25 + 0.25 * ("good" in text) + 0.25 * float(torch.rand(())) for text in texts]
        return [[1 - share, share] for share in shares]

    before, explainer = states(), mase.Explainer(judge, n_samples=64)
    one, other = explainer("a good film"), explainer("a good film")
    assert np.array_equal(one.scores, other.scores)
    assert one.prediction == other.prediction
    assert states() == before

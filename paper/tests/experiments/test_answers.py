"""Tests of `mase_paper.experiments.answers`."""

import json
import re

import numpy as np
import pytest

from mase import provenance
from mase.errors import DataError
from mase_paper.experiments.answers import Answer, Answers
from mase_paper.experiments.provenance import origin

ABOUT = {"model": {"name": "lstm", "sha256": "00"}, "versions": {"torch": "2.13.0"}}
TEXT = "a “dull” \ud800 film"  # with half of a surrogate pair, as a text in a table may have


def digest(number):
    return bytes([number]) * 16


@pytest.fixture
def some(rng):
    """Return answers of batches of 3, 1 and 0 rows: in single precision, as models of torch give them."""
    sizes = (3, 1, 0)
    batches = [rng.normal(size=(n, 2)).astype(np.float32).astype(np.float64) for n in sizes]
    return {digest(number): Answer(batch, 0.5 + number) for number, batch in enumerate(batches)}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def same(found, expected):
    return list(found) == list(expected) and all(
        np.array_equal(found[key].scores, one.scores, equal_nan=True)
        and found[key].scores.dtype == np.float64
        and found[key].seconds == one.seconds
        for key, one in expected.items()
    )


def test_answers_come_back_bit_for_bit(tmp_path, some):
    answers = Answers(tmp_path / "new" / "folder", ABOUT)
    assert answers.read(TEXT) == {}
    answers.write(TEXT, some)
    assert same(Answers(tmp_path / "new" / "folder", ABOUT).read(TEXT), some)
    assert answers.read("another text") == {}


def test_scores_that_single_precision_would_round_are_kept_in_full(tmp_path, some):
    answers = Answers(tmp_path, ABOUT)
    exact = some | {digest(9): Answer(np.array([[0.1, 1e-300], [np.nan, -np.inf]]), 1.0)}
    answers.write(TEXT, exact)
    assert same(answers.read(TEXT), exact)


def test_those_of_single_precision_take_half_of_the_space(tmp_path, rng):
    answers, scores = Answers(tmp_path, ABOUT), rng.normal(size=(2000, 20))
    sizes = []
    for values in (scores, scores.astype(np.float32).astype(np.float64)):
        answers.write(TEXT, {digest(0): Answer(values, 1.0)})
        sizes.append(answers.path(TEXT).stat().st_size)
    assert sizes[1] < 0.6 * sizes[0]


@pytest.mark.parametrize(
    "other",
    [ABOUT | {"model": {"name": "lstm", "sha256": "01"}}, ABOUT | {"versions": {"torch": "2.14.0"}}],
    ids=["weights", "versions"],
)
def test_answers_of_other_weights_or_versions_are_others(tmp_path, some, other):
    Answers(tmp_path, ABOUT).write(TEXT, some)
    assert Answers(tmp_path, other).read(TEXT) == {}


def test_the_folder_says_whose_answers_it_has(tmp_path):
    answers = Answers(tmp_path, ABOUT)
    (told,) = tmp_path.glob("*/about.json")
    assert (told.parent, json.loads(told.read_text(encoding="utf-8"))) == (answers.folder, ABOUT)


def test_two_runs_at_once_lose_no_answers(tmp_path, some):
    one, other = Answers(tmp_path, ABOUT), Answers(tmp_path, ABOUT)
    first, second = ({digest(number): some[digest(number)]} for number in (0, 1))
    one.write(TEXT, first)
    other.write(TEXT, second)
    assert same(one.read(TEXT), first | second)


def test_answers_of_other_instructions_or_another_tokenizer_are_others(lstm_model, monkeypatch):
    mine = origin(lstm_model)
    monkeypatch.setattr(provenance, "vector_instructions", lambda: "others")
    assert origin(lstm_model) != mine
    monkeypatch.undo()
    assert origin(lstm_model) == mine
    monkeypatch.setattr(type(lstm_model), "reads", lambda _: {"tokenizer_sha256": "01"})
    assert origin(lstm_model) != mine


def encrypted(whole):
    """Return the content of an archive whose files say that they are encrypted."""
    marked = bytearray(whole)
    for entry in re.finditer(rb"PK\x01\x02", whole):
        marked[entry.start() + 8] |= 1
    return bytes(marked)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"PK\x03\x04",
        lambda whole: whole[:-40],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole.replace(whole[60:70], b"\xff" * 10),
        encrypted,
    ],
    ids=["empty", "begun", "cut", "half", "other bytes", "encrypted"],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, some, damage):
    answers = Answers(tmp_path, ABOUT)
    answers.write(TEXT, some)
    path = answers.path(TEXT)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError) as caught:
        answers.read(TEXT)
    assert path.name in str(caught.value)


def test_a_file_of_something_else_is_an_error(tmp_path):
    answers = Answers(tmp_path, ABOUT)
    for content in ({"other": np.ones(3)}, {"digests": np.array([{}], dtype=object)}):
        np.savez(answers.path(TEXT), **content)
        with pytest.raises(DataError):
            answers.read(TEXT)


def test_a_file_that_the_system_refuses_is_not_to_be_deleted(tmp_path):
    answers = Answers(tmp_path, ABOUT)
    answers.path(TEXT).mkdir()
    with pytest.raises(DataError) as caught:
        answers.read(TEXT)
    assert answers.path(TEXT).name in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(DataError):
        Answers(tmp_path / "file", ABOUT)
    assert (tmp_path / "file").read_bytes() == b"mine"

"""Damaged files of results."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

import mase
from mase.attribution import Attribution
from mase.attribution.json import Failure, dumps, load_many
from mase.errors import DataError
from tests.hostile import boxes, process
from tests.hostile.damage import damaged
from tests.hostile.process import Limits
from tests.hostile.right import faults, invalid
from tests.hostile.texts import READABLE

N = 1200
LIMITS = Limits(seconds=20, memory=1 << 30)


@cache
def lines():
    """Return a few results as lines: two texts, one that was cut off, a failure, and as many of schema 1."""
    model = mase.models.Callable(boxes.table, ["neg", "pos"])
    found = [mase.Explainer(model, n_samples=32)(READABLE[name]) for name in ("plain", "emoji with joiners")]
    cut = mase.Explainer(mase.models.load("lstm-imdb"), n_samples=32)("a good film " * 40)
    return [*(dumps(one) for one in (*found, cut, Failure(3, "EmptyTextError", "no word"))), *earlier()]


def earlier():
    """Return results of schema 1: a plain text, an odd one, one with a note, and one with scores of tokens."""
    every = (Path(__file__).parents[1] / "golden" / "attributions-1.jsonl").read_text(encoding="utf-8").split("\n")
    return [every[index] for index in (0, 1, 3, 5)]


def read(number):
    """Judge one damaged file: an error of the data, or a sound object that is written and read back equal."""
    line = lines()[number // 10 % len(lines())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        path.write_bytes(damaged(line, number))
        try:
            found = mase.load(path)
        except DataError as error:
            return None if len(str(error)) < 2000 else f"a message of {len(str(error))} characters"
    return faults(found, found.text) or None


def read_many(number):
    """Judge a file whose middle line is damaged: the good lines, or an error of the data."""
    good = lines()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        bad = damaged(good[number // 10 % len(good)], number)
        path.write_bytes(good[0].encode() + b"\n" + bad + b"\n" + good[1].encode() + b"\n")
        try:
            found = load_many(path)
        except DataError:
            return None
    if not all(isinstance(one, Attribution | Failure) for one in found):
        return f"gave {found!r:.80}"
    whole = [one for one in found if isinstance(one, Attribution)]
    if [dumps(one) for one in (found[0], found[-1])] != good[:2]:
        return "the good lines were lost"
    return next((wrong for one in whole if (wrong := invalid(one))), None)


@pytest.mark.hostile
def test_damaged_files(judge):
    judge(process.each(read, [(number,) for number in range(N)], LIMITS))


@pytest.mark.hostile
def test_damaged_lines(judge):
    judge(process.each(read_many, [(number,) for number in range(300)], LIMITS))


def test_a_sample_of_damaged_files(judge):
    judge((number, read(number)) for number in range(5000, 5060))


def torn(length):
    """Judge a file whose last line was cut: the good lines, and what was torn as a failure."""
    good = lines()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        path.write_bytes(
            (good[0] + "\n" + good[1] + "\n" + good[2]).encode()[: len((good[0] + good[1]).encode()) + 2 + length]
        )
        found = load_many(path)
    if [dumps(one) for one in found[:2]] != good[:2]:
        return "the good lines were lost"
    return (
        None
        if length == 0 or (len(found) == 3 and isinstance(found[2], Failure))
        else f"the torn line became {found[2:]!r:.200}"
    )


def test_a_torn_last_line(judge):
    judge(process.each(torn, [(length,) for length in (0, 1, 2, 50, len(lines()[2]) // 2)], LIMITS))


@pytest.mark.parametrize("path", ["x\0y", "", "/dev/null", ".", "x" * 5000, "/proc/self/mem"])
def test_paths_that_are_none(path, judge):
    judge([(path, process.call(no_result, path, limits=LIMITS))])


def no_result(path):
    """Judge a path at which there is no result."""
    try:
        mase.load(path)
    except DataError:
        return None
    return "was read"

"""Hostile run folders and damaged files of results on the pages of the server."""

import tempfile
from pathlib import Path

import pytest

from mase.errors import MaseError
from tests.hostile import process
from tests.hostile.damage import damaged
from tests.hostile.process import Limits
from tests.hostile.test_folders import contents
from tests.hostile.test_markup import COMMANDS
from tests.hostile.test_report import complaint_of_script
from tests.hostile.test_results import lines

pytest.importorskip("duckdb")
from tests.hostile.test_runs import CASES, SAMPLE, TEXTS
from tests.hostile.test_runs import damaged as damaged_run
from tests.runs import WEIGHTS, classifier, write_run

LIMITS = Limits(seconds=30, memory=3 << 30)
N_FILES = 600


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the folder of a good run."""
    return write_run(tmp_path_factory.mktemp("good") / "run", TEXTS, classifier(WEIGHTS), part_size=4, n_samples=16)


def served(source, *, refused):
    """Judge what a server makes of a corpus: a page on which nothing is a command, or a typed error."""
    from mase_serve.corpora import write_corpus

    with tempfile.TemporaryDirectory() as folder:
        try:
            page = write_corpus(str(source), Path(folder), None, None, lambda share: None)
        except MaseError as error:
            return None if len(str(error)) < 5000 else f"a message of {len(str(error))} characters"
        if refused:
            return "was read"
        scripts = [complaint_of_script(path.read_text("utf-8")) for path in (page.parent / "list").glob("*.js")]
        found = COMMANDS & set(page.read_text("utf-8"))
        return f"has the characters {found!r}" if found else next(filter(None, scripts), None)


def run(place, refused):
    """Judge a damaged run, which is not changed by being looked at."""
    before = contents(place.folder.parent)
    verdict = served(place.folder, refused=refused)
    return "was changed" if contents(place.folder.parent) != before else verdict


def runs(good, root, cases):
    for number, (name, refused) in enumerate(cases):
        yield damaged_run(good, root / str(number), name), refused


@pytest.mark.hostile
@pytest.mark.parametrize("start", range(0, len(CASES), 20))
def test_runs(start, good, tmp_path, judge):
    judge(process.each(run, list(runs(good, tmp_path, CASES[start : start + 20])), LIMITS))


def test_a_sample_of_runs(good, tmp_path, judge):
    judge(process.each(run, list(runs(good, tmp_path, SAMPLE[1::3])), LIMITS))


def file(number):
    """Judge a file of results with a damaged line, which may be the last one."""
    good = lines()[:3]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        bad = damaged(good[number // 10 % len(good)], number)
        path.write_bytes(good[0].encode() + b"\n" + bad + (b"\n" if number % 2 else b""))
        return served(path, refused=False)


@pytest.mark.hostile
def test_files(judge):
    judge(process.each(file, [(number,) for number in range(N_FILES)], LIMITS))


def test_a_sample_of_files(judge):
    judge((number, file(number)) for number in range(5000, 5004))

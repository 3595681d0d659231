"""Hostile run folders, through the commands and through Python."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.hostile import process, streams
from tests.hostile.folders import Place
from tests.hostile.process import Limits
from tests.hostile.test_folders import contents

pytest.importorskip("duckdb")
from tests.hostile import run_cases
from tests.runs import WEIGHTS, classifier, write_run

LIMITS = Limits(seconds=30, memory=3 << 30)
TEXTS = ["good film", "bad film", "dull plot", "superb cast", "slow film", "fine plot", "awful cast", "good cast"]
CASES = [(name, True) for name in run_cases.REFUSED] + [(name, False) for name in run_cases.READ]
# Of several kinds of damage one, for `make test`.
SAMPLE = [
    ("n_texts is -1", True), ("half of units/part-00000.parquet", True), ("units in a pipe", True), ("score nan", True),
    ("terabytes of one word", True), ("ids that are commands of the terminal", False),
]  # fmt: skip
N_FLIPS = 600


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the folder of a good run."""
    return write_run(tmp_path_factory.mktemp("good") / "run", TEXTS, classifier(WEIGHTS), part_size=4, n_samples=16)


def damaged(good, root, name):
    place = Place(root / "run", root / "outside", root / "canary")
    shutil.copytree(good, place.folder)
    place.outside.mkdir()
    ({**run_cases.REFUSED, **run_cases.READ})[name](place)
    return place


def read(folder, good, refused):
    """Judge a folder through Python: all tables are read, and it is compared with the good run."""
    import mase

    verdicts = []
    for question in (
        lambda: [getattr(mase.open_run(folder), table)() for table in ("texts", "responses", "units", "timings")],
        lambda: mase.compare(folder, good, common_only=True, min_texts=2),
        lambda: mase.compare(good, folder, common_only=True, min_texts=2),
    ):
        try:
            question()
            verdicts.append("was read" if refused else None)
        except mase.MaseError as error:
            verdicts.append(None if len(str(error)) < 5000 else f"a message of {len(str(error))} characters")
    return next(filter(None, verdicts), None)


def commands():
    """Return the commands that read a run, with their arguments."""
    from mase.cli import COMMANDS

    known = {"compare": ["--common-only", "--min-texts", "2"], "status": [], "summary": ["--min-texts", "2"]}
    return {name: arguments for name, arguments in known.items() if name in COMMANDS}


def through(command, arguments, place, good, refused):
    runs = [place.folder, good] if command == "compare" else [place.folder]
    scratch = place.outside.parent / "streams"
    ran = process.mase(command, *runs, *arguments, scratch=scratch, limits=LIMITS)
    shutil.rmtree(scratch)
    verdict = streams.complaint(ran)
    if verdict is None and any(byte < 32 and byte != 10 for byte in ran.out):
        return f"standard output holds control characters: {ran.out[-300:]!r}"
    # A status does not read the tables.
    return verdict or ("was read" if refused and ran.code == 0 and command != "status" else None)


def judged(place, good, *, refused):
    """Judge a folder in all ways: a typed error or a result, nothing run, nothing changed."""
    before = contents(place.folder.parent)
    verdicts = {"Python": process.call(read, place.folder, good, refused, limits=LIMITS)}
    for command, arguments in commands().items():
        verdicts[command] = through(command, arguments, place, good, refused)
    if place.canary.exists():
        verdicts["canary"] = "its code ran"
    if contents(place.folder.parent) != before:
        verdicts["folder"] = "was changed"
    return "; ".join(f"{way}: {verdict}" for way, verdict in verdicts.items() if verdict) or None


@pytest.mark.hostile
@pytest.mark.parametrize(("name", "refused"), CASES, ids=[name[:70] for name, _ in CASES])
def test_runs(name, refused, good, tmp_path, judge):
    judge([(name, judged(damaged(good, tmp_path / "case", name), good, refused=refused))])


def test_the_good_run_is_read(good, tmp_path):
    assert read(good, good, True) == "was read"


def test_a_sample_of_runs(good, tmp_path, judge):
    items = [(damaged(good, tmp_path / name[:5], name).folder, good, refused) for name, refused in SAMPLE]
    judge(process.each(read, items, LIMITS))


def flipped(good, root, number):
    """Judge a run in which bits of one file are flipped, always the same by number."""
    rng = np.random.default_rng([18, number])
    folder = Path(root) / str(number)
    shutil.copytree(good, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[int(rng.integers(len(files)))]
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 5))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(content))
    before = contents(folder)
    verdict = read(folder, good, False)
    changed = contents(folder) != before
    shutil.rmtree(folder)
    return "the folder was changed" if changed else verdict


@pytest.mark.hostile
def test_flipped_bits(good, tmp_path, judge):
    judge(process.each(flipped, [(good, tmp_path, number) for number in range(N_FLIPS)], LIMITS))


def test_a_sample_of_flipped_bits(good, tmp_path, judge):
    judge(process.each(flipped, [(good, tmp_path, number) for number in range(5000, 5003)], LIMITS))

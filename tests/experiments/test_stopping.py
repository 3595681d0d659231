"""Tests of the script `experiments/stopping.py`."""

import json
from types import SimpleNamespace

import pytest
from tests.experiments.scripts import FOLDER, needs_repository, script

from mase.errors import DataError
from mase_paper.experiments.selection import Chosen

TEXT = "A dull story that is told at length , with superb acting and an ending that moved me"


@pytest.fixture
def stopping(monkeypatch):
    """Return the script, with one short text and one rule."""
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("stopping")
    monkeypatch.setattr(module, "load_split", lambda *_: SimpleNamespace(sha256="b"))
    monkeypatch.setattr(module, "texts_of", lambda *_: [Chosen(0, 3, "neg/3", TEXT, 0)])
    monkeypatch.setattr(module, "RULES", {"none": {}})
    monkeypatch.setattr(module, "N_SAMPLES", 40)
    return module


@needs_repository
def test_a_run_goes_on_with_the_same_precision_only(stopping, tmp_path):
    args = SimpleNamespace(
        data_dir="", n_texts=1, first_seed=0, n_seeds=1, precision="float32", records=tmp_path / "records"
    )
    stopping.explain("lstm-imdb", args)
    args.n_seeds = 2
    stopping.explain("lstm-imdb", args)
    found = [json.loads(line) for line in (args.records / "lstm-imdb.jsonl").read_text().splitlines()]
    assert [(one["row"], one["seed"], one["precision"]) for one in found] == [(3, 0, "float32"), (3, 1, "float32")]
    args.n_seeds, args.precision = 3, "bfloat16"
    with pytest.raises(DataError, match="precision"):
        stopping.explain("lstm-imdb", args)

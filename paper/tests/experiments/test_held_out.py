"""Tests of the script `experiments/held_out.py`."""

import importlib.util

import pytest
from paper.tests.repository import ROOT, needs_repository

from mase.models import load

TEXT = "a dull story told at length , superb acting and an ending that moved me"


def script():
    spec = importlib.util.spec_from_file_location("held_out", ROOT / "experiments" / "held_out.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_repository
@pytest.mark.parametrize("method", ["mase", "mase-mask", "mase-cite", "lime"])
def test_fresh_rows_are_explained_about_as_well_as_rows_left_out(method):
    found = script().found(load("lstm-imdb"), TEXT, method, 128)
    assert found.within == pytest.approx(found.held_out, abs=0.15)

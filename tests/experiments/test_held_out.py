"""Tests of the script `experiments/held_out.py`."""

import pytest
from tests.experiments.scripts import needs_repository, script

from mase.models import load

TEXT = "a dull story told at length , superb acting and an ending that moved me"


@needs_repository
@pytest.mark.parametrize("method", ["mase", "mase-mask", "mase-cite", "lime"])
def test_fresh_rows_are_explained_about_as_well_as_rows_left_out(method):
    found = script("held_out").found(load("lstm-imdb"), TEXT, method, 128)
    assert found.within == pytest.approx(found.held_out, abs=0.15)

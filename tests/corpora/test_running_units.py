"""Tests of `mase.run` with units of other sizes."""

import re

import pytest
from tests.corpora.classifiers import halves
from tests.corpora.runs import TEXTS, run

import mase
from mase.errors import DataError, NotPicklableError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum", "ignore:this process explains")


@pytest.mark.parametrize("units", [re.compile(r"F\w+ number", re.IGNORECASE), halves])
def test_a_run_goes_on_with_the_same_units_only(tmp_path, units):
    made = run(tmp_path / "run", TEXTS[:4], units=units)
    splitter = mase.units.splitter(units)
    expected = [text[slice(*span)] for text in TEXTS[:4] for span in splitter.split(text)]
    assert made.manifest.asked.method["units"] == splitter.name
    assert made.units()["text"].to_pylist() == expected
    assert run(tmp_path / "run", TEXTS[:4], units=units).is_complete
    with pytest.raises(DataError, match="units"):
        run(tmp_path / "run", TEXTS[:4])


def test_what_a_run_cannot_record_is_refused(tmp_path):
    with pytest.raises(NotPicklableError, match=r"units is .*<lambda>, which other processes and later runs"):
        run(tmp_path / "run", TEXTS[:2], units=lambda text: [(0, 1)])
    with pytest.raises(OptionError, match="zoom is 1, expected 0"):
        run(tmp_path / "run", TEXTS[:2], units="line", zoom=1)

"""Tests of `mase.run` with units of other sizes."""

import re

import pytest
from tests.corpora.classifiers import halves
from tests.corpora.runs import TEXTS, run

import mase
from mase.errors import DataError, NotPicklableError, OptionError
from mase.estimators.linear import LeastSquares
from mase.methods import resolve
from mase.solve.problem import Estimator

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
    with pytest.raises(NotPicklableError, match=r"units is .*Cutter\.cut, which other processes and later runs"):
        run(tmp_path / "run", TEXTS[:2], units=Cutter(r"\w+").cut)
    with pytest.raises(OptionError, match="Scaled has the attributes table, of which a run cannot record"):
        run(tmp_path / "run", TEXTS[:2], method=resolve("mase-mask", estimator=Scaled(2, table={})))


class Cutter:
    def __init__(self, pattern):
        self.pattern = pattern

    def cut(self, text):
        return [match.span() for match in re.finditer(self.pattern, text)]


class Scaled(Estimator):
    """An estimator with settings which is no dataclass."""

    def __init__(self, factor, **more):
        self.factor = factor
        vars(self).update(more)

    def fit(self, problem):
        return LeastSquares().fit(problem)


def test_a_run_goes_on_with_the_same_settings_of_an_ordinary_class_only(tmp_path):
    def made(factor):
        return run(tmp_path / "run", TEXTS[:2], method=resolve("mase-mask", estimator=Scaled(factor)))

    assert made(2).manifest.asked.method["estimator"] == {"name": "Scaled", "factor": 2}
    assert made(2).is_complete
    with pytest.raises(DataError, match=r"method\.estimator\.factor 2, got 3"):
        made(3)

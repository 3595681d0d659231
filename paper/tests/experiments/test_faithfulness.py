"""Tests of `mase_paper.experiments.faithfulness`."""

import pytest

from mase.methods import resolve
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_setting_that_is_run_exists(name):
    configurations = {work.configuration for work in EXPERIMENTS[name].works(Scope())}
    for configuration in configurations:
        if configuration.method not in UPPER_BOUNDS:
            assert resolve(configuration.method, **dict(configuration.settings)).name == configuration.method


def test_every_operator_has_its_own_figures(records):
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records).data["cells"]
    lime = {(cell["operator"], cell["k"]): cell["mean"] for cell in found if cell["spec"] == "lime"}
    assert {lime["unk", k] for k in (1, 15)} == {1.0}
    assert {lime[operator, k] for operator in ("pad", "delete") for k in (1, 15)} == {0.0}

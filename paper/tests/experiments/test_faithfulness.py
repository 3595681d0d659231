"""Tests of `mase_paper.experiments.faithfulness`."""

import shlex

import pytest
from paper.tests.experiments.samples import bits, write

from mase.methods import resolve
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import ABLATION, FAITHFULNESS
from mase_paper.experiments.runner import Settings, run
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_setting_that_is_run_exists(name):
    configurations = {work.configuration for work in EXPERIMENTS[name].works(Scope()) if not work.retired}
    for configuration in configurations:
        if configuration.method not in UPPER_BOUNDS:
            assert resolve(configuration.method, **dict(configuration.settings)).name == configuration.method


def test_every_operator_has_its_own_figures(records):
    found = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records).data["cells"]
    lime = {(cell["operator"], cell["k"]): cell["mean"] for cell in found if cell["spec"] == "lime"}
    assert {lime["unk", k] for k in (1, 15)} == {1.0}
    assert {lime[operator, k] for operator in ("pad", "delete") for k in (1, 15)} == {0.0}


def test_a_retired_setting_is_reported_and_not_run(tmp_path):
    (retired,) = ABLATION.retired
    write(tmp_path, "lstm-imdb", "mase", [bits(1)] * 4)
    write(tmp_path, "lstm-imdb", retired, [bits(5)] * 4)
    page = ABLATION.report(Scope(("lstm-imdb",), n_texts=4), tmp_path).page
    assert f"| `{retired}` | " in page
    assert not [line for line in page.splitlines() if line.startswith("$ ") and retired in shlex.split(line)]
    works = [work for work in ABLATION.works(Scope(("lstm-imdb",))) if str(work.configuration) == retired]
    assert [work.retired for work in works] == [True]
    run(works, Settings(tmp_path), pytest.fail)

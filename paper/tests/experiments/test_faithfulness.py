"""Tests of `mase_paper.experiments.faithfulness`."""

import shlex

import pytest
from paper.tests.experiments.samples import bits, write

from mase.methods import resolve
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.ceiling import CEILINGS
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import ABLATION
from mase_paper.experiments.runner import Settings, run


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_setting_that_is_run_exists(name):
    specs = {work.spec for work in EXPERIMENTS[name].works(Scope()) if not work.retired}
    for spec in specs:
        if spec.method not in CEILINGS:
            assert resolve(spec.method, **dict(spec.settings)).name == spec.method


def test_a_retired_setting_is_reported_and_not_run(tmp_path):
    (retired,) = ABLATION.retired
    write(tmp_path, "lstm-imdb", "mase", [bits(1)] * 4)
    write(tmp_path, "lstm-imdb", retired, [bits(5)] * 4)
    page = ABLATION.report(Scope(("lstm-imdb",), n_texts=4), tmp_path).page
    assert f"| `{retired}` | " in page
    assert not [line for line in page.splitlines() if line.startswith("$ ") and retired in shlex.split(line)]
    works = [work for work in ABLATION.works(Scope(("lstm-imdb",))) if str(work.spec) == retired]
    assert [work.retired for work in works] == [True]
    run(works, Settings(tmp_path), pytest.fail)

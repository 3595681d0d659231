"""Tests of `mase_paper.experiments.experiment`."""

import pytest

import mase
from mase.errors import OptionError, UnknownNameError
from mase.methods import Configuration, parse
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.figure4 import BUDGETS, FIGURE4
from mase_paper.experiments.runner import Settings
from mase_paper.experiments.tables import TABLE1, TABLE2
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_names_methods_that_exist(name):
    works = EXPERIMENTS[name].works(Scope(n_texts=10))
    assert len(set(works)) == len(works)
    for work in works:
        assert work.configuration.method in {*mase.METHODS, *UPPER_BOUNDS}
        assert parse(str(work.configuration)) == work.configuration
        assert 0 < work.n_texts <= 10
    assert {work.target.name for work in works} <= set(TARGETS)


def test_every_experiment_takes_names_and_seeds():
    for name in EXPERIMENTS:
        works = EXPERIMENTS[name].works(
            Scope(("bert-imdb",), (Configuration("random"), Configuration("mase")), 5, seed=2)
        )
        assert {work.target.name for work in works} == {"bert-imdb"}
        assert {work.configuration.method for work in works} == {"random", "mase"}
        assert {work.configuration.seed for work in works} <= {2, 3}


def test_budgets_of_figure_4_and_targets_of_the_tables():
    works = FIGURE4.works(Scope(("lstm-imdb",), (Configuration("mase-paper"), Configuration("random"))))
    budgets = [
        dict(work.configuration.settings).get("n_samples")
        for work in works
        if work.configuration.method == "mase-paper"
    ]
    assert budgets == [None, *(n for n in BUDGETS if n != 1000)]  # 1,000 are its own
    assert [work.n_texts for work in works if not work.configuration.settings] == [10_000, 10_000]
    assert {work.n_texts for work in works if work.configuration.settings} == {1_000}
    assert {work.target.title for work in TABLE1.works(Scope())} == {"LSTM-IMDB", "LSTM-Reuters"}
    assert {work.target.title for work in TABLE2.works(Scope())} == {"BERT-IMDB", "BERT-Reuters"}
    assert Configuration("deep-shap") not in {work.configuration for work in TABLE2.works(Scope())}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_without_records_says_so_little(name, tmp_path):
    found = EXPERIMENTS[name].report(Scope(n_texts=3), tmp_path)
    assert found.page.startswith("# ")
    assert not found.figures


def test_scopes_and_settings_are_checked(tmp_path):
    for wrong in ({"targets": ("lstm-imbd",)}, {"n_texts": 0}, {"batches": 1}):
        with pytest.raises((UnknownNameError, OptionError)):
            Scope(**wrong)
    with pytest.raises(OptionError, match="jobs"):
        Settings(tmp_path, jobs=0)

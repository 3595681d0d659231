"""Tests of `mase.estimators.boosted_trees`."""

import numpy as np
import pytest

from mase.designs.masking import Independent
from mase.designs.placement import subsets
from mase.errors import MissingDependencyError, OptionError
from mase.estimators.boosted_trees import BoostedTrees
from mase.methods import resolve
from mase.pipeline import measure
from mase.solve.strategy import NEVER, Stopping
from mase.testing import FunctionProbe, smooth

RULES = (NEVER, Stopping(tolerance=0.1))


def response(c):
    """Return values `(n,)` of masks `(n, p)` with interactions of two and three words."""
    return c @ np.linspace(2, -2, c.shape[1]) + 3 * c[:, 0] * c[:, 1] - 2 * c[:, 2] * c[:, 3] * c[:, 4]


def problem(n=600, p=8, seed=0):
    design = Independent()
    sample = design.draw(np.random.default_rng(seed), n, design.distribution(np.ones(p)))
    return sample.problem(response(sample.coordinates), None)


def banzhaf(values, p):
    """Return the mean difference `(p,)` that each word makes, from the values `(2^p,)` of all subsets."""
    kept = subsets(p) == 1
    return np.array([values[kept[:, word]].mean() - values[~kept[:, word]].mean() for word in range(p)])


@pytest.mark.parametrize(("depth", "trees"), [(1, 5), (3, 20), (6, 40)])
def test_scores_are_the_banzhaf_values_of_the_trees_by_brute_force(depth, trees):
    lightgbm = pytest.importorskip("lightgbm")
    case = problem()
    found = BoostedTrees(depth, trees).fit(case)
    settings = {
        "max_depth": depth, "learning_rate": 0.1, "min_data_in_leaf": 20, "num_threads": 1, "deterministic": True,
        "verbose": -1,
    }  # fmt: skip
    same = lightgbm.train(settings, lightgbm.Dataset(case.z, case.y, weight=case.weights, params=settings), trees)
    everywhere = same.predict(subsets(case.p) - 0.5)
    assert np.ptp(everywhere) > 1
    assert found.gamma == pytest.approx(banzhaf(everywhere, case.p), abs=1e-9)


def test_scores_approach_those_of_all_rows():
    pytest.importorskip("lightgbm")
    exact = banzhaf(response(subsets(8)), 8)
    errors = [np.linalg.norm(BoostedTrees(trees=200).fit(problem(n)).gamma - exact) for n in (100, 3000)]
    assert errors[1] < 0.2 * errors[0]
    assert errors[1] < 0.1 * np.linalg.norm(exact)


def test_all_rows_need_no_trees():
    design = Independent()
    sample = design.exhaustive(design.distribution(np.ones(8)))
    found = BoostedTrees().fit(sample.problem(response(sample.coordinates), None))
    assert found.gamma == pytest.approx(banzhaf(response(subsets(8)), 8), abs=1e-12)


def test_few_rows_still_have_leaves():
    pytest.importorskip("lightgbm")
    assert (BoostedTrees(trees=50).fit(problem(30)).gamma != 0).sum() > 3


def test_scores_have_no_errors_and_no_rule_waits_for_them():
    pytest.importorskip("lightgbm")
    assert np.isnan(BoostedTrees(trees=5).fit(problem()).variances).all()
    method = resolve("proxy-spex", estimator=BoostedTrees(trees=20), n_samples=300)
    whole, bounded = (measure(smooth(12), method, 0, np.random.default_rng(0), stopping=r) for r in RULES)
    assert bounded.cost == whole.cost
    assert bounded.estimate.gamma.tolist() == whole.estimate.gamma.tolist()
    assert "tolerance-missed" in {note.code for note in bounded.notes}
    assert "tolerance-missed" not in {note.code for note in whole.notes}


def test_rows_that_are_not_masks_are_refused():
    case = problem()
    case.z[0, 0] = 0.25
    with pytest.raises(OptionError, match="many values"):
        BoostedTrees().fit(case)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("mase.registry.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"mase-xai\[boosting\]"):
        BoostedTrees().fit(problem())


@pytest.mark.parametrize("settings", [{"depth": 0}, {"trees": 0}, {"rate": 0}, {"rate": 1.5}])
def test_what_settings_cannot_be(settings):
    with pytest.raises(OptionError, match=f"{next(iter(settings))} is"):
        BoostedTrees(**settings)


@pytest.mark.parametrize("design", ["independent", "shapley", "leverage"])
@pytest.mark.parametrize("p", [2, 4])
def test_all_rows_are_those_that_a_regression_fits_exactly_too(design, p):
    values = np.random.default_rng(1).random(2**p)
    probe = FunctionProbe(lambda c: values[(c @ 2 ** np.arange(p)).astype(int)], p)
    method = resolve("proxy-spex", design=design, n_samples=200, link="logit")
    found = measure(probe, method, 0, np.random.default_rng(0))
    assert found.estimate.gamma == pytest.approx(banzhaf(values, p))

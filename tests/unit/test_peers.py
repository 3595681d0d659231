"""The same numbers as lime, shap, shapiq, solvex and context-cite: `benchmarks/golden.py` wrote them down."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.regressions import run

from mase.estimators.boosted_trees import BoostedTrees
from mase.methods import METHODS, Method
from mase.procedures.games import PartitionShap, SobolIndices
from mase.procedures.search import BeamSearch
from mase.solve.problem import Problem
from mase.testing import FunctionProbe

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "peers.json").read_text(encoding="utf-8"))


def test_lime_is_the_package():
    case = GOLDEN["lime"]
    rows, y = np.array(case["rows"], dtype=np.float64), np.array(case["responses"])
    lime = METHODS["lime"].strategy
    design, estimator = lime.design, lime.estimator
    distribution = design.distribution(np.ones(rows.shape[1]))
    problem = Problem(rows - distribution.center, y, design.weights(rows), None, True, distribution.covariance)
    assert estimator.fit(problem).gamma == pytest.approx(case["scores"], abs=1e-9)
    sizes = np.bincount((rows[1:] == 0).sum(axis=1).astype(int), minlength=rows.shape[1] + 1)
    ours = design.draw(np.random.default_rng(0), len(rows), distribution).coordinates
    own = np.bincount((ours[1:] == 0).sum(axis=1).astype(int), minlength=rows.shape[1] + 1)
    assert rows[0].all()
    assert ours[0].all()
    assert sizes[0] == own[0] == 0
    assert np.abs(sizes - own)[1:].max() < 4.5 * np.sqrt(2 * len(rows) / rows.shape[1])


def test_context_cite_is_the_package():
    case = GOLDEN["context-cite"]
    rows, method = np.array(case["rows"], dtype=np.float64), METHODS["context-cite"].strategy
    distribution = method.design.distribution(np.ones(rows.shape[1]))
    y, z = np.array(case["responses"]), rows - distribution.center
    problem = Problem(z, y, np.ones(len(y)), None, True, distribution.covariance)
    # The package computes in float32 and stops at a tolerance.
    assert method.estimator.fit(problem).gamma == pytest.approx(case["scores"], abs=1e-4)


def test_proxy_spex_is_the_package_without_its_refinement():
    pytest.importorskip("lightgbm")
    case = GOLDEN["proxy-spex"]
    rows, y = np.array(case["rows"], dtype=np.float64), np.array(case["responses"])
    distribution = METHODS["proxy-spex"].strategy.design.distribution(np.ones(rows.shape[1]))
    problem = Problem(rows - distribution.center, y, np.ones(len(y)), None, True, distribution.covariance)
    # LightGBM reads the responses in float32.
    assert BoostedTrees(trees=100).fit(problem).gamma == pytest.approx(case["scores"], abs=1e-6)


def test_sobol_indices_are_those_of_interpreto():
    case = GOLDEN["sobol-indices"]
    responses, changed = np.array(case["responses"]), np.array(case["changed"])
    # The package draws words anew, and half of them stay as they are. It computes in float32 and adds 1e-6 to twice the
    # variance.
    found = 2 * SobolIndices().estimate(responses, changed).gamma
    assert found == pytest.approx(case["scores"], abs=1e-4)


def game(p):
    """The function of the golden file: interactions of all orders between p words."""
    weights = np.sin(1 + np.arange(p))

    def function(c):
        return np.tanh(c @ weights) + 0.5 * np.prod(c[:, :3], axis=1) - 0.3 * c[:, 1] * c[:, -1]

    return FunctionProbe(function, p)


@pytest.mark.parametrize("case", GOLDEN["kernel-shap"], ids=lambda case: f"p={case['p']}")
def test_kernel_shap_is_the_package(case):
    found = run(game(case["p"]), "kernel-shap", n_samples=2 ** case["p"])
    assert found.estimate.gamma == pytest.approx(case["scores"], abs=1e-8)


@pytest.mark.parametrize("case", GOLDEN["partition-shap"], ids=lambda case: f"p={case['p']}, {case['n']} evaluations")
def test_partition_shap_is_the_package(case):
    found = run(
        game(case["p"]),
        Method("x", "", METHODS["mase-mask"].space, PartitionShap(per_round=1)),
        n_samples=case["n"],
    )
    assert found.estimate.gamma == pytest.approx(case["scores"], abs=1e-10)


@pytest.mark.parametrize("case", GOLDEN["beam-search"], ids=lambda case: f"p={case['p']}, beam of {case['beam']}")
def test_beam_search_is_the_package(case):
    method = Method("x", "", METHODS["beam-search"].space, BeamSearch(case["beam"]))
    assert run(game(case["p"]), method).estimate.gamma.tolist() == case["scores"]

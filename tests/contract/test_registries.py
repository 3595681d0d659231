"""Every entry of every registry keeps its contract; a new entry is picked up without an edit here."""

import numpy as np
import pytest

from mase.baselines import PROCEDURES
from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.estimators import ESTIMATORS
from mase.methods import METHODS, describe
from mase.models import load
from mase.spaces import SPACES
from mase.testing import check_design, check_estimator, check_procedure, check_space

# The moment family has the error floor of Theorem 1 and the L1 family shrinks: by design, not by mistake.
TOLERANCES = {"moment": 0.12, "sparse": 0.3, "lasso": 0.7, "fixed-ridge": 0.01}
GAUSSIAN = [name for name in DESIGNS if isinstance(DESIGNS[name](), Gaussian)]


@pytest.mark.parametrize("name", DESIGNS)
def test_design(name):
    check_design(DESIGNS[name]())


@pytest.mark.parametrize("name", GAUSSIAN)
def test_design_of_correlated_law(name):
    sigma = 0.04 * 0.6 ** np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    check_design(DESIGNS[name](sigma=sigma))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimator(name):
    check_estimator(ESTIMATORS[name](), tolerance=TOLERANCES.get(name, 1e-6))


@pytest.mark.parametrize("name", SPACES)
def test_space(name):
    check_space(SPACES[name]())


@pytest.mark.parametrize("name", PROCEDURES)
def test_procedure(name):
    check_procedure(PROCEDURES[name](), load("lstm-imdb"), "a dull story, superb acting and an ending that moved me")


def test_methods_describe_themselves():
    for name in METHODS:
        described = describe(METHODS[name])
        assert described["name"] == name
        assert METHODS[name].summary, name
        assert described["space"]["name"] in SPACES, name
        if "procedure" in described:
            assert described["procedure"]["name"] in PROCEDURES, name
            assert not {"design", "estimator", "sigma", "center"} & described.keys(), name
        else:
            assert described["design"]["name"] in DESIGNS, name
            assert described["estimator"]["name"] in ESTIMATORS, name


def test_contracts_can_fail():
    class Biased:
        needs_base = needs_gradients = False

        def fit(self, problem):
            found = ESTIMATORS["least-squares"]().fit(problem)
            return type(found)(found.gamma * 1.01, found.covariance, found.dof)

    with pytest.raises(AssertionError, match="linear model"):
        check_estimator(Biased(), tolerance=1e-6)

    class Shifted(Gaussian):
        def draw(self, rng, n, law, gamma=None):
            sample = DESIGNS["iid"]().draw(rng, n, law)
            return type(sample)(
                sample.coordinates + 0.1, sample.deviations + 0.1, sample.weights, False, sample.center, law.covariance
            )

    with pytest.raises(AssertionError, match="mean"):
        check_design(Shifted())

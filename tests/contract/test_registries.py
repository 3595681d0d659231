"""Every entry of every registry keeps its contract; a new entry is picked up without an edit here."""

import numpy as np
import pytest

from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.errors import CapabilityError
from mase.estimators import ESTIMATORS
from mase.links import LINKS, Output
from mase.methods import METHODS, describe
from mase.metrics import METRICS, OPERATORS, Metric
from mase.models import ADAPTERS, load
from mase.outputs import OUTPUTS
from mase.procedures import PROCEDURES
from mase.responses import respond
from mase.solve.problem import Estimator
from mase.spaces import SPACES
from mase.testing import check_design, check_estimator, check_metric, check_output, check_procedure, check_space
from mase.units.splitters import Word, group

# The moment family has the error floor of Theorem 1 and the L1 family shrinks: by design, not by mistake.
TOLERANCES = {
    "moment": 0.12,
    "sparse": 0.3,
    "lasso": 0.7,
    "penalised-lasso": 0.05,
    "fixed-ridge": 0.01,
    "boosted-trees": 0.01,
}
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
    check_estimator(
        ESTIMATORS[name](),
        tolerance=TOLERANCES.get(name, 1e-6),
        equivariant=name not in ("penalised-lasso", "boosted-trees"),
        masks=name == "boosted-trees",
    )


@pytest.mark.parametrize("name", SPACES)
def test_space(name):
    check_space(SPACES[name]())


@pytest.mark.parametrize("name", PROCEDURES)
def test_procedure(name):
    check_procedure(PROCEDURES[name](), load("lstm-imdb"), "a dull story, superb acting and an ending that moved me")


@pytest.mark.parametrize("name", METRICS)
def test_metric(name):
    check_metric(METRICS[name]())


@pytest.mark.parametrize("name", OUTPUTS)
def test_output(name):
    check_output(OUTPUTS[name])


def test_adapters():
    for name in ADAPTERS:
        adapter = ADAPTERS[name]()
        assert adapter.understands
        assert not adapter.recognises(3.5)


def test_masking_operators():
    model = load("lstm-imdb")
    tokens = model.encode("a dull story")
    words = group(tokens, Word())
    for name, operator in OPERATORS.items():
        if name not in (*model.references, "delete"):
            with pytest.raises(CapabilityError):
                operator.bind(model, tokens, words)
            continue
        bound = operator.bind(model, tokens, words)
        chances = bound.probabilities(np.array([[True, True, True], [True, False, True]]))
        assert bound.operator == name
        assert chances[0] == pytest.approx(bound.text_probabilities, abs=1e-6)
        assert chances[1] != pytest.approx(bound.text_probabilities, abs=1e-3)


@pytest.mark.parametrize("multilabel", [False, True])
def test_links_grow_with_the_score_of_the_class(multilabel):
    logits = np.array([[1.0, 0.5, 0.0], [2.0, 0.5, 0.0]])
    for name in LINKS:
        low, high = respond(logits, Output("logits", multilabel), name, 0)
        assert low < high


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
    class Biased(Estimator):
        needs_base = needs_gradients = False

        def fit(self, problem):
            found = ESTIMATORS["least-squares"]().fit(problem)
            return type(found)(found.gamma * 1.01, found.covariance, found.dof)

    with pytest.raises(AssertionError, match="linear model"):
        check_estimator(Biased(), tolerance=1e-6)

    class Shifted(Gaussian):
        def draw(self, rng, n, distribution, gamma=None):
            sample = DESIGNS["iid"]().draw(rng, n, distribution)
            return type(sample)(
                sample.coordinates + 0.1,
                sample.deviations + 0.1,
                sample.weights,
                False,
                sample.center,
                distribution.covariance,
            )

    with pytest.raises(AssertionError, match="mean"):
        check_design(Shifted())


def test_contracts_of_metrics_and_outputs_can_fail():
    class Reversed(Metric):
        columns = METRICS["comprehensiveness"]().columns[:1]

        def evaluate(self, case):
            return -METRICS["comprehensiveness"]().evaluate(case)[:1]

    with pytest.raises(AssertionError, match="for true scores"):
        check_metric(Reversed())

    class Closing:
        def __init__(self, stream):
            self.stream = stream

        def add(self, number, result):
            self.stream.write(b"something")

        def close(self):
            self.stream.close()

    with pytest.raises(AssertionError, match="closed its stream"):
        check_output(Closing)

"""Parts that were written before 0.3, without a base class: they work, with a warning."""

import pickle
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from mase import Explainer, evaluate
from mase.designs import Distribution
from mase.designs.placement import single
from mase.estimators.linear import LeastSquares
from mase.methods import Method, resolve
from mase.models import Callable
from mase.procedures import PROCEDURES
from mase.registry import completed
from mase.solve.distributions import Covariance
from mase.solve.problem import Design, Estimator
from mase.spaces import SPACES
from mase.testing import AdditiveClassifier


@dataclass(frozen=True, slots=True)
class OldCoins:
    seed: int = 3
    rounds = 1

    def distribution(self, scale):
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(self, rng, n, distribution, gamma=None):
        return single(rng.integers(0, 2, (n, distribution.covariance.size)) - 0.5, distribution)


class OldEstimator:
    needs_base = needs_gradients = False

    def fit(self, problem):
        return LeastSquares().fit(problem)


class OldProcedure:
    needs_gradients = stops_early = False
    needs_reference = True

    def run(self, oracle, budget, rng, stopping):
        return PROCEDURES["random"]().run(oracle, budget, rng, stopping)


class OldModel:
    """A model that counts its calls, which shares its attributes with what explains it."""

    def __init__(self):
        self.inner, self.n_bound = Callable(AdditiveClassifier({"good": 0.25, "dull": -0.125})), 0
        self.name, self.has_embeddings, self.references, self.sha256 = "old", False, self.inner.references, None

    @property
    def labels(self):
        return self.inner.labels

    def encode(self, text):
        return self.inner.encode(text)

    def bind(self, binding):
        self.n_bound += 1
        return OldProbe(self.inner.bind(binding))

    def predict(self, texts):
        return self.inner.predict(texts)


class OldProbe:
    def __init__(self, inner):
        self.inner, self.n_setup, self.batch_size = inner, inner.n_setup, inner.batch_size
        self.output, self.scale, self.start = inner.output, inner.scale, inner.start

    def scores(self, coordinates, rows):
        return self.inner.scores(coordinates, rows)


def test_a_model_without_a_base_class_is_explained_as_before():
    old, text = OldModel(), "A good film, not dull."
    with pytest.warns(DeprecationWarning, match=r"Old(Model|Probe) without a base class"):
        found = Explainer(old, seed=1)(text)
    assert found.scores.tolist() == Explainer(old.inner, seed=1)(text).scores.tolist()
    assert old.n_bound == 1  # the object of the user, not a copy
    assert type(old) is OldModel


@pytest.mark.parametrize(
    ("part", "expected"),
    [({"design": OldCoins()}, "design"), ({"estimator": OldEstimator()}, "estimator")],
)
def test_parts_without_a_base_class_work_as_before(part, expected):
    with pytest.warns(DeprecationWarning, match=r"without a base class"):
        method = resolve("mase-mask", **part)
    model = AdditiveClassifier({"good": 0.25, "dull": -0.125})
    found = Explainer(model, method=method, link="logit")("A good dull film.")
    assert [unit.text for unit in found.top(1)] == ["good"]
    assert found.method[expected]["name"] == type(part[expected]).__name__


def test_a_procedure_without_a_base_class_works_as_before():
    with pytest.warns(DeprecationWarning, match=r"OldProcedure without a base class"):
        method = Method("own", "An own one.", SPACES["token-mask"](), OldProcedure(), n_samples=32)
    assert len(Explainer(AdditiveClassifier({"good": 0.25}), method=method)("A good film.").scores) == 3


def test_attributes_in_slots_are_kept():
    with pytest.warns(DeprecationWarning, match="OldCoins"):
        design = completed(OldCoins(seed=5), Design)
    assert (design.seed, design.shares, design.enumerates) == (5, (1.0,), False)
    assert isinstance(design, OldCoins)


def test_a_model_without_a_base_class_is_evaluated():
    with pytest.warns(DeprecationWarning, match=r"without a base class"):
        evaluation = evaluate(OldModel(), ["A good film, not dull."], ["mase"], metrics=["delta-accuracy"])
    assert evaluation.summaries("mase")[0].n == 1


class Logged:
    """A model that passes all but `bind` on to another one."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.__dict__["inner"], name)

    def bind(self, binding):
        return self.inner.bind(binding)


def test_what_a_part_passes_on_comes_before_the_defaults_of_the_base_class():
    inner = Callable(lambda texts: [len(text) for text in texts], outputs="values")
    with pytest.warns(DeprecationWarning, match="Logged without a base class"):
        explainer = Explainer(Logged(inner), seed=1)
    assert explainer.model.returns_values
    assert explainer("A good film").scores.tolist() == Explainer(inner, seed=1)("A good film").scores.tolist()


def test_completed_parts_are_pickled_replaced_and_changed():
    with pytest.warns(DeprecationWarning, match="without a base class"):
        design, estimator = completed(OldCoins(seed=5), Design), completed(OldEstimator(), Estimator)
    again = pickle.loads(pickle.dumps(design))
    assert (again.seed, type(again).__name__, isinstance(again, Design)) == (5, "OldCoins", True)
    assert replace(design, seed=6).seed == 6
    assert isinstance(pickle.loads(pickle.dumps(estimator)), Estimator)
    estimator.factor = 2
    assert pickle.loads(pickle.dumps(estimator)).factor == 2
    with pytest.raises(AttributeError, match="nothing"):
        _ = estimator.nothing


def test_the_warning_is_shown_at_the_line_of_the_user(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from mase.methods import resolve\n"
        "class Mine:\n"
        "    def fit(self, problem): ...\n"
        "resolve('mase-mask', estimator=Mine())\n"
    )
    shown = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stderr
    assert f"{script}:4: DeprecationWarning: the class Mine" in shown

"""The table of methods: a method is a row of named parts. Defaults are written here and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mase.baselines import PROCEDURES
from mase.designs import DESIGNS
from mase.errors import OptionError, PluginError
from mase.estimators import ESTIMATORS
from mase.links import Link
from mase.registry import Registry
from mase.regression.problem import Design, Estimator, OwnLaw
from mase.regression.procedure import Procedure
from mase.spaces import SPACES
from mase.spaces.protocol import Space

__all__ = ["METHODS", "Method", "describe", "resolve", "with_reference"]


@dataclass(frozen=True, slots=True)
class Method:
    """One way to explain: what a coordinate does, where to ask, which number to explain and how to solve for the scores.

    `design` and `estimator` say where to ask and how to solve; a `procedure` does both and takes their place. `sigma`
    is a standard deviation, p of them or a covariance `(p, p)` (see `mase.regression.covariance.covariance`). `center`
    is the mean of the coordinates (1: the text itself, 0: the reference). Both are None for procedures, and where the
    design has a law of its own. `without_embeddings` names the row that takes this one's place for a model that reads
    strings only.
    """

    name: str
    summary: str
    space: Space
    design: Design | None = None
    estimator: Estimator | None = None
    procedure: Procedure | None = None
    link: Link = "probability"
    sigma: Any = None
    center: float | None = None
    n_samples: int = 1000
    without_embeddings: str | None = None

    def __post_init__(self) -> None:
        n = self.n_samples
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
            raise OptionError(f"n_samples is {n!r}, expected an integer >= 2")
        if self.procedure is None and (self.design is None or self.estimator is None):
            raise OptionError(f"method {self.name!r} has no procedure, expected a design and an estimator")
        if self.procedure is not None or isinstance(self.design, OwnLaw):
            self._check_nothing_given()
        elif self.center is None or not np.isfinite(self.center) or self.sigma is None:
            raise OptionError(
                f"center is {self.center!r} and sigma {self.sigma!r}, expected a finite number (1 is the text, 0 the "
                "reference) and a standard deviation"
            )

    def _check_nothing_given(self) -> None:
        own = (("design", self.design), ("estimator", self.estimator)) if self.procedure is not None else ()
        given = [name for name, value in (*own, ("sigma", self.sigma), ("center", self.center)) if value is not None]
        if given:
            what = "a procedure" if self.procedure is not None else "a design with a law of its own"
            raise OptionError(
                f"method {self.name!r} is {what}, expected no {' and no '.join(given)}; leave that "
                "out, or use method='mase-nlgp'"
            )

    @property
    def needs_gradients(self) -> bool:
        """Whether it is a white box."""
        part = self.estimator if self.procedure is None else self.procedure
        assert part is not None
        return part.needs_gradients

    @property
    def regression(self) -> tuple[Design, Estimator]:
        """The design and the estimator of a method that is no procedure."""
        assert self.design is not None
        assert self.estimator is not None
        return self.design, self.estimator


_TABLE: dict[str, dict[str, Any]] = {
    "mase": {
        "summary": "The default: words are taken out in rounds that turn to the words that matter, least squares",
        "space": "token-mask", "design": "focused", "estimator": "least-squares", "link": "margin",
    },
    "mase-nlgp": {
        "summary": "Saliency of the paper, estimated without its sampling error: mirrored orthogonal rows, least squares",
        "space": "token-scale", "design": "orthogonal", "estimator": "least-squares", "sigma": 0.1, "center": 1.0,
        "without_embeddings": "mase-mask",
    },
    "mase-paper": {
        "summary": "The paper's Algorithm 1 to the letter: independent rows, Theorem 1's closed form",
        "space": "token-scale", "design": "iid", "estimator": "moment", "sigma": 0.1, "center": 1.0,
    },
    "mase-sparse": {
        "summary": "The paper's MASE_Sparse: independent rows, the linear program of Eq. lp",
        "space": "token-scale", "design": "iid", "estimator": "sparse", "sigma": 0.1, "center": 1.0,
    },
    "mase-path": {
        "summary": "The saliency averaged along the path from the reference to the text",
        "space": "token-scale", "design": "path", "estimator": "least-squares", "sigma": 0.3, "center": 1.0,
    },
    "mase-gradient": {
        "summary": "White box: the same saliency from the model's gradients at a few points (Stein)",
        "space": "token-scale", "design": "antithetic", "estimator": "mean-gradient", "sigma": 0.1, "center": 1.0,
        "n_samples": 64,
    },
    "mase-cone": {
        "summary": "NLGP whose vectors may also turn by up to theta = 0.1",
        "space": "cone", "design": "antithetic", "estimator": "least-squares", "sigma": 0.1, "center": 1.0,
    },
    "mase-mask": {
        "summary": "For black boxes: words are there or not, half of them at a time",
        "space": "token-mask", "design": "bernoulli", "estimator": "least-squares", "sigma": 0.5, "center": 0.5,
    },
    "standard-gaussian": {
        "summary": "Noise on every entry of the embedding, Theorem 1's closed form: what the paper compares NLGP with",
        "space": "full-embedding", "design": "iid", "estimator": "moment", "sigma": 0.1, "center": 1.0,
    },
    "lime": {
        "summary": "LIME as the lime package does it: any number of words out, near texts weigh more, ridge regression",
        "space": "token-mask", "design": "lime", "estimator": "fixed-ridge",
    },
    "lime-paper": {
        "summary": "LIME as the paper states it: fair coins, near texts weigh more, least squares with a bound on the L1 norm",
        "space": "token-mask", "design": "lime-paper", "estimator": "lasso",
    },
    "kernel-shap": {
        "summary": "Kernel SHAP: coalitions and their complements, scores that sum to text minus reference",
        "space": "token-mask", "design": "shapley", "estimator": "constrained",
    },
    "occlusion": {
        "summary": "Leave one out: what each word's absence alone changes",
        "space": "token-mask", "design": "leave-one-out", "estimator": "moment",
    },
    "gradient-x-input": {
        "summary": "White box: the gradient at the text along each word's vector, the limit of mase-nlgp as sigma goes to 0",
        "space": "token-scale", "design": "text-only", "estimator": "mean-gradient", "n_samples": 2,
    },
    "integrated-gradients": {
        "summary": "White box: the gradient averaged along the straight path from the reference to the text",
        "space": "token-scale", "design": "gauss-legendre", "estimator": "mean-gradient", "n_samples": 100,
    },
    "smoothgrad": {
        "summary": "White box: gradient x input with the gradient averaged over noise on every entry of the embedding",
        "space": "relative-embedding", "design": "iid", "estimator": "mean-gradient", "sigma": 0.15, "center": 1.0,
        "n_samples": 100,
    },
    "gradient": {
        "summary": "White box: the length of the gradient by each word's vectors (Grad*), never negative",
        "space": "token-scale", "procedure": "gradient-norm", "n_samples": 2,
    },
    "sequential-ig": {
        "summary": "White box: integrated gradients of each word alone, the others in place",
        "space": "token-scale", "reference": "auto", "procedure": "sequential-ig", "n_samples": 333,
    },
    "deep-shap": {
        "summary": "White box: DeepLIFT's rules on the bundled LSTM classifiers, by captum",
        "space": "token-scale", "reference": "auto", "procedure": "deep-shap", "n_samples": 2,
    },
    "partition-shap": {
        "summary": "Partition SHAP: Owen values over halves of the text, the most telling parts first",
        "space": "token-mask", "procedure": "partition-shap",
    },
    "permutation-importance": {
        "summary": "What changes when another word of the text stands in a word's place",
        "space": "token-mask", "procedure": "permutation-importance",
    },
    "random": {
        "summary": "Scores drawn at random, the model not asked: what every method has to beat",
        "space": "token-mask", "procedure": "random",
    },
}  # fmt: skip


_REGISTRIES: dict[str, Registry] = {
    "space": SPACES, "design": DESIGNS, "estimator": ESTIMATORS, "procedure": PROCEDURES,
}  # fmt: skip


def _method(name: str, row: Mapping[str, Any]) -> Method:
    """Return the method of a row of the table, its parts imported.

    Raises
    ------
    PluginError
        If the row of another package is none.
    """
    if not isinstance(row, Mapping) or not row.keys() <= {field.name for field in fields(Method)} | {"reference"}:
        raise PluginError(
            f"method {name!r} is {row!r:.80}, expected a mapping from fields of mase.Method to their values"
        )
    given = dict(row)
    reference = given.pop("reference", None)
    parts = {part: registry[given.pop(part)]() for part, registry in _REGISTRIES.items() if part in given}
    method = Method(name=name, **given, **parts)
    return method if reference is None else with_reference(method, reference)


METHODS: Mapping[str, Method] = Registry("method", _TABLE, "mase.methods", _method)


def resolve(method: str | Method, **overrides: Any) -> Method:
    """Return the method of that name (or the one given) with the overrides that are not None.

    `space`, `design`, `estimator` and `procedure` may be names or values; `reference` replaces the reference of the
    space. A design with a law of its own takes sigma and centre away.

    Raises
    ------
    UnknownNameError
        If a name is not in its registry.
    OptionError
        If a value cannot be used, or the space has no reference.
    """
    chosen = METHODS[method] if isinstance(method, str) else method
    if not isinstance(chosen, Method):
        raise OptionError(f"method is {method!r}, expected a name such as 'mase', or a mase.Method")
    given = {key: value for key, value in overrides.items() if value is not None}
    reference = given.pop("reference", None)
    for part, registry in _REGISTRIES.items():
        if isinstance(given.get(part), str):
            given[part] = registry.build(given[part])
    if "design" in given and "estimator" not in given:
        _check_estimator(chosen, given["design"])
    if isinstance(given.get("design"), OwnLaw):
        given = {"sigma": None, "center": None} | given
    chosen = replace(chosen, **given)
    return chosen if reference is None else with_reference(chosen, reference)


def _check_estimator(method: Method, design: Design) -> None:
    """Make sure that a method's estimator suits another design than its own.

    A closed form (`needs_base`) that was chosen for a design with a law of its own, as that of occlusion, holds for that
    law alone.

    Raises
    ------
    OptionError
        If it does not.
    """
    if (
        isinstance(method.design, OwnLaw)
        and type(design) is not type(method.design)
        and method.regression[1].needs_base
    ):
        own, estimator = DESIGNS.name_of(method.design), ESTIMATORS.name_of(method.estimator)
        raise OptionError(
            f"design {DESIGNS.name_of(design)!r} given, but the estimator {estimator!r} of method {method.name!r} is for its "
            f"own design {own!r}, expected an estimator as well; try estimator='least-squares'"
        )


def with_reference(method: Method, reference: str) -> Method:
    """Return the method with another reference of its space.

    Raises
    ------
    OptionError
        If the space has none.
    """
    if method.space.reference is None:
        name = SPACES.name_of(method.space)
        raise OptionError(
            f"reference {reference!r} given, but the space {name} has none; use method='mase' or leave it out"
        )
    return replace(method, space=replace(method.space, reference=reference))  # type: ignore[type-var]


def describe(method: Method) -> dict[str, Any]:
    """Return every hyper-parameter of a method as plain JSON types, without the parts that it does not have."""
    every = {field.name: getattr(method, field.name) for field in fields(method)}
    every.pop("summary"), every.pop("without_embeddings")
    plain = {name: value for name, value in every.items() if value is not None}
    for part in _REGISTRIES.keys() & plain.keys():
        plain[part] = _part(_REGISTRIES[part], plain[part])
    if "sigma" in plain:
        plain["sigma"] = np.asarray(method.sigma, dtype=np.float64).tolist()
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in plain.items()}


def _part(registry: Registry, value: Any) -> dict[str, Any]:
    named = {"name": registry.name_of(value)}
    return named | ({field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else {})

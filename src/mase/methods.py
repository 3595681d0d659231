"""The table of methods: a method is a row of named parts. Defaults are written here and nowhere else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mase.designs import DESIGNS
from mase.errors import OptionError
from mase.estimators import ESTIMATORS
from mase.links import Link
from mase.registry import Registry, unknown
from mase.sample import Design, Estimator
from mase.spaces import SPACES
from mase.spaces.protocol import Space

__all__ = ["METHODS", "Method", "describe", "resolve", "with_reference"]


@dataclass(frozen=True, slots=True)
class Method:
    """One way to explain: what a coordinate does, where to ask, which number to explain and how to solve for the scores.

    `sigma` is a standard deviation, p of them or a covariance `(p, p)` (see `mase.covariance.covariance`), `center` the mean
    of the coordinates (1: the text itself, 0: the reference). `without_embeddings` names the row that takes this one's place
    for a model that reads strings only.
    """

    name: str
    summary: str
    space: Space
    design: Design
    estimator: Estimator
    link: Link = "probability"
    sigma: Any = 0.1
    center: float = 1.0
    n_samples: int = 1000
    without_embeddings: str | None = None

    def __post_init__(self) -> None:
        n = self.n_samples
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
            raise OptionError(f"n_samples is {n!r}, expected an integer >= 2")
        if not np.isfinite(self.center):
            raise OptionError(f"center is {self.center!r}, expected a finite number (1 is the text, 0 the reference)")


_TABLE: dict[str, dict[str, Any]] = {
    "mase": {
        "summary": "Saliency of the paper, estimated without its sampling error: mirrored orthogonal rows, least squares",
        "space": "token-scale", "design": "orthogonal", "estimator": "least-squares",
        "without_embeddings": "mase-mask",
    },
    "mase-paper": {
        "summary": "The paper's Algorithm 1 to the letter: independent rows, Theorem 1's closed form",
        "space": "token-scale", "design": "iid", "estimator": "moment",
    },
    "mase-sparse": {
        "summary": "The paper's MASE_Sparse: independent rows, the linear program of Eq. lp",
        "space": "token-scale", "design": "iid", "estimator": "sparse",
    },
    "mase-path": {
        "summary": "The saliency averaged along the path from the reference to the text",
        "space": "token-scale", "design": "path", "estimator": "least-squares", "sigma": 0.3,
    },
    "mase-gradient": {
        "summary": "White box: the same saliency from the model's gradients at a few points (Stein)",
        "space": "token-scale", "design": "antithetic", "estimator": "mean-gradient",
        "n_samples": 64,
    },
    "mase-cone": {
        "summary": "NLGP whose vectors may also turn by up to theta = 0.1",
        "space": "cone", "design": "antithetic", "estimator": "least-squares",
    },
    "mase-mask": {
        "summary": "For black boxes: words are there or not, half of them at a time",
        "space": "token-mask", "design": "bernoulli", "estimator": "least-squares", "sigma": 0.5, "center": 0.5,
    },
    "standard-gaussian": {
        "summary": "Noise on every entry of the embedding, Theorem 1's closed form: what the paper compares NLGP with",
        "space": "full-embedding", "design": "iid", "estimator": "moment",
    },
}  # fmt: skip


class _Methods(Mapping[str, Method]):
    """The table, whose parts are imported when a row is asked for."""

    def __getitem__(self, name: str) -> Method:
        if name not in _TABLE:
            raise unknown("method", name, list(_TABLE))
        row = dict(_TABLE[name])
        parts = {part: registry[row.pop(part)]() for part, registry in _REGISTRIES.items()}
        return Method(name=name, **row, **parts)

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLE)

    def __len__(self) -> int:
        return len(_TABLE)


_REGISTRIES: dict[str, Registry] = {"space": SPACES, "design": DESIGNS, "estimator": ESTIMATORS}
METHODS: Mapping[str, Method] = _Methods()


def resolve(method: str | Method, **overrides: Any) -> Method:
    """Return the method of that name (or the one given) with the overrides that are not None.

    `space`, `design` and `estimator` may be names or values; `reference` replaces the reference of the space.

    Raises
    ------
    UnknownNameError
        If a name is not in its registry.
    OptionError
        If a value cannot be used, or the space has no reference.
    """
    chosen = METHODS[method] if isinstance(method, str) else method
    given = {key: value for key, value in overrides.items() if value is not None}
    reference = given.pop("reference", None)
    for part, registry in _REGISTRIES.items():
        if isinstance(given.get(part), str):
            given[part] = registry[given[part]]()
    chosen = replace(chosen, **given)
    return chosen if reference is None else with_reference(chosen, reference)


def with_reference(method: Method, reference: str) -> Method:
    """Return the method with another reference of its space.

    Raises
    ------
    OptionError
        If the space has none.
    """
    if method.space.reference is None:
        name = SPACES.name_of(method.space)
        raise OptionError(f"reference {reference!r} given, but the space {name} has none; use method='mase' or leave it out")
    return replace(method, space=replace(method.space, reference=reference))  # type: ignore[type-var]


def describe(method: Method) -> dict[str, Any]:
    """Return every hyper-parameter of a method as plain JSON types."""
    plain = {field.name: getattr(method, field.name) for field in fields(method)}
    plain.pop("summary"), plain.pop("without_embeddings")
    for part, registry in _REGISTRIES.items():
        plain[part] = _part(registry, plain[part])
    plain["sigma"] = np.asarray(method.sigma, dtype=np.float64).tolist()
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in plain.items()}


def _part(registry: Registry, value: Any) -> dict[str, Any]:
    named = {"name": registry.name_of(value)}
    return named | ({field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else {})

"""A method: one way to explain, put together from named parts."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mase.baselines import PROCEDURES
from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.errors import OptionError
from mase.estimators import ESTIMATORS
from mase.links import Link
from mase.registry import Registry
from mase.regression.designed import Regression
from mase.regression.strategy import Strategy
from mase.spaces import SPACES
from mase.spaces.protocol import Space

__all__ = ["Method", "describe", "with_reference"]


@dataclass(frozen=True, slots=True)
class Method:
    """One way to explain: what a coordinate does, where to ask, which number to explain and how to solve for the scores.

    Parameters
    ----------
    strategy
        A `mase.regression.designed.Regression` of a design and an estimator, or a procedure that asks as it sees fit.
    n_samples
        Evaluations that it may ask for.
    without_embeddings
        The row that takes this one's place for a model that reads strings only.

    Raises
    ------
    OptionError
        If n_samples is no integer of at least 2.
    """

    name: str
    summary: str
    space: Space
    strategy: Strategy
    link: Link = "probability"
    n_samples: int = 1000
    without_embeddings: str | None = None

    def __post_init__(self) -> None:
        n = self.n_samples
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
            raise OptionError(f"n_samples is {n!r}, expected an integer >= 2")

    @property
    def needs_gradients(self) -> bool:
        """Whether it is a white box."""
        return self.strategy.needs_gradients

    @property
    def gaussian(self) -> Gaussian | None:
        """The design, if it is a Gaussian one, with its sigma and its centre."""
        design = self.strategy.design if isinstance(self.strategy, Regression) else None
        return design if isinstance(design, Gaussian) else None


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
    """Return every hyper-parameter of a method as plain JSON types, sigma and centre of a Gaussian design among them."""
    plain: dict[str, Any] = {"name": method.name, "space": _part(SPACES, method.space)}
    if isinstance(method.strategy, Regression):
        design = _part(DESIGNS, method.strategy.design)
        distribution = {key: design.pop(key) for key in ("sigma", "center") if method.gaussian is not None}
        plain |= {
            "design": design,
            "estimator": _part(ESTIMATORS, method.strategy.estimator),
            "link": method.link,
        } | distribution
    else:
        plain |= {"procedure": _part(PROCEDURES, method.strategy), "link": method.link}
    if "sigma" in plain:
        plain["sigma"] = np.asarray(plain["sigma"], dtype=np.float64).tolist()
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in plain.items()} | {
        "n_samples": int(method.n_samples)
    }


def _part(registry: Registry, value: Any) -> dict[str, Any]:
    named = {"name": registry.name_of(value)}
    return named | ({field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else {})

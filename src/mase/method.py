"""A method: a complete configuration of an explanation, composed of named parts."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mase.budget import AUTO, DEFAULT, NSamples, Rule, check_n_samples
from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.errors import OptionError
from mase.estimators import ESTIMATORS
from mase.links import LINKS
from mase.procedures import PROCEDURES
from mase.registry import Registry, unknown
from mase.regression.designed import Regression
from mase.regression.strategy import Strategy
from mase.spaces import SPACES
from mase.spaces.protocol import Space

__all__ = ["Method", "describe", "with_reference"]


@dataclass(frozen=True, slots=True)
class Method:
    """A complete configuration of an explanation: the space, the strategy, the link and the budget.

    Parameters
    ----------
    name, summary
        The name in `mase.METHODS`, and a description in one line.
    space
        How coordinates change the input.
    strategy
        A `mase.regression.designed.Regression` of a design and an estimator, or a procedure.
    link
        The function of the model's scores that is explained.
    n_samples
        Maximum number of samples, for each of which the model is evaluated; "auto" for as many as the number of units
        of a text asks for.
    rule
        How many that are.
    without_embeddings
        The name of the method that replaces this one for models that take only strings.

    Raises
    ------
    OptionError
        If n_samples is neither "auto" nor an integer of at least 2.
    UnknownNameError
        If there is no such link.
    """

    name: str
    summary: str
    space: Space
    strategy: Strategy
    link: str = "probability"
    n_samples: NSamples = DEFAULT.most
    rule: Rule = DEFAULT
    without_embeddings: str | None = None

    def __post_init__(self) -> None:
        check_n_samples(self.n_samples)
        if self.link not in LINKS:
            raise unknown(LINKS.kind, self.link, list(LINKS))

    def budget(self, n_units: int, *, stops_early: bool = False) -> int:
        """Return the number of samples for a text of so many units.

        "auto" is a rule of the number of units. With a stopping rule, which decides itself, it is the largest number
        that this rule allows.
        """
        if self.n_samples != AUTO:
            return int(self.n_samples)
        return self.rule.most if stops_early else self.rule.samples(n_units)

    @property
    def needs_gradients(self) -> bool:
        """Whether it needs the gradients of the model."""
        return self.strategy.needs_gradients

    @property
    def gaussian(self) -> Gaussian | None:
        """The design if it is Gaussian (with sigma and center), else None."""
        design = self.strategy.design if isinstance(self.strategy, Regression) else None
        return design if isinstance(design, Gaussian) else None

    @property
    def noise_level(self) -> float:
        """The standard deviation of a Gaussian design, if it is a single number; 0 for anything else."""
        sigma = np.asarray(None if self.gaussian is None else self.gaussian.sigma)
        return float(sigma) if sigma.ndim == 0 and sigma.dtype.kind in "fiu" else 0.0


def with_reference(method: Method, reference: str) -> Method:
    """Return the method with another reference of its space.

    Raises
    ------
    OptionError
        If the space has no reference.
    """
    if method.space.reference is None:
        name = SPACES.name_of(method.space)
        raise OptionError(
            f"reference is {reference!r}, expected None because the space {name!r} has no reference; leave it out or "
            "use method='mase'"
        )
    return replace(method, space=replace(method.space, reference=reference))  # type: ignore[type-var]


def describe(method: Method) -> dict[str, Any]:
    """Return all hyper-parameters of a method as JSON types, including sigma and center of a Gaussian design."""
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
        "n_samples": check_n_samples(method.n_samples)
    }


def _part(registry: Registry, value: Any) -> dict[str, Any]:
    name = {"name": registry.name_of(value)}
    return name | ({field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else {})

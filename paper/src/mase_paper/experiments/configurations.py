"""Configurations to compare: a method by name, the settings that differ from its defaults, and a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mase.errors import OptionError
from mase.methods import METHODS
from mase.registry import unknown

__all__ = ["SETTINGS", "Configuration", "n_samples_of", "parse"]

# The settings of `mase.Explainer` that a configuration may name, with the type of their values.
SETTINGS: Mapping[str, type] = {
    "center": float, "design": str, "estimator": str, "link": str, "n_samples": int, "reference": str, "sigma": float,
    "space": str,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """A method with settings, sorted by name. Its string is used on the command line and in names of files.

    Examples
    --------
    >>> str(Configuration("mase-paper", (("n_samples", 250),), seed=1))
    'mase-paper+n_samples=250+seed=1'
    """

    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    seed: int = 0

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in self.settings]
        return "+".join([self.method, *named, *([f"seed={self.seed}"] if self.seed else [])])

    def with_seed(self, seed: int) -> "Configuration":
        """Return the configuration with this seed, unless it already has one."""
        return self if self.seed else Configuration(self.method, self.settings, seed)


def n_samples_of(method: str) -> int:
    """Return the number of samples of a method in the experiments: 1,000 if it otherwise depends on the text.

    Examples
    --------
    >>> n_samples_of("mase"), n_samples_of("mase-gradient")
    (1000, 64)
    """
    return METHODS[method].budget(0, stops_early=True)


def parse(text: str) -> Configuration:
    """Return the configuration that a string describes.

    Raises
    ------
    UnknownNameError
        If a setting is neither in `SETTINGS` nor "seed".
    OptionError
        If a value has not the type of its setting.

    Examples
    --------
    >>> parse("mase+sigma=0.3").settings
    (('sigma', 0.3),)
    """
    method, *rest = text.strip().split("+")
    settings = dict(_setting(part) for part in rest)
    seed = settings.pop("seed", 0)
    return Configuration(method, tuple(sorted(settings.items())), seed)


def _setting(part: str) -> tuple[str, Any]:
    name, sign, value = part.partition("=")
    if name not in SETTINGS and name != "seed":
        raise unknown("setting", name, [*SETTINGS, "seed"])
    kind = SETTINGS.get(name, int)
    try:
        if not sign or (name == "seed" and int(value) < 0):
            raise ValueError
        return name, kind(value)
    except ValueError:
        raise OptionError(f"got {part!r}, expected {name}=VALUE with a value of type {kind.__name__}") from None

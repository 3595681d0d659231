"""Configurations to compare: a method by name, settings that replace its own, and a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mase.errors import OptionError
from mase.registry import unknown

__all__ = ["SETTINGS", "Configuration", "parse"]

# The settings of `mase.Explainer` that a configuration may name, with the type of their values.
SETTINGS: Mapping[str, type] = {
    "center": float, "design": str, "estimator": str, "link": str, "n_samples": int, "reference": str, "sigma": float,
    "space": str,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """A method with settings, sorted by name. Its string is used on the command line, in results and names of files.

    A seed of 0 stands for none.

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

    @property
    def options(self) -> dict[str, Any]:
        """The settings and, if it has one, the seed, as options of `mase.Explainer` by name."""
        return dict(self.settings) | ({"seed": self.seed} if self.seed else {})

    def with_seed(self, seed: int) -> "Configuration":
        """Return the configuration with this seed, unless it already has one."""
        return self if self.seed else Configuration(self.method, self.settings, seed)


def parse(text: str) -> Configuration:
    """Return the configuration that a string METHOD+SETTING=VALUE+... describes.

    Whether there is such a method, and whether it takes such a value, is not checked.

    Raises
    ------
    UnknownNameError
        If a setting is neither in `SETTINGS` nor "seed".
    OptionError
        If a value has not the type of its setting, a setting is given twice, or the seed is below 1.

    Examples
    --------
    >>> parse("mase+sigma=0.3").settings
    (('sigma', 0.3),)
    """
    method, *parts = text.strip().split("+")
    settings: dict[str, Any] = {}
    for part in parts:
        name, value = _setting(part)
        if name in settings:
            raise OptionError(f"{text!r:.80} has the setting {name!r} twice, expected it once")
        settings[name] = value
    seed = settings.pop("seed", 0)
    return Configuration(method, tuple(sorted(settings.items())), seed)


def _setting(part: str) -> tuple[str, Any]:
    name, sign, typed = part.partition("=")
    if name not in SETTINGS and name != "seed":
        raise unknown("setting", name, [*SETTINGS, "seed"])
    kind = SETTINGS.get(name, int)
    try:
        value = kind(typed) if sign else None
    except ValueError:
        value = None
    if value is None:
        raise OptionError(f"got {part!r:.80}, expected '{name}=VALUE' with a value of type {kind.__name__}")
    if name == "seed" and value < 1:
        raise OptionError(f"got {part!r:.80}, expected a seed >= 1, or none for that of the whole comparison")
    return name, value

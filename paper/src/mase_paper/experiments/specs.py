"""What is compared: a method by name, with the settings that differ from its own, under one seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mase.errors import OptionError
from mase.registry import unknown

__all__ = ["SETTINGS", "Spec", "parse", "spec"]

# The settings of `mase.Explainer` that a spec may name, with the type of their values.
SETTINGS: Mapping[str, type] = {
    "center": float, "design": str, "estimator": str, "link": str, "n_samples": int, "reference": str, "sigma": float,
    "space": str,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spec:
    """A method with settings in order of name; as a string it is a name of the command line and of a file.

    Examples
    --------
    >>> str(Spec("mase-paper", (("n_samples", 250),), seed=1))
    'mase-paper+n_samples=250+seed=1'
    """

    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    seed: int = 0

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in self.settings]
        return "+".join([self.method, *named, *([f"seed={self.seed}"] if self.seed else [])])

    def with_seed(self, seed: int) -> "Spec":
        """Return the spec under a seed, unless it names one itself."""
        return self if self.seed else Spec(self.method, self.settings, seed)


def spec(method: str, settings: Mapping[str, Any] | None = None, seed: int = 0) -> Spec:
    """Return the spec of a method with settings.

    Raises
    ------
    UnknownNameError
        If a setting is none of `SETTINGS`.
    """
    given = dict(settings or {})
    for name in given:
        if name not in SETTINGS:
            raise unknown("setting", name, [*SETTINGS, "seed"])
    return Spec(method, tuple(sorted(given.items())), seed)


def parse(text: str) -> Spec:
    """Return the spec that a string describes.

    Raises
    ------
    UnknownNameError
        If a setting is none of `SETTINGS`, nor "seed".
    OptionError
        If a value is not of its setting's type.

    Examples
    --------
    >>> parse("mase+sigma=0.3").settings
    (('sigma', 0.3),)
    """
    method, *rest = text.strip().split("+")
    given = dict(_setting(part) for part in rest)
    return spec(method, given, given.pop("seed", 0))


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

"""The number of samples of `n_samples="auto"`: a rule of the number of units, which a method may replace by its own.

`experiments/budget.py` chose the default rule; docs/samples.md has its table.
"""

from dataclasses import dataclass
from typing import Any, Literal

from mase.errors import OptionError
from mase.scalars import is_integer

__all__ = ["AUTO", "DEFAULT", "NSamples", "Rule", "check_n_samples"]

NSamples = int | Literal["auto"]
AUTO: Literal["auto"] = "auto"


@dataclass(frozen=True, slots=True)
class Rule:
    """As many samples as `base` and `per_unit` more for each unit of a text, up to `most`.

    Examples
    --------
    >>> [DEFAULT.samples(n_units) for n_units in (20, 100, 2000)]
    [390, 550, 1000]
    """

    base: int
    per_unit: int
    most: int

    def samples(self, n_units: int) -> int:
        """Return the number of samples for a text of so many units."""
        return min(self.base + self.per_unit * n_units, self.most)


DEFAULT = Rule(base=350, per_unit=2, most=1000)


def check_n_samples(n_samples: Any) -> NSamples:
    """Return a number of samples, or "auto".

    Raises
    ------
    OptionError
        If it is neither "auto" nor an integer of at least 2.
    """
    if isinstance(n_samples, str) and n_samples == AUTO:
        return AUTO
    if not is_integer(n_samples) or n_samples < 2:
        raise OptionError(f"n_samples is {n_samples!r}, expected an integer >= 2 or 'auto'")
    return int(n_samples)

"""The number of samples of `n_samples="auto"`: a rule of the number of units.

`experiments/budget.py` chose the rule; docs/samples.md has its table.
"""

from numbers import Integral
from typing import Any, Literal

from mase.errors import OptionError

__all__ = ["AUTO", "MOST", "NSamples", "check_n_samples", "samples_for"]

NSamples = int | Literal["auto"]
AUTO: Literal["auto"] = "auto"

# The samples of a text are _BASE and _PER_UNIT more for each of its units, up to MOST.
_BASE, _PER_UNIT, MOST = 350, 2, 1000


def samples_for(n_units: int) -> int:
    """Return the number of samples for a text of so many units.

    Examples
    --------
    >>> samples_for(20), samples_for(100), samples_for(2000)
    (390, 550, 1000)
    """
    return min(_BASE + _PER_UNIT * n_units, MOST)


def check_n_samples(n_samples: Any) -> NSamples:
    """Return a number of samples, or "auto".

    Raises
    ------
    OptionError
        If it is neither "auto" nor an integer of at least 2.
    """
    if isinstance(n_samples, str) and n_samples == AUTO:
        return AUTO
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or n_samples < 2:
        raise OptionError(f"n_samples is {n_samples!r}, expected an integer >= 2 or 'auto'")
    return int(n_samples)

"""Fixed choices, default values, checks of numbers, and the rule of `n_samples`; no framework and no numpy.

The rule was chosen on validation texts (`docs/how_it_works.md`, "How many samples").
"""

from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypeGuard, get_args

from mase.errors import OptionError


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; a bool is none.

    Examples
    --------
    >>> import numpy as np
    >>> is_integer(3), is_integer(np.int64(3)), is_integer(True), is_integer(3.0)
    (True, True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number, which may be infinite or NaN; a bool is none.

    Examples
    --------
    >>> import numpy as np
    >>> is_real(0.5), is_real(np.float32(0.5)), is_real(1), is_real(True), is_real("0.5")
    (True, True, True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


LARGEST = 2**63 - 1  # of integers that libraries count with


def check_integer(name: str, value: object, least: int) -> int:
    """Return a whole number of at least `least`, the value of an option or parameter of that name.

    Examples
    --------
    >>> check_integer("beam", 2.5, 1)
    Traceback (most recent call last):
    mase.errors.OptionError: beam is 2.5, expected an integer >= 1
    """
    if not is_integer(value) or value < least:
        raise OptionError(f"{name} is {value!r:.60}, expected an integer >= {least}")
    return int(value)


Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

# Suffixes of the files of tables (`mase.metrics.tables`) and of pictures (`mase.render.figure`).
TABLE_FORMATS = (".md", ".csv", ".tex", ".html")
PICTURE_FORMATS = (".png", ".svg", ".pdf")

# The inputs that can represent an absent word. Each model supports some of them.
Reference = Literal["zero", "mask", "unk", "pad", "delete"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)

# What to do with a text that is longer than the model reads, and how the predictions for its windows become one.
Long = Literal["cut", "windows"]
LONG: tuple[Long, ...] = get_args(Long)
Pooling = Literal["mean", "max", "first"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def check_choice(option: str, value: object, choices: Collection[str]) -> None:
    """Check that the value of an option, whatever its type, is one of the choices.

    Examples
    --------
    >>> check_choice("pooling", "max", POOLINGS)
    """
    if not isinstance(value, str) or value not in choices:  # only strings: an array has no single answer to ==
        raise OptionError(f"{option} is {value!r:.60}, expected one of {', '.join(choices)}")


# How certain the set of the top units has to be.
CONFIDENCE = 0.95

# How many of the best units are tested on the model.
EVIDENCE = 5

# Numbers of words that metrics mask, those of the paper.
KS = (1, 5, 10, 15)

# Largest number of tokens of an answer that a language model generates.
MAX_NEW_TOKENS = 128

# Share of the units of a window that the next one also has.
OVERLAP = 0.25
NSamples = int | Literal["auto"]
AUTO: Literal["auto"] = "auto"


@dataclass(frozen=True, slots=True)
class Rule:
    """As many samples as `base` and `per_unit` more for each unit of a text, up to `most`.

    Examples
    --------
    >>> [SAMPLES_RULE.samples(n_units) for n_units in (20, 100, 2000)]
    [390, 550, 1000]
    """

    base: int
    per_unit: int
    most: int

    def samples(self, n_units: int) -> int:
        """Return the number of samples for a text of so many units."""
        return min(self.base + self.per_unit * n_units, self.most)


SAMPLES_RULE = Rule(base=350, per_unit=2, most=1000)


def check_n_samples(n_samples: Any) -> NSamples:
    """Return a number of samples, or "auto"."""
    if isinstance(n_samples, str) and n_samples == AUTO:
        return AUTO
    if not is_integer(n_samples) or not 2 <= n_samples <= LARGEST:
        raise OptionError(f"n_samples is {n_samples!r:.60}, expected an integer >= 2 and < 2**63, or 'auto'")
    return int(n_samples)

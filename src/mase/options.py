"""Options of an explanation that can be given in more than one way."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

from mase.defaults import LONG, OVERLAP, POOLINGS, Long, NSamples, Pooling, Precision, check_choice
from mase.document import Scalar, scalar
from mase.errors import OptionError
from mase.links import Link
from mase.methods import Method
from mase.registry import unknown
from mase.scalars import is_real
from mase.solve.oracle import QueryOptions
from mase.solve.strategy import Stopping
from mase.units import DEFAULT, Units, splitter
from mase.units.splitters import Splitter


class MoreOptions(TypedDict, total=False):
    """Keywords of `mase.Explainer` for further parts of the method and for the fields of `query` and `stopping`."""

    design: Any
    estimator: Any
    space: Any
    center: float | None
    batch_size: int | Literal["auto"]
    precision: Precision
    tolerance: float | None
    stable_top: int | None
    confidence: float | None
    granularity: Units
    long: Long
    overlap: float | None
    pooling: Pooling | None


@dataclass(frozen=True, slots=True)
class Windows:
    """How a text that is longer than the model reads is explained in windows.

    Parameters
    ----------
    overlap
        Share of the units of a window that the next one also has, from 0 to 0.9.
    pooling
        How the predictions for the windows become one: their "mean", the "max" of each class, or that of the "first".
    """

    overlap: float = OVERLAP
    pooling: Pooling = POOLINGS[0]

    def __post_init__(self) -> None:
        if not is_real(self.overlap) or not 0 <= self.overlap <= 0.9:
            raise OptionError(f"overlap is {self.overlap!r}, expected a number from 0 to 0.9")
        check_choice("pooling", self.pooling, POOLINGS)

    @property
    def settings(self) -> dict[str, Any]:
        """The options by name."""
        return {"long": "windows", "overlap": self.overlap, "pooling": self.pooling}


class ExplainerOptions(MoreOptions, total=False):
    """All options of `mase.Explainer`, for functions that pass them on."""

    method: str | Method | None
    units: Units
    n_samples: NSamples | None
    sigma: Any
    reference: str | None
    link: Link | None
    seed: int
    evidence: int
    zoom: int
    fixed: Collection[str]
    background: Mapping[str, Scalar] | None
    query: QueryOptions
    stopping: Stopping


class CiteOptions(MoreOptions, total=False):
    """The options of `mase.Explainer` that `mase.cite` passes on."""

    method: str | Method | None
    units: Units
    n_samples: NSamples | None
    link: Link | None
    seed: int
    evidence: int
    zoom: int
    stopping: Stopping


_PARTS = ("design", "estimator", "space", "center")
_QUERY = ("batch_size", "precision")
_STOPPING = ("tolerance", "stable_top", "confidence")
_WINDOWS = ("overlap", "pooling")


def merged(
    query: QueryOptions, stopping: Stopping, units: Units, more: Mapping[str, Any]
) -> tuple[dict[str, Any], QueryOptions, Stopping, Splitter]:
    """Return the parts of the method in `more`, `query` and `stopping` updated from `more`, and the splitter.

    An option that is None counts as not given.
    """
    for name in more:
        if name not in MoreOptions.__annotations__:
            raise unknown("option", name, list(ExplainerOptions.__annotations__))
    if not isinstance(query, QueryOptions):
        raise OptionError(f"query is {query!r}, expected for example mase.QueryOptions(batch_size=32)")
    if not isinstance(stopping, Stopping):
        raise OptionError(f"stopping is {stopping!r}, expected for example mase.Stopping(tolerance=0.1)")
    query = replace(query, **_select(more, _QUERY))
    rule = _select(more, _STOPPING)
    stopping = replace(stopping, **rule)
    if "confidence" in rule and stopping.stable_top is None:
        raise OptionError(
            f"confidence is {stopping.confidence:g} without stable_top, expected both: it says how certain the top "
            "units have to be"
        )
    return _select(more, _PARTS), query, stopping, _splitter(units, more.get("granularity"))


def windows_of(more: Mapping[str, Any]) -> Windows | None:
    """Return how long texts are explained in windows; None if they are cut off."""
    long, given = more.get("long"), _select(more, _WINDOWS)
    long = LONG[0] if long is None else long
    check_choice("long", long, LONG)
    if long == "windows":
        return Windows(**given)
    if given:
        raise OptionError(f"{' and '.join(given)} given for long='cut', expected long='windows' with it")
    return None


def names_of(fields: Collection[str]) -> tuple[str, ...]:
    """Return the names of fixed fields."""
    if (
        isinstance(fields, str)
        or not isinstance(fields, Collection)
        or not all(isinstance(name, str) for name in fields)
    ):
        raise OptionError(f"fixed is {fields!r}, expected a list of names of fields, as in ['question']")
    return tuple(fields)


def values_of(background: Mapping[str, Any] | None) -> dict[str, Scalar]:
    """Return what replaces numbers and categories that are masked, as values of Python by name of field."""
    if background is not None and not isinstance(background, Mapping):
        raise OptionError(f"background is {background!r:.80}, expected a mapping by name of field, as in {{'age': 0}}")
    values = {}
    for name, given in (background or {}).items():
        value = scalar(given)
        if value is None:
            raise OptionError(f"background of {name!r} is {given!r:.60}, expected a finite number or a str")
        values[name] = value
    return values


def _splitter(units: Units, granularity: Units | None) -> Splitter:
    """Return the splitter of the units, which may be given by their former name `granularity`."""
    if granularity is None:
        return splitter(units)
    if units not in (DEFAULT, granularity):
        raise OptionError(f"units is {units!r} and granularity {granularity!r}, expected one of them; use units")
    return splitter(granularity)


def _select(options: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: options[name] for name in names if options.get(name) is not None}

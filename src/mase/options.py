"""The options of `mase.Explainer`: their checks, and what replaces those of earlier releases."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, ParamSpec, TypedDict, cast

from mase.defaults import LONG, OVERLAP, POOLINGS, NSamples, Pooling, Precision, check_choice, is_real
from mase.document import Scalar, scalar
from mase.errors import OptionError
from mase.links import Link
from mase.methods import Method, Variant
from mase.registry import unknown, warn_deprecated
from mase.solve.oracle import QueryOptions
from mase.solve.strategy import NEVER, Stopping
from mase.units import DEFAULT, Units

__all__ = ["Stopping", "Windows"]

P = ParamSpec("P")


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


class ExplainerOptions(TypedDict, total=False):
    """The options of `mase.Explainer`, for functions that pass them on."""

    method: str | Method | None
    units: Units
    link: Link | None
    reference: str | None
    fixed: Collection[str]
    background: Mapping[str, Scalar] | None
    n_samples: NSamples | None
    seed: int
    stopping: Stopping
    evidence: int
    zoom: int
    windows: Windows | bool
    batch_size: int | Literal["auto"]
    precision: Precision


class CiteOptions(TypedDict, total=False):
    """The options of `mase.Explainer` that `mase.cite` passes on."""

    method: str | Method | None
    units: Units
    link: Link | None
    n_samples: NSamples | None
    seed: int
    stopping: Stopping
    evidence: int
    zoom: int
    batch_size: int | Literal["auto"]
    precision: Precision


_QUERY = ("batch_size", "precision")
_STOPPING = ("tolerance", "stable_top", "confidence")
_WINDOWS = ("overlap", "pooling")
_PARTS = ("design", "estimator", "space", "center", "sigma")
# What replaces each option of earlier releases, which goes in 0.5.
FORMER: Mapping[str, str] = {
    **{name: f"method='NAME+{name}=VALUE', or mase.methods.resolve(NAME, {name}=...)" for name in _PARTS},
    **{name: f"stopping=mase.options.Stopping({name}=...)" for name in _STOPPING},
    "query": "batch_size and precision",
    "granularity": "units",
    "long": "windows=True",
    **{name: f"windows=mase.options.Windows({name}=...)" for name in _WINDOWS},
}


def current(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `mase.Explainer`, those of earlier releases by what replaces them, with a warning.

    An option that is None counts as not given.
    """
    for name in options:
        if name not in FORMER and name not in ExplainerOptions.__annotations__ and name != "show_progress":
            raise unknown("option", name, [*ExplainerOptions.__annotations__, *FORMER])
    former = {name: value for name, value in options.items() if name in FORMER and value is not None}
    for name in former:
        warn_deprecated(f"the option {name}", FORMER[name])
    present = {name: value for name, value in options.items() if name not in FORMER}
    for name in _QUERY:
        if present.get(name, "") is None:
            del present[name]
    return _replaced(present, former)


def _replaced(result: dict[str, Any], former: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those of earlier releases by what replaces them."""
    if "query" in former:
        query = former["query"]
        if not isinstance(query, QueryOptions):
            raise OptionError(f"query is {query!r}, expected None; give batch_size and precision")
        result = {"batch_size": query.batch_size, "precision": query.precision} | result
    if "granularity" in former:
        units, granularity = result.get("units", DEFAULT), former["granularity"]
        if units not in (DEFAULT, granularity):
            raise OptionError(f"units is {units!r} and granularity {granularity!r}, expected one of them; use units")
        result["units"] = granularity
    if rule := {name: former[name] for name in _STOPPING if name in former}:
        result["stopping"] = stopping_of(result.get("stopping", NEVER), **rule)
    if {"long", *_WINDOWS} & former.keys():
        result["windows"] = windows_of(former.get("long"), **{name: former.get(name) for name in _WINDOWS})
    if parts := {name: former[name] for name in _PARTS if name in former}:
        result["method"] = Variant(result.get("method"), parts)
    return result


def accepts_former(function: Callable[P, None]) -> Callable[P, None]:
    """Let an `__init__` take the options of earlier releases, which its signature does not show."""

    @wraps(function)
    def accepting(self: Any, model: Any, tokenizer: Any = None, **options: Any) -> None:
        function(self, model, tokenizer, **current(options))

    return cast(Callable[P, None], accepting)


def former_listener(options: Any, on_progress: Any) -> Any:
    """Return `on_progress`, or what `options` has under its name of earlier releases, with a warning."""
    if "listener" not in options:
        return on_progress
    warn_deprecated("listener", "on_progress")
    return options.pop("listener")


def stopping_of(rule: Stopping = NEVER, **fields: Any) -> Stopping:
    """Return a stopping rule with the fields that are not None."""
    given = {name: value for name, value in fields.items() if value is not None}
    if not isinstance(rule, Stopping):
        raise OptionError(f"stopping is {rule!r}, expected for example mase.options.Stopping(tolerance=0.1)")
    stopping = replace(rule, **given)
    if "confidence" in given and stopping.stable_top is None:
        raise OptionError(
            f"confidence is {stopping.confidence:g} without stable_top, expected both: it says how certain the top "
            "units have to be"
        )
    return stopping


def windows_of(long: str | None = None, **fields: Any) -> Windows | None:
    """Return how long texts are explained in windows, by the options of earlier releases; None if they are cut off."""
    given = {name: value for name, value in fields.items() if value is not None}
    long = LONG[0] if long is None else long
    check_choice("long", long, LONG)
    if long == "windows":
        return Windows(**given)
    if given:
        name, value = next(iter(given.items()))
        raise OptionError(f"{name} is {value!r} without windows, expected windows=True with it")
    return None


def checked_windows(windows: Windows | bool | None) -> Windows | None:  # noqa: FBT001
    """Return the options of windows; None if long texts are cut off."""
    if isinstance(windows, Windows):
        return windows
    if windows is not None and not isinstance(windows, bool):
        raise OptionError(f"windows is {windows!r}, expected True, or for example mase.options.Windows(overlap=0.5)")
    return Windows() if windows else None


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

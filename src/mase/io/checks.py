"""What the values of an attribution must be to each other, which their types cannot say."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from mase.attribution import Attribution, Prediction, Response
from mase.errors import DataError
from mase.links import links

__all__ = ["check"]

# The last digits of a number that was computed, and how far from [0, 1] adapters let a model's probabilities be: in
# half precision they have few digits.
_ROUNDING, _HALF_PRECISION = 1e-9, 1e-2


def check(found: Attribution, *, place: str) -> Attribution:
    """Return an attribution whose values agree with each other; `place` says in errors where it was read.

    Raises
    ------
    DataError
        If they do not.
    """
    wrong = next(_contradictions(found), None)  # what follows the first may rely on its absence
    if wrong is not None:
        raise DataError(f"{place}: {wrong}")
    return found


def _contradictions(found: Attribution) -> Iterator[str]:
    """Yield what is wrong with an attribution: the place, what stands there and what was expected."""
    yield from _document(found)
    yield from _units(found)
    yield from _prediction(found.prediction)
    yield from _tokens(found)
    if not found.responses:
        yield "responses is empty, expected at least one"
    yield from _twice("responses", [response.name for response in found.responses])
    for index, response in enumerate(found.responses):
        yield from _response(f"responses[{index}]", response, found)
    yield from _conditions(found)


def _document(found: Attribution) -> Iterator[str]:
    if not found.document:
        yield "document is empty, expected at least one field"
    yield from _twice("document", [field.name for field in found.document])


def _twice(path: str, names: list[str]) -> Iterator[str]:
    """Yield a name that several have."""
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice is not None:
        yield f"{path} has the name {twice!r:.40} twice, expected names that differ"


def _units(found: Attribution) -> Iterator[str]:
    if not found.units:
        yield "units is empty, expected at least one"
    texts = {field.name: field.text for field in found.document}
    for index, unit in enumerate(found.units):
        path = f"units[{index}]"
        yield from _span(path, unit.field, unit.start, unit.end, texts)
        if unit.start == unit.end:
            yield f"{path}: 'end' is {unit.end}, expected more than 'start': no unit is empty"
        here = texts[unit.field][unit.start : unit.end]
        if unit.text != here:
            yield f"{path}: 'text' is {unit.text!r:.60}, expected {here!r:.60}, which the field has there"
    places = {name: place for place, name in enumerate(texts)}
    for one, two in pairwise(found.units):
        if (places[two.field], two.start) < (places[one.field], one.end):
            yield f"units has {two.text!r:.40} behind {one.text!r:.40}, expected reading order without overlap"


def _span(path: str, field: str | None, start: int, end: int, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with a span of a field."""
    if field is None or field not in texts:
        yield f"{path}: 'field' is {field!r:.40}, expected one of {', '.join(texts):.200}"
    elif not 0 <= start <= end <= len(texts[field]):
        length = len(texts[field])
        yield f"{path} spans {start!r:.20} to {end!r:.20}, expected a span within the {length} characters of its field"


def _prediction(prediction: Prediction) -> Iterator[str]:
    """Yield what is wrong with the probabilities; the class of an index is that of its label."""
    by_label, label = prediction.probabilities, prediction.label
    for name, chance in by_label.items():
        if not -_HALF_PRECISION <= chance <= 1 + _HALF_PRECISION:
            yield f"prediction: probability of {name!r:.40} is {chance:g}, expected a number from 0 to 1"
    if label not in by_label:
        yield f"prediction: 'label' is {label!r:.40}, expected one of {_listed(by_label)}"
    if list(by_label).index(label) != prediction.index:
        place = list(by_label).index(label)
        yield f"prediction: 'index' is {prediction.index!r:.20}, expected {place}, the place of {label!r:.40}"
    if not math.isclose(prediction.probability, by_label[label], rel_tol=1e-6, abs_tol=1e-9):
        yield f"prediction: 'probability' is {prediction.probability:g}, expected {by_label[label]:g}, that of the label"


def _tokens(found: Attribution) -> Iterator[str]:
    if not found.tokens:
        yield "tokens is empty, expected at least one"
    texts = {field.name: field.text for field in found.document}
    for index, token in enumerate(found.tokens):
        path = f"tokens[{index}]"
        if token.start is not None and token.end is not None:
            yield from _span(path, token.field, token.start, token.end, texts)
        elif (token.field, token.start, token.end) != (None, None, None):
            yield f"{path} has a part of a span, expected 'field', 'start' and 'end', or null for all three"
        yield from _unit(path, token.unit, found)


def _unit(path: str, unit: int | None, found: Attribution) -> Iterator[str]:
    """Yield what is wrong with the index of a unit."""
    if unit is not None and not 0 <= unit < len(found.units):
        yield f"{path}: 'unit' is {unit!r:.20}, expected null or the index of one of the {len(found.units)} units"


def _response(path: str, response: Response, found: Attribution) -> Iterator[str]:
    if response.name not in found.prediction.probabilities:
        yield f"{path}: 'name' is {response.name!r:.40}, expected one of {_listed(found.prediction.probabilities)}"
    if response.link not in links():
        yield f"{path}: 'link' is {response.link!r:.40}, expected one of {', '.join(links())}"
    if not math.isfinite(response.value):
        yield f"{path}: 'value' is {response.value}, expected a finite number"
    by_unit = {"scores": response.scores, "standard_errors": response.standard_errors}
    for name, values in (by_unit | {f"effects {name!r:.40}": one for name, one in response.effects.items()}).items():
        yield from _numbers(f"{path}: {name}", values, len(found.units), "unit")
    if any(error is not None and error < 0 for error in response.standard_errors):
        yield f"{path}: 'standard_errors' has a negative number, expected numbers >= 0, or null"
    if sorted(response.order) != list(range(len(found.units))):
        yield f"{path}: 'order' is no permutation, expected each of the {len(found.units)} indices of units once"
    if response.token_scores is not None:
        yield from _numbers(f"{path}: token_scores", response.token_scores, len(found.tokens), "token")
    yield from _within(f"{path}: 'r2'", response.r2, -math.inf, 1)
    yield from _within(f"{path}: 'r2_held_out'", response.r2_held_out, -math.inf, 1)


def _numbers(path: str, values: Iterable[float | None], n: int, of: str) -> Iterator[str]:
    """Yield what is wrong with the numbers of n units or tokens."""
    given = tuple(values)
    if len(given) != n:
        yield f"{path} has {len(given)} numbers, expected {n}: one per {of}"
    if not all(value is None or math.isfinite(value) for value in given):
        yield f"{path} has a number that is not finite, expected finite numbers"


def _within(path: str, value: float | None, low: float, high: float = math.inf) -> Iterator[str]:
    """Yield what is wrong with a number that must be from `low` to `high`, rounding apart, or null."""
    if value is not None and not (low - _ROUNDING <= value <= high + _ROUNDING and abs(value) < math.inf):
        bounds = f"a number >= {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}"
        yield f"{path} is {value!r:.20}, expected {bounds}"


def _conditions(found: Attribution) -> Iterator[str]:
    """Yield what is wrong with the fit, the notes and the provenance."""
    fit = found.fit
    yield from _within("fit: 'split_half'", fit.split_half, -1, 1)
    counts = {"condition": fit.condition, "n_queries": fit.n_queries, "n_gradients": fit.n_gradients}
    for name, value in (counts | {"seconds": fit.seconds}).items():
        yield from _within(f"fit: {name!r}", value, 0)
    for index, note in enumerate(found.notes):
        if not note.code:
            yield f"notes[{index}]: 'code' is empty, expected a name"
        yield from _unit(f"notes[{index}]", note.unit, found)
    yield from _named("method", found.method)
    yield from _named("model", found.model)
    if found.seed < 0:
        yield f"'seed' is {found.seed!r:.20}, expected a whole number >= 0"
    cut = found.truncation
    if cut is not None and not 0 <= cut.n_kept <= cut.n_total:
        yield f"truncation: 'n_kept' is {cut.n_kept!r:.20} of {cut.n_total!r:.20}, expected a number from 0 to 'n_total'"


def _named(path: str, settings: Mapping[str, Any]) -> Iterator[str]:
    name = settings.get("name")
    if not isinstance(name, str) or not name:
        yield f"{path}: 'name' is {name!r:.40}, expected a name"


def _listed(labels: Iterable[str]) -> str:
    return f"the labels that have a probability, {', '.join(list(labels)[:5]):.200}"

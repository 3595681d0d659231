"""Check that the values of an attribution are consistent with each other, which their types cannot express."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mase.attribution import Answer, Attribution, Changed, Evidence, FlipSet, Interaction, Response, Window
from mase.attribution.response import error_of
from mase.budget import AUTO, check_n_samples
from mase.document import Field, Scalar
from mase.errors import DataError, OptionError
from mase.io.predictions import HALF_PRECISION, listed, prediction_problems

__all__ = ["check"]

_ROUNDING = 1e-9  # of computed numbers
_LONGEST = 1e12  # seconds


def check(attribution: Attribution, *, place: str) -> Attribution:
    """Return the attribution after a check that its values are consistent; errors name `place`, where it was read.

    Raises
    ------
    DataError
        If they are not.
    """
    problem = next(_problems(attribution), None)  # only the first: later checks assume that earlier ones pass
    if problem is not None:
        raise DataError(f"{place}: {problem}")
    return attribution


def _problems(attribution: Attribution) -> Iterator[str]:
    """Yield the problems of an attribution: the path of a value, what it is, and what was expected."""
    if not attribution.document:
        yield "document is empty, expected at least one field"
    yield from _unique("document", [field.name for field in attribution.document])
    for index, field in enumerate(attribution.document):
        yield from _field(f"document[{index}]", field)
    yield from _units(attribution)
    yield from prediction_problems("prediction", attribution.prediction)
    yield from _tokens(attribution)
    if not attribution.responses:
        yield "responses is empty, expected at least one"
    yield from _unique("responses", [response.name for response in attribution.responses])
    for index, response in enumerate(attribution.responses):
        yield from _response(f"responses[{index}]", response, attribution)
    for index, window in enumerate(attribution.windows):
        yield from _window(f"windows[{index}]", window, attribution)
    yield from _conditions(attribution)
    if attribution.answer is not None:
        yield from _answer(attribution.answer, [response.name for response in attribution.responses])
    if attribution.evidence is not None:
        yield from _evidence(attribution.evidence, attribution)
    if attribution.zoomed is not None:
        yield from _zoomed(attribution.zoomed, attribution)


def _answer(answer: Answer, names: list[str]) -> Iterator[str]:
    """Yield the problems of the answer of a language model."""
    if not answer.parts:
        yield "answer: 'parts' is empty, expected at least one"
    for index, part in enumerate(answer.parts):
        if not 0 <= part.start < part.end <= len(answer.text):
            length = len(answer.text)
            yield f"answer.parts[{index}] spans {part.start} to {part.end}, expected a span of the {length} characters"
        if part.response not in names:
            yield f"answer.parts[{index}]: 'response' is {part.response!r:.40}, expected the name of a response"


def _zoomed(zoomed: Attribution, attribution: Attribution) -> Iterator[str]:
    """Yield the problems of the words of the strongest units, which are of the same document and not zoomed again."""
    if zoomed.document != attribution.document:
        yield "zoomed: 'document' is another one, expected the document of the attribution"
    if zoomed.zoomed is not None:
        yield "zoomed: 'zoomed' is an attribution, expected null"
    yield from (f"zoomed: {problem}" for problem in _problems(replace(zoomed, zoomed=None)))


def _unique(path: str, names: list[str]) -> Iterator[str]:
    """Yield the first duplicate name."""
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        yield f"{path} has the name {duplicate!r:.40} twice, expected unique names"


def _field(path: str, field: Field) -> Iterator[str]:
    """Yield the problems of a field: a text has no value, and a number or a category is written in its text."""
    if field.value is None and field.background is not None:
        yield f"{path}: 'background' is {field.background!r:.40} without a 'value', expected null for a text"
    if field.value is not None and not _says(field.text, field.value):
        yield f"{path}: 'value' is {field.value!r:.40}, expected null, or what 'text' says: {field.text!r:.40}"


def _says(text: str, value: Scalar) -> bool:
    """Return whether a text writes a value; other programs write a number of JSON such as 3.0 as 3."""
    if text == str(value):
        return True
    if isinstance(value, bool | str):
        return False
    try:
        return float(text) == value
    except ValueError:
        return False


def _units(attribution: Attribution) -> Iterator[str]:
    if not attribution.units:
        yield "units is empty, expected at least one"
    texts = {field.name: field.text for field in attribution.document}
    for index, unit in enumerate(attribution.units):
        path = f"units[{index}]"
        yield from _span(path, unit.field, unit.start, unit.end, texts)
        if unit.start == unit.end:
            yield f"{path}: 'end' is {unit.end}, expected more than 'start': a unit cannot be empty"
        expected = texts[unit.field][unit.start : unit.end]
        if unit.text != expected:
            yield f"{path}: 'text' is {unit.text!r:.60}, expected {expected!r:.60}, the text of its span"
    position = {name: index for index, name in enumerate(texts)}
    for unit, following in pairwise(attribution.units):
        if (position[following.field], following.start) < (position[unit.field], unit.end):
            yield f"units has {following.text!r:.40} after {unit.text!r:.40}, expected reading order without overlap"


def _span(path: str, field: str | None, start: int, end: int, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the problems of a span of a field."""
    if field is None or field not in texts:
        yield f"{path}: 'field' is {field!r:.40}, expected one of {', '.join(texts):.200}"
    elif not 0 <= start <= end <= len(texts[field]):
        length = len(texts[field])
        yield f"{path} spans {start!r:.20} to {end!r:.20}, expected a span within the {length} characters of its field"


def _tokens(attribution: Attribution) -> Iterator[str]:
    if not attribution.tokens:
        yield "tokens is empty, expected at least one"
    texts = {field.name: field.text for field in attribution.document}
    for index, token in enumerate(attribution.tokens):
        path = f"tokens[{index}]"
        if token.start is not None and token.end is not None:
            yield from _span(path, token.field, token.start, token.end, texts)
        elif (token.field, token.start, token.end) != (None, None, None):
            yield f"{path} has an incomplete span, expected 'field', 'start' and 'end', or null for all three"
        yield from _unit(path, token.unit, attribution)


def _unit(path: str, unit: int | None, attribution: Attribution) -> Iterator[str]:
    """Yield the problems of the index of a unit."""
    if unit is not None and not 0 <= unit < len(attribution.units):
        yield f"{path}: 'unit' is {unit!r:.20}, expected null or the index of one of the {len(attribution.units)} units"


def _named_response(path: str, name: str | None, attribution: Attribution) -> Iterator[str]:
    """Yield the problem of the name of a response."""
    names = [response.name for response in attribution.responses]
    if name not in (None, *names):
        yield f"{path}: 'response' is {name!r:.40}, expected null or one of {', '.join(names[:5])!s:.200}"


def _response(path: str, response: Response, attribution: Attribution) -> Iterator[str]:
    labels, n_units = attribution.prediction.names, len(attribution.units)
    for key, name in (("name", response.name), ("against", response.against)):
        if name not in labels and (key, name) != ("against", None):
            yield f"{path}: {key!r} is {name!r:.40}, expected one of {listed(labels)}"
    if response.against == response.name:
        yield f"{path}: 'against' is {response.against!r:.40}, expected another one than 'name'"
    if not response.link:  # any name: the package that added the link may be absent
        yield f"{path}: 'link' is {response.link!r:.40}, expected a name"
    if not math.isfinite(response.value):
        yield f"{path}: 'value' is {response.value}, expected a finite number"
    errors = [("standard_errors", response.standard_errors), ("total_errors", response.interval_errors)]
    for name, values in [("scores", response.scores), *errors, *response.effects.items()]:
        low = 0 if name.endswith(("_errors", error_of(""))) else -math.inf
        yield from _numbers(f"{path}: {name!r:.40}", values, n_units, "unit", low)
    if sorted(response.order) != list(range(n_units)):
        yield f"{path}: 'order' is not a permutation, expected the index of each of the {n_units} units once"
    if response.token_scores is not None:
        yield from _numbers(f"{path}: token_scores", response.token_scores, len(attribution.tokens), "token")
    yield from _within(f"{path}: 'r2'", response.r2, -math.inf, 1)
    yield from _within(f"{path}: 'r2_held_out'", response.r2_held_out, -math.inf, 1)
    yield from _within(f"{path}: 'split_half'", response.split_half, -1, 1)
    yield from _interactions(f"{path}: interactions", response.interactions, n_units)


def _interactions(path: str, pairs: Iterable[Interaction], n_units: int) -> Iterator[str]:
    for pair in pairs:
        if not 0 <= pair.units[0] < pair.units[1] < n_units:
            yield f"{path}: 'units' is {list(pair.units)!r:.40}, expected indices of two of {n_units} units, in order"
        for key, low in (("score", -math.inf), ("standard_error", 0), ("half_width", 0), ("share", 0)):
            yield from _within(f"{path}: {key!r}", getattr(pair, key), low)


def _numbers(path: str, values: Iterable[float | None], n: int, of: str, low: float = -math.inf) -> Iterator[str]:
    """Yield the problems of the numbers of n units or tokens, which are null or finite and at least `low`."""
    given = tuple(values)
    if len(given) != n:
        yield f"{path} has {len(given)} numbers, expected {n}: one per {of}"
    if not all(value is None or math.isfinite(value) for value in given):
        yield f"{path} has a number that is not finite, expected finite numbers"
    if any(value is not None and value < low for value in given):
        yield f"{path} has a number below {low:g}, expected numbers >= {low:g}, or null"


def _within(path: str, value: float | None, low: float, high: float = math.inf) -> Iterator[str]:
    """Yield the problems of a number that must be null or from `low` to `high`, up to rounding."""
    if value is not None and not (low - _ROUNDING <= value <= high + _ROUNDING and abs(value) < math.inf):
        bounds = f"a number >= {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}"
        yield f"{path} is {value!r:.20}, expected {bounds}"


def _window(path: str, window: Window, attribution: Attribution) -> Iterator[str]:
    """Yield the problems of a window."""
    yield from _span(path, window.field, window.start, window.end, {one.name: one.text for one in attribution.document})
    yield from prediction_problems(f"{path}: prediction", window.prediction)
    if window.prediction.names != attribution.prediction.names:
        yield f"{path}: 'prediction' has other names than that of the text, expected the same"
    names = sorted(response.name for response in attribution.responses)
    if sorted(response.name for response in window.responses) != names:
        yield f"{path}: 'responses' has other names than those of the text, expected {', '.join(names):.200}"
    for response in window.responses:
        if not math.isfinite(response.value):
            yield f"{path}: 'value' is {response.value}, expected a finite number"
        yield from _within(f"{path}: 'weight'", response.weight, 0, 1)
        yield from _within(f"{path}: 'r2'", response.r2, -math.inf, 1)


def _conditions(attribution: Attribution) -> Iterator[str]:
    """Yield the problems of the fit, the notes and the provenance."""
    fit = attribution.fit
    yield from _within("fit: 'split_half'", fit.split_half, -1, 1)
    counts = {"condition": fit.condition, "n_queries": fit.n_queries, "n_gradients": fit.n_gradients}
    for name, value in counts.items():
        yield from _within(f"fit: {name!r}", value, 0)
    yield from _within("fit: 'seconds'", fit.seconds, 0, _LONGEST)
    for index, note in enumerate(attribution.notes):
        if not note.code:
            yield f"notes[{index}]: 'code' is empty, expected a name"
        yield from _unit(f"notes[{index}]", note.unit, attribution)
        yield from _named_response(f"notes[{index}]", note.response, attribution)
    yield from _named("method", attribution.method)
    yield from _n_samples("method", attribution.method)
    yield from _named("model", attribution.model)
    if attribution.seed < 0:
        yield f"'seed' is {attribution.seed!r:.20}, expected an integer >= 0"
    cut = attribution.truncation
    if cut is not None and not 0 <= cut.n_kept <= cut.n_total:
        yield f"truncation: 'n_kept' is {cut.n_kept!r:.20} of {cut.n_total!r:.20}, expected 0 to 'n_total'"


def _evidence(evidence: Evidence, attribution: Attribution) -> Iterator[str]:
    """Yield the problems of the predictions for changed documents."""
    changed: dict[str, Changed | FlipSet] = {
        f"evidence: {name}[{index}]": one
        for name, many in (("without", evidence.without), ("only", evidence.only))
        for index, one in enumerate(many)
    }
    if evidence.flip_set is not None:
        changed["evidence: flip_set"] = evidence.flip_set
    yield from _named_response("evidence", evidence.response, attribution)
    if len(evidence.without) != len(evidence.only):
        yield f"evidence: 'only' has {len(evidence.only)} entries, expected {len(evidence.without)} as in 'without'"
    labels = attribution.prediction.names
    for path, one in changed.items():
        for unit in one.units:
            yield from _unit(path, unit, attribution)
        if not one.units or len(set(one.units)) < len(one.units):
            yield f"{path}: 'units' is {list(one.units)!r:.60}, expected at least one, each once"
        if one.label not in labels:
            yield f"{path}: 'label' is {one.label!r:.40}, expected one of {listed(labels)}"
        low, high = -HALF_PRECISION, 1 + HALF_PRECISION
        if (one.probability is None) is not bool(attribution.prediction.values):
            yield f"{path}: 'probability' is {one.probability!r:.20}, expected a number for a class, null for a value"
        yield from _within(f"{path}: 'probability'", one.probability, low, high)
        if isinstance(one, Changed):
            yield from _within(f"{path}: 'target_probability'", one.target_probability, low, high)
            if not math.isfinite(one.response):
                yield f"{path}: 'response' is {one.response}, expected a finite number"


def _named(path: str, settings: Mapping[str, Any]) -> Iterator[str]:
    name = settings.get("name")
    if not isinstance(name, str) or not name:
        yield f"{path}: 'name' is {name!r:.40}, expected a name"
    for key in ("sha256", "code_sha256"):
        if not isinstance(settings.get(key), str | None):
            yield f"{path}: {key!r} is {settings[key]!r:.40}, expected a checksum as text, or null"


def _n_samples(path: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problem of a number of samples; results of other programs may have none."""
    try:
        check_n_samples(settings.get("n_samples", AUTO))
    except OptionError as error:
        yield f"{path}: {error}"

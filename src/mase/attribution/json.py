"""Results as JSON: schema 2 is written, schemas 1 and 2 are read.

The types of the fields of `Attribution` define the schema: msgspec checks plain JSON against them and exports them as
JSON Schema.
"""

import codecs
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any, NoReturn, TypeVar

import msgspec

from mase.attribution.attribution import Attribution, Token, Unit, Window
from mase.attribution.evidence import NO_LABEL, Changed, Evidence, FlipSet
from mase.attribution.response import Answer, Fit, Interaction, Note, Prediction, Response, error_of, ranking
from mase.defaults import AUTO, Precision, check_n_samples
from mase.document import Field, Scalar
from mase.errors import DataError, OptionError
from mase.files import read_bytes, write_text
from mase.text import Truncation


def differences(got: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted name, the value got and the value expected of all settings that differ; missing ones are None.

    They are in the order of the settings, those in one of the two as well: those in a group stay in its place.

    Examples
    --------
    >>> list(differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}))
    [('a.b', 1, 3)]
    >>> list(differences({"files": [{"rows": 1}]}, {"files": [{"rows": 1}, {"rows": 2}]}))
    [('files.1.rows', None, 2)]
    >>> list(differences({"where": {"a": "b"}, "rows": 1}, {"where": {}, "rows": 2}))
    [('where.a', 'b', None), ('rows', 1, 2)]
    """
    yield from _differences("", got, expected)


def _differences(name: str, got: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    item, other = _parts(got), _parts(expected)
    if item is None or other is None:
        if got != expected or (type(got) is bool) != (type(expected) is bool):  # 1 == True
            yield name, got, expected
        return
    for key in other | item:
        yield from _differences(f"{name}.{key}" if name else str(key), item.get(key), other.get(key))


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by dotted names; those in a list have its positions, from 0, in their names."""
    outcome: dict[str, Any] = {}
    for key, value in settings.items():
        parts = None if value is None else _parts(value)
        outcome |= {f"{prefix}{key}": value} if parts is None else flat(parts, f"{prefix}{key}.")
    return outcome


def _parts(value: Any) -> dict[str, Any] | None:
    """Return the settings in a group or in a list of groups; none of what is missing, and None for a single value."""
    if value is None:
        return {}
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return {str(index): item for index, item in enumerate(value)}
    return dict(value) if isinstance(value, Mapping) else None


def shown(value: Any, other: Any) -> str:
    """Return the repr of a value; of a text, the part where it begins to differ from the other one."""
    if not isinstance(value, str) or not isinstance(other, str):
        return f"{value!r:.80}"
    pairs = enumerate(zip(value, other, strict=False))
    differs = next((index for index, (a, b) in pairs if a != b), min(len(value), len(other)))
    begin = max(0, differs - 20)
    return f"{'...' if begin else ''}{value[begin : begin + 60]!r}"


HALF_PRECISION = 1e-2  # how far outside of [0, 1] the probabilities of models in half precision may be
_ROUNDING = 1e-9


def prediction_problems(path: str, prediction: Prediction) -> Iterator[str]:
    """Yield the problems of the prediction."""
    by_label, label = prediction.probabilities, prediction.label
    if prediction.values:
        yield from _values(path, prediction)
        return
    for name, probability in by_label.items():
        if not -HALF_PRECISION <= probability <= 1 + HALF_PRECISION:
            yield f"{path}: probability of {name!r:.40} is {probability:g}, expected a number from 0 to 1"
    if label not in by_label:
        yield f"{path}: 'label' is {label!r:.40}, expected one of {listed(by_label)}"
    if list(by_label).index(label) != prediction.index:
        expected = list(by_label).index(label)
        yield f"{path}: 'index' is {prediction.index!r:.20}, expected {expected}, the index of {label!r:.40}"
    best = max(by_label, key=lambda name: by_label[name])
    if not by_label[label] >= by_label[best] - _ROUNDING:
        yield f"{path}: 'label' is {label!r:.40}, expected {best!r:.40}, the most probable class"
    stated, of_label = prediction.probability, by_label[label]
    if stated is None or not math.isclose(stated, of_label, rel_tol=1e-6, abs_tol=1e-9):
        yield f"{path}: 'probability' is {stated!r:.20}, expected {of_label:g}, the probability of {label!r:.40}"


def _values(path: str, prediction: Prediction) -> Iterator[str]:
    """Yield the problems of the prediction of a model of values, which has no probabilities."""
    for name, value in prediction.values.items():
        if not math.isfinite(value):
            yield f"{path}: value of {name!r:.40} is {value}, expected a finite number"
    if prediction.probabilities or prediction.probability is not None:
        yield f"{path} has 'values' and a probability, expected one of both: a value has no probability"
    names = list(prediction.values)
    largest = max(names, key=lambda name: prediction.values[name])
    possible = [(name, names.index(name)) for name in (names[0], largest)]
    if (prediction.label, prediction.index) not in possible:
        yield (
            f"{path}: 'label' is {prediction.label!r:.40} with index {prediction.index!r:.20}, expected "
            f"{names[0]!r:.40}, the first value, or {largest!r:.40}, the largest, with its index"
        )


def listed(labels: Iterable[str]) -> str:
    """Return the labels that a name has to be one of, for messages."""
    return f"the labels in 'probabilities', {', '.join(list(labels)[:5]):.200}"


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
        yield from _check_response(f"responses[{index}]", response, attribution)
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


def _check_response(path: str, response: Response, attribution: Attribution) -> Iterator[str]:
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
    yield from _span(
        path, window.field, window.start, window.end, {item.name: item.text for item in attribution.document}
    )
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
        f"evidence: {name}[{index}]": item
        for name, many in (("without", evidence.without), ("only", evidence.only))
        for index, item in enumerate(many)
    }
    if evidence.flip_set is not None:
        changed["evidence: flip_set"] = evidence.flip_set
    yield from _named_response("evidence", evidence.response, attribution)
    if len(evidence.without) != len(evidence.only):
        yield f"evidence: 'only' has {len(evidence.only)} entries, expected {len(evidence.without)} as in 'without'"
    labels = attribution.prediction.names
    for path, item in changed.items():
        for unit in item.units:
            yield from _unit(path, unit, attribution)
        if not item.units or len(set(item.units)) < len(item.units):
            yield f"{path}: 'units' is {list(item.units)!r:.60}, expected at least one, each once"
        if item.label not in (*labels, NO_LABEL):
            yield f"{path}: 'label' is {item.label!r:.40}, expected one of {listed(labels)}"
        low, high = -HALF_PRECISION, 1 + HALF_PRECISION
        if (item.probability is None) is not bool(attribution.prediction.values):
            yield f"{path}: 'probability' is {item.probability!r:.20}, expected a number for a class, null for a value"
        yield from _within(f"{path}: 'probability'", item.probability, low, high)
        if isinstance(item, Changed):
            yield from _within(f"{path}: 'target_probability'", item.target_probability, low, high)
            if not math.isfinite(item.response):
                yield f"{path}: 'response' is {item.response}, expected a finite number"


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


_FIELD = "text"


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int
    score: float
    standard_error: float | None


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int | None
    end: int | None
    word: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class _Note:
    code: str
    message: str
    word: int | None = None


@dataclass(frozen=True, slots=True)
class _Fit:
    r2: float | None
    split_half: float | None
    condition: float | None
    n_queries: int
    n_gradients: int
    seconds: float
    warnings: tuple[_Note, ...]

    def has(self, code: str) -> bool:
        """Return whether there is a note with this code: in schema 1 some data was held by notes."""
        return any(note.code == code for note in self.warnings)


@dataclass(frozen=True, slots=True)
class Version1:
    """A result of schema 1, with the fields of its file."""

    text: str
    prediction: Prediction
    target: str
    target_probability: float
    link: str
    response: float
    words: tuple[_Word, ...]
    tokens: tuple[_Token, ...]
    fit: _Fit
    method: Mapping[str, Any]
    model: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    truncated: Truncation | None


def upgraded(old: Version1, *, place: str) -> Attribution:
    """Return a result of schema 1 as an attribution; errors name `place`, where it was read."""
    fit, stated = old.fit, old.target_probability
    expected = old.prediction.probabilities.get(old.target, stated)
    if not math.isclose(stated, expected, rel_tol=1e-6, abs_tol=1e-9):
        raise DataError(
            f"{place}: 'target_probability' is {stated:g}, expected {expected:g}, the probability of {old.target!r:.40}"
        )
    return Attribution(
        document=(Field(_FIELD, old.text),),
        units=tuple(Unit(_FIELD, word.start, word.end, word.text) for word in old.words),
        responses=(_old_response(old),),
        tokens=tuple(_token(token) for token in old.tokens),
        prediction=old.prediction,
        fit=Fit(fit.split_half, fit.condition, fit.n_queries, fit.n_gradients, fit.seconds, _precision(old)),
        notes=tuple(Note(note.code, note.message, note.word) for note in fit.warnings),
        method=old.method,
        model=old.model,
        seed=old.seed,
        versions=old.versions,
        truncation=old.truncated,
    )


def _old_response(old: Version1) -> Response:
    scores = tuple(word.score for word in old.words)
    by_token = tuple(token.score for token in old.tokens if token.score is not None)
    return Response(
        old.target,
        old.link,
        old.response,
        scores,
        standard_errors=tuple(word.standard_error for word in old.words),
        order=tuple(ranking(scores).tolist()),
        r2=old.fit.r2,
        signed=not old.fit.has("unsigned"),
        token_scores=by_token if len(by_token) == len(old.tokens) else None,
    )


def _token(old: _Token) -> Token:
    return Token(old.text, None if old.start is None else _FIELD, old.start, old.end, old.word)


def _precision(old: Version1) -> Precision:
    """Return the precision that was used: the requested one, unless a note says otherwise."""
    half = old.method.get("precision") == "bfloat16" and not old.fit.has("float32-instead")
    return "bfloat16" if half else "float32"


SCHEMA = "mase.attribution/2"
EARLIER_SCHEMA = "mase.attribution/1"
ERROR_SCHEMA = "mase.error/1"
_LONGEST_REASON = 300
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be explained: its line (or number) in the input, the error's type and its message."""

    line: int
    error: str
    message: str


def result(document: Any, *, place: str) -> Attribution | Failure:
    """Return the attribution or the failure in a JSON document; errors name `place`."""
    if not isinstance(document, dict) or document.get("schema") != ERROR_SCHEMA:
        return from_dict(document, place=place)
    failure = _converted(document, Failure, place)
    if failure.line < 1 or not failure.error:
        raise DataError(
            f"{place}: 'line' is {failure.line} and 'error' {failure.error!r}, expected a line >= 1 and a name"
        )
    return failure


def from_dict(mapping: Mapping[str, Any], *, place: str = "the mapping") -> Attribution:
    """Return the attribution from which `to_dict` made a mapping, in schema 2 or 1; errors name `place`."""
    if not isinstance(mapping, Mapping):
        raise DataError(f"{place} holds a {type(mapping).__name__}, expected an object of schema {SCHEMA}")
    schema = mapping.get("schema")
    if schema == EARLIER_SCHEMA:
        place = f"{place} (read from schema 1)"
        return check(upgraded(_converted(mapping, Version1, place), place=place), place=place)
    if schema == SCHEMA:
        return check(_converted(mapping, Attribution, place), place=place)
    raise DataError(
        f"{place} has the schema {schema!r:.80}, expected {SCHEMA!r} or {EARLIER_SCHEMA!r}; "
        "if a later release wrote it, read it with that release"
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``mase.attribution/2``, made from the types of the fields of `Attribution`."""
    encoded = msgspec.json.encode(msgspec.json.schema(Attribution))  # with lists in the place of tuples
    schema: dict[str, Any] = msgspec.json.decode(encoded)
    for definition in schema["$defs"].values():
        definition["description"] = " ".join(definition["description"].partition("\n\n")[0].split())
    attribution, response = schema["$defs"]["Attribution"], schema["$defs"]["Response"]
    # What `mase.attribution.json` writes beside the fields.
    attribution["properties"] = {"schema": {"const": SCHEMA}} | attribution["properties"]
    attribution["required"] = ["schema", *attribution["required"]]
    response["properties"] |= {"intercept": {"type": "number"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA} | schema


def _converted(plain: Mapping[str, Any], kind: type[T], place: str) -> T:
    """Return plain JSON as a value of a type; unknown keys are ignored."""
    try:
        return msgspec.convert(dict(plain), kind)
    except (msgspec.ValidationError, ValueError) as error:  # msgspec raises a plain ValueError for a lone surrogate
        raise DataError(f"{place} does not fit its schema: {error!s:.{_LONGEST_REASON}}") from error


# Line ends of some JSONL readers, control characters of some terminals, and surrogates, which UTF-8 cannot encode.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def to_dict(attribution: Attribution) -> dict[str, Any]:
    """Return an attribution as plain JSON types: its fields by name, with the intercepts."""
    plain: dict[str, Any] = json.loads(_strict(attribution))
    return plain


def dumps(value: Attribution | Failure) -> str:
    """Return an attribution or a failure as one line of strict JSON, without the line end."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", _strict(value))


def save(attribution: Attribution, path: str | PathLike[str]) -> None:
    """Write an attribution to `path` atomically, as one line of JSON."""
    save_many([attribution], path)


def save_many(attributions: Iterable[Attribution], path: str | PathLike[str]) -> None:
    """Write attributions to `path` atomically, one per line of JSON."""
    write_text(path, "".join(dumps(attribution) + "\n" for attribution in attributions))


def load(path: str | PathLike[str]) -> Attribution:
    """Return the attribution in a JSON file, equal to the one that was saved.

    Raises
    ------
    DataError
        If the file is missing, is not JSON, or does not hold exactly one valid attribution of schema
        ``mase.attribution/2`` (or 1).
    """
    results = load_many(path)
    if not results:
        raise DataError(f"{fspath(path)!r} is empty, expected JSON of schema {SCHEMA}")
    if len(results) != 1:
        raise DataError(
            f"{fspath(path)!r} holds {len(results)} results, expected one; "
            "read it with mase.attribution.json.load_many(path)"
        )
    (loaded,) = results
    if isinstance(loaded, Failure):
        raise DataError(
            f"{fspath(path)!r} holds a failure ({loaded.error:.80}: {loaded.message:.400}), expected an attribution"
        )
    return loaded


_BEGIN = b'{"schema": "mase.'  # of every line that `dumps` writes


def load_many(path: str | PathLike[str]) -> list[Attribution | Failure]:
    """Return the results in a JSONL file (or the one in a JSON file) in order; a failed text is a `Failure`.

    An empty file has no results, as `save_many` writes it for none.

    A full disk or a killed run may leave an incomplete last line. It becomes a `Failure` with the error
    ``"DataError"``.
    """
    name, content = fspath(path), read_bytes(path).removeprefix(codecs.BOM_UTF8)
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if not lines:
        return []
    is_torn = len(lines) == 1 and not content.endswith(b"\n") and content.startswith(_BEGIN) and _is_cut(content)
    if not is_torn and (len(lines) == 1 or not _is_json(lines[0][1])):  # one document, possibly indented
        document = b"\n".join(line for _, line in lines)
        return [loads(document, place=repr(name))]
    results = [loads(line, place=f"{name!r}, line {number}") for number, line in lines[:-1]]
    number, last = lines[-1]
    if _is_json(last):
        return [*results, loads(last, place=f"{name!r}, line {number}")]
    message = f"{name!r}, line {number} is the last line and is incomplete JSON; explain that text again"
    return [*results, Failure(number, DataError.__name__, message)]


def loads(line: str | bytes, *, place: str = "the line") -> Attribution | Failure:
    """Return the attribution or failure in a line of JSON; errors name `place`."""
    return result(parse(line, place=place), place=place)


def parse(line: str | bytes, *, place: str = "the line") -> Any:
    """Return strict JSON as plain types; errors name `place`."""
    try:
        return _parse(line)
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is not UTF-8 at byte {error.start}, expected a JSON file") from error
    except ValueError as error:
        raise DataError(f"{place} is not JSON ({error}), expected schema {SCHEMA}") from error


def _strict(value: Attribution | Failure) -> str:
    """Return a result as strict JSON."""
    try:
        fields = msgspec.to_builtins(value, enc_hook=_plain)
        if isinstance(value, Failure):
            return json.dumps({"schema": ERROR_SCHEMA} | fields, ensure_ascii=False)
        return json.dumps(_completed(value, fields), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"the result cannot be written as JSON ({error}), expected plain and finite values") from error


def _completed(value: Attribution, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an attribution as plain types with the schema and what is computed from them."""
    for plain, response in zip(fields["responses"], value.responses, strict=True):
        plain.update(intercept=response.intercept)
    zoomed = None if value.zoomed is None else _completed(value.zoomed, fields["zoomed"])
    return {"schema": SCHEMA} | fields | {"zoomed": zoomed}


def _plain(value: object) -> int | float | str:
    """Return a NumPy scalar as a number or a str of Python."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _is_cut(line: bytes) -> bool:
    """Return whether a line ends too early, rather than that it has a number which is none."""
    try:
        json.loads(line)
    except RecursionError:
        return False
    except ValueError:
        return True
    return False


def _is_json(line: bytes) -> bool:
    try:
        _parse(line)
    except ValueError:
        return False
    return True


def _parse(line: str | bytes) -> Any:
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:40])


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")

"""Texts that are longer than the model reads: explain each window, test it, and pool the results.

Windows are plain explanations of parts of the text, put together: nothing else in the library knows of them.
"""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf
from typing import Any, TypeVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution.attribution import Attribution, Token, Unit, Window, WindowResponse
from mase.attribution.response import Fit, Interaction, Note, Prediction, Response, ranking
from mase.defaults import Pooling
from mase.document import Field
from mase.errors import EmptyTextError
from mase.evidence import MaskedPredictions
from mase.links import Output
from mase.models.base import Model, Probe
from mase.pipeline import text_notes
from mase.progress import Listener, Progress
from mase.solve.oracle import KnownScores
from mase.target import ALL, Question
from mase.text import Tokens
from mase.windows import LongText, WindowText


def weights(numbers: Floats, pooling: Pooling) -> Floats:
    """Return the weights `(w, k)` of w windows in the pooled probabilities or values of k columns; they sum to 1.

    Parameters
    ----------
    numbers
        Class probabilities or values `(w, k)` of the windows.
    pooling
        "mean": all windows count alike. "max": for each column the window in which it is largest; of equal ones the
        first. "first": the first window.

    Examples
    --------
    >>> weights(np.array([[0.2, 0.8], [0.6, 0.4]]), "max")
    array([[0., 1.],
           [1., 0.]])
    """
    if pooling == "mean":
        return np.full(numbers.shape, 1 / len(numbers))
    chosen = np.argmax(numbers, axis=0) if pooling == "max" else np.zeros(numbers.shape[1], dtype=np.int64)
    return np.asarray(np.arange(len(numbers))[:, None] == chosen, dtype=np.float64)


def pooled(numbers: Floats, pooling: Pooling) -> Floats:
    """Return the pooled probabilities or values `(k,)` of those of the windows `(w, k)`.

    With "max", the probabilities of classes that exclude each other may sum to more than 1.
    """
    result: Floats = (weights(numbers, pooling) * numbers).sum(axis=0)
    return result


def decider(numbers: Floats, weight: Floats) -> int:
    """Return the window of the largest number `(w,)` among those with a weight `(w,)`."""
    return int(np.argmax(np.where(weight > 0, numbers, -np.inf)))


@dataclass(frozen=True, slots=True)
class Part:
    """A window, and the attribution of its document."""

    window: WindowText
    found: Attribution

    def context(self, unit: Unit) -> float:
        """Return how far a unit is from where the window cuts the text, in characters."""
        if unit.field != self.window.field:
            return inf
        (first, last), (start, end) = self.window.span, self.window.placed(unit)
        return min(inf if self.window.is_first else start - first, inf if self.window.is_last else last - end)


T = TypeVar("T")

# A unit (or a token) of a window: the index of the window, and that of the unit in it.
Place = tuple[int, int]


def combined(document: Sequence[Field], parts: Sequence[Part], pooling: Pooling) -> Attribution:
    """Return the attribution of a document from those of its windows.

    The score of a unit, with its standard error, is that of the window in which the unit is farthest from a cut. The
    prediction and the explained numbers are the pooled ones of the windows. R2, split-half agreement and condition are
    those of the worst window, and the costs are sums.
    """
    first = parts[0].found
    shares = [_shares(parts, response.name, pooling) for response in first.responses]
    places = _best_placed(document, parts, next(i for i, share in enumerate(shares[0]) if share.decides))
    index_of = {place: index for index, place in enumerate(places)}
    tokens = _tokens(document, parts, index_of)
    return replace(
        first,
        document=tuple(document),
        units=tuple(_unit(parts[window], index) for window, index in places),
        responses=tuple(_response(parts, own, places, [place for place, _ in tokens]) for own in shares),
        tokens=tuple(token for _, token in tokens),
        prediction=_prediction([part.found.prediction for part in parts], pooling),
        fit=_fit([part.found.fit for part in parts]),
        notes=tuple(_notes(parts, index_of)),
        truncation=None,
        windows=tuple(
            Window(part.window.field, *part.window.span, part.found.prediction, tuple(own[i] for own in shares))
            for i, part in enumerate(parts)
        ),
    )


def _prediction(predictions: Sequence[Prediction], pooling: Pooling) -> Prediction:
    numbers = pooled(_numbers(predictions), pooling)
    if predictions[0].values:
        return Prediction.of_values(predictions[0].names, numbers)
    return Prediction.of(predictions[0].names, numbers, multilabel=predictions[0].multilabel)


def _numbers(predictions: Sequence[Prediction]) -> Floats:
    """Return the class probabilities or values `(w, k)` of w predictions."""
    return np.array([list((item.probabilities or item.values).values()) for item in predictions])


def _shares(parts: Sequence[Part], name: str, pooling: Pooling) -> list[WindowResponse]:
    """Return what a response is in each window, and the share of the window in the pooled one."""
    responses = [_named(part, name) for part in parts]
    predictions = [part.found.prediction for part in parts]
    numbers = np.array([response.value for response in responses])
    if name in predictions[0].names:
        numbers = _numbers(predictions)[:, predictions[0].names.index(name)]
    weight = weights(numbers[:, None], pooling)[:, 0]
    best = decider(numbers, weight)
    return [
        WindowResponse(name, response.value, response.r2, float(share), i == best)
        for i, (response, share) in enumerate(zip(responses, weight, strict=True))
    ]


def _named(part: Part, name: str) -> Response:
    return part.found.of(name).responses[0]


def _best_placed(document: Sequence[Field], parts: Sequence[Part], deciding: int) -> list[Place]:
    """Return the best-placed of the units of all windows, in reading order and without overlaps.

    Units of the other fields, which stand whole in every window, are those of the deciding window.
    """
    position = {field.name: index for index, field in enumerate(document)}
    candidates = [
        (-part.context(unit), window != deciding, window, index)
        for window, part in enumerate(parts)
        for index, unit in enumerate(part.found.units)
    ]
    taken: list[tuple[int, int, int, Place]] = []  # by field and span
    for *_, window, index in sorted(candidates):
        unit = parts[window].found.units[index]
        start, end = parts[window].window.placed(unit)
        key = (position[unit.field], start, end, (window, index))
        at = bisect_left(taken, key)
        before, after = taken[max(at - 1, 0) : at], taken[at : at + 1]
        if all(other[0] != key[0] or other[2] <= start or end <= other[1] for other in (*before, *after)):
            taken.insert(at, key)
    return [place for *_, place in taken]


def _unit(part: Part, index: int) -> Unit:
    unit = part.found.units[index]
    start, end = part.window.placed(unit)
    return replace(unit, start=start, end=end)


def _tokens(
    document: Sequence[Field], parts: Sequence[Part], index_of: Mapping[Place, int]
) -> list[tuple[Place, Token]]:
    """Return the tokens of the units, and of what is in no unit, in reading order with their places in the windows.

    Special tokens, which every window has, are left out.
    """
    position = {field.name: index for index, field in enumerate(document)}
    result: dict[tuple[Any, ...], tuple[Place, Token]] = {}
    for window, part in enumerate(parts):
        for index, token in enumerate(part.found.tokens):
            unit = None if token.unit is None else index_of.get((window, token.unit))
            if token.field is None or (unit is None and token.unit is not None):
                continue
            start, end = part.window.placed(token)
            key = (position[token.field], start, end, -1 if unit is None else index)
            result.setdefault(key, ((window, index), replace(token, start=start, end=end, unit=unit)))
    return [result[key] for key in sorted(result)]


def _response(
    parts: Sequence[Part], shares: Sequence[WindowResponse], places: Sequence[Place], tokens: Sequence[Place]
) -> Response:
    """Return a response of the document."""
    result = [_named(part, shares[0].name) for part in parts]

    def of_units(numbers: Sequence[Sequence[T]]) -> tuple[T, ...]:
        return tuple(numbers[window][index] for window, index in places)

    scores = of_units([response.scores for response in result])
    by_token = [response.token_scores for response in result if response.token_scores is not None]
    return replace(
        result[0],
        value=fsum(share.weight * share.value for share in shares),
        scores=scores,
        standard_errors=of_units([response.standard_errors for response in result]),
        total_errors=of_units([response.interval_errors for response in result]),
        order=tuple(ranking(scores).tolist()),
        r2=_worst(response.r2 for response in result),
        effects={
            name: of_units([response.effects[name] for response in result])
            for name in result[0].effects
            if all(name in response.effects for response in result)
        },
        split_half=_worst(response.split_half for response in result),
        r2_held_out=_worst(response.r2_held_out for response in result),
        exact=all(response.exact for response in result),
        signed=all(response.signed for response in result),
        token_scores=tuple(by_token[window][index] for window, index in tokens) if by_token else None,
        interactions=_interactions(result, places),
    )


def _interactions(responses: Sequence[Response], places: Sequence[Place]) -> tuple[Interaction, ...]:
    """Return the interactions of units that both have their scores from the window in which the pair was found."""
    index_of = {place: index for index, place in enumerate(places)}
    pairs = (
        replace(pair, units=(index_of[window, pair.units[0]], index_of[window, pair.units[1]]))
        for window, response in enumerate(responses)
        for pair in response.interactions
        if all((window, unit) in index_of for unit in pair.units)
    )
    return tuple(sorted(pairs, key=lambda pair: -abs(pair.score)))


def _fit(fits: Sequence[Fit]) -> Fit:
    """Return the fit of the document: the worst of its windows, and what they cost together."""
    conditions = [fit.condition for fit in fits if fit.condition is not None]
    return replace(
        fits[0],
        split_half=_worst(fit.split_half for fit in fits),
        condition=max(conditions) if len(conditions) == len(fits) else None,
        n_queries=sum(fit.n_queries for fit in fits),
        n_gradients=sum(fit.n_gradients for fit in fits),
        seconds=fsum(fit.seconds for fit in fits),
    )


def _worst(numbers: Iterable[float | None]) -> float | None:
    """Return the smallest number, None if none is known."""
    return min((number for number in numbers if number is not None), default=None)


def _notes(parts: Sequence[Part], index_of: Mapping[Place, int]) -> Iterator[Note]:
    """Yield the notes about units, and one note of each other code, which says in how many windows it is."""
    by_code: dict[tuple[str, str | None], dict[int, str]] = {}
    for window, part in enumerate(parts):
        for note in part.found.notes:
            if note.unit is None:
                by_code.setdefault((note.code, note.response), {}).setdefault(window, note.message)
            elif (window, note.unit) in index_of:
                yield replace(note, unit=index_of[window, note.unit])
    for (code, response), messages in by_code.items():
        (window, message), n = next(iter(messages.items())), len(parts)
        same = len(messages) == n and len(set(messages.values())) == 1
        where = f"in {len(messages)} of {n} windows, first in window {window + 1}: "
        yield Note(code, message if same else where + message, None, response)


# Explains the document of a window, and tells the listener, if there is one.
Explain = Callable[[WindowText, Question, Listener | None], Attribution]


def explained(
    long: LongText,
    model: Model,
    question: Question,
    explain: Explain,
    listener: Listener | None = None,
) -> Attribution:
    """Return the attribution of a long text from those of its windows, which `explain` returns.

    If the question is about the predicted class, each window is evaluated once more, for the class of highest pooled
    probability. Windows with nothing that the model reads are left out.
    """
    begun = time.perf_counter()
    read = [(window, tokens) for window in long.windows if (tokens := _read(model, window)) is not None]
    windows = [window for window, _ in read]
    n_asked, ranked = 0, tuple(range(len(model.labels)))
    if _needs_prediction(model, question):
        n_asked, ranked = len(windows), _ranked(model, windows, long.pooling)
    targets, against = question.indices(model.labels, ranked), question.against_index(model.labels)
    question = Question.about(model.labels, targets, against)
    parts: list[Part] = []
    for window in windows:
        told = None if listener is None else _told(listener, n_asked, len(windows))
        result = explain(window, question, told)
        n_asked += result.fit.n_queries
        parts.append(Part(window, _with_note(result)))
    result = combined(long.document.fields, parts, long.pooling)
    of_text = text_notes(*(tokens for _, tokens in read))
    others = [note for note in result.notes if note.code not in {item.code for item in of_text}]
    result = replace(result, notes=(*of_text, *others, *_unread(long)))
    fit = replace(result.fit, n_queries=n_asked, seconds=time.perf_counter() - begun)
    return replace(result, fit=fit)


def _unread(long: LongText) -> list[Note]:
    """Return a note if parts of the text are in no window, because units that the user chose are not there."""
    text, done, n_unread = long.document.fields[long.index].text, 0, 0
    for start, end in (*long.spans, (len(text), len(text))):
        n_unread += len(text[done:start].strip())
        done = max(done, end)
    message = (
        f"{n_unread:,} of the {len(text):,} characters of {long.document.fields[long.index].name!r} are in windows "
        "without units, which were not read: the prediction and the explained number are those of the other windows"
    )
    return [Note("cut-off", message)] if n_unread else []


def _read(model: Model, window: WindowText) -> Tokens | None:
    """Return the tokens of a window, None if it has nothing that the model reads."""
    try:
        tokens = model.encode(window.document)
    except EmptyTextError:
        return None
    return None if all(tokens.fixed) else tokens


def _needs_prediction(model: Model, question: Question) -> bool:
    """Return whether the classes that are explained depend on the prediction."""
    of_values = model.returns_values
    return not of_values and (question.target is None or question.target == ALL)


def _ranked(model: Model, windows: Sequence[WindowText], pooling: Pooling) -> tuple[int, ...]:
    """Return the classes, that of highest pooled probability first, from one evaluation per window."""
    numbers = np.asarray(model.predict([window.document for window in windows]), dtype=np.float64)
    return Prediction.of(model.labels, pooled(numbers, pooling)).ranked


def _told(listener: Listener, n_asked: int, n_windows: int) -> Listener:
    """Return a listener of one window that tells the listener of the whole text, after `n_asked` evaluations."""
    return lambda progress: listener(Progress(n_asked + progress.n_asked, n_windows * progress.n_samples))


def _with_note(attribution: Attribution) -> Attribution:
    """Return the attribution of a window; one that is cut off is a single unit, and gets a note that says so."""
    cut = attribution.truncation
    if cut is None:
        return attribution
    message = f"this unit is longer than the model reads: it read {cut.n_kept:,} of its {cut.n_total:,} tokens"
    return replace(attribution, notes=(*attribution.notes, Note("cut-off", message, 0)))


@dataclass(frozen=True, slots=True)
class MaskedWindow:
    """A window, its units, and the predictions for it with units masked, after `n_setup` evaluations."""

    window: WindowText
    units: Sequence[Unit]
    predictions: MaskedPredictions
    n_setup: int

    def overlapping(self, units: Sequence[Unit]) -> list[list[int]]:
        """Return for each unit of the window the indices of the units of the text that it overlaps."""
        result = []
        own = [(unit.end, index) for index, unit in enumerate(units) if unit.field == self.window.field]
        others = {unit: index for index, unit in enumerate(units) if unit.field != self.window.field}
        for unit in self.units:
            start, end = self.window.placed(unit)
            first = bisect_right(own, (start, len(units)))
            overlapping = [index for _, index in own[first:] if units[index].start < end]
            result.append(overlapping if unit.field == self.window.field else [others[unit]])
        return result


def masked(attribution: Attribution, windows: Sequence[MaskedWindow], n_rows: int) -> MaskedPredictions:
    """Return the pooled predictions for a long text with some of its units masked, from at most `n_rows` rows.

    A row costs one evaluation for each window that has one of the masked units.
    """
    first, units = windows[0].predictions, attribution.units
    probe = _WindowsProbe(windows, [window.overlapping(units) for window in windows], len(units))
    reading = _PooledReading([window.predictions for window in windows], attribution.method["pooling"], first.target)
    columns = [np.array([index]) for index in range(len(units))]
    return MaskedPredictions(
        probe, columns, first.labels, first.target, first.link, KnownScores(), n_rows, other_reading=reading
    )


def with_evidence(attribution: Attribution, windows: Sequence[MaskedWindow], k: int) -> Attribution:
    """Return the attribution of a long text with evidence about its best k units, for the pooled prediction."""
    n_rows = max(window.predictions.budget for window in windows)
    evidence = masked(attribution, windows, n_rows).evidence(attribution.responses[0].order, k)
    n_asked = sum(window.predictions.n_asked + window.n_setup for window in windows)
    return replace(
        attribution, evidence=evidence, fit=replace(attribution.fit, n_queries=attribution.fit.n_queries + n_asked)
    )


@dataclass(frozen=True, slots=True)
class _WindowsProbe(Probe):
    """A long text with a coordinate for each unit; its scores are those of all windows. See `mase.models.base`."""

    windows: Sequence[MaskedWindow]
    overlapping: Sequence[Sequence[Sequence[int]]]
    n_units: int
    n_setup: int = 0
    batch_size: int = 64

    @property
    def output(self) -> Output:
        return self.windows[0].predictions.probe.output

    @property
    def scale(self) -> Floats:
        return np.ones(self.n_units)

    @property
    def start(self) -> Floats:
        return np.concatenate([window.predictions.probe.start for window in self.windows], axis=1)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        del rows
        result = []
        for window, overlapping in zip(self.windows, self.overlapping, strict=True):
            own = np.ones((len(coordinates), len(window.predictions.probe.scale)))
            for unit, others in enumerate(overlapping):
                if others:
                    own[:, window.predictions.coordinates[unit]] = coordinates[:, others].min(axis=1)[:, None]
            result.append(np.array(window.predictions.scores(list(own))))
        return np.concatenate(result, axis=1)


@dataclass(frozen=True, slots=True)
class _PooledReading:
    """Reads the scores `(n, w k)` of w windows as one prediction. See `mase.evidence.Reading`."""

    windows: Sequence[MaskedPredictions]
    pooling: Pooling
    target: int

    @property
    def of_values(self) -> bool:
        return self.windows[0].reading.of_values

    @property
    def ranked(self) -> bool:
        return self.windows[0].reading.ranked

    @property
    def multilabel(self) -> bool:
        return self.windows[0].reading.multilabel

    def predictions(self, scores: Floats) -> Floats:
        return np.array([pooled(numbers, self.pooling) for numbers in self._numbers(scores)])

    def responses(self, scores: Floats) -> Floats:
        blocks = np.split(scores, len(self.windows), axis=1)
        responses = [window.reading.responses(block) for window, block in zip(self.windows, blocks, strict=True)]
        shares = [weights(numbers[:, [self.target]], self.pooling)[:, 0] for numbers in self._numbers(scores)]
        result: Floats = (np.array(shares) * np.transpose(responses)).sum(axis=1)
        return result

    def best(self, scores: Floats) -> int:
        return int(np.argmax(self.predictions(scores[None])[0]))

    def _numbers(self, scores: Floats) -> Floats:
        """Return the class probabilities or values `(n, w, k)` of the windows."""
        blocks = np.split(scores, len(self.windows), axis=1)
        return np.stack([self.windows[0].reading.predictions(block) for block in blocks], axis=1)

"""Put the attributions of the windows of a text together."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf
from typing import Any, TypeVar

import numpy as np

from mase.arrays import Floats
from mase.attribution import (
    Attribution,
    Fit,
    Interaction,
    Note,
    Prediction,
    Response,
    Token,
    Unit,
    Window,
    WindowResponse,
    ranking,
)
from mase.choices import Pooling
from mase.document import Field
from mase.windows.long_text import WindowText
from mase.windows.pooling import decider, pooled, weights

__all__ = ["Part", "combined"]


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


def _prediction(found: Sequence[Prediction], pooling: Pooling) -> Prediction:
    numbers = pooled(_numbers(found), pooling)
    if found[0].values:
        return Prediction.of_values(found[0].names, numbers)
    return Prediction.of(found[0].names, numbers, multilabel=found[0].multilabel)


def _numbers(found: Sequence[Prediction]) -> Floats:
    """Return the class probabilities or values `(w, k)` of w predictions."""
    return np.array([list((one.probabilities or one.values).values()) for one in found])


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
    found: dict[tuple[Any, ...], tuple[Place, Token]] = {}
    for window, part in enumerate(parts):
        for index, token in enumerate(part.found.tokens):
            unit = None if token.unit is None else index_of.get((window, token.unit))
            if token.field is None or (unit is None and token.unit is not None):
                continue
            start, end = part.window.placed(token)
            key = (position[token.field], start, end, -1 if unit is None else index)
            found.setdefault(key, ((window, index), replace(token, start=start, end=end, unit=unit)))
    return [found[key] for key in sorted(found)]


def _response(
    parts: Sequence[Part], shares: Sequence[WindowResponse], places: Sequence[Place], tokens: Sequence[Place]
) -> Response:
    """Return a response of the document."""
    found = [_named(part, shares[0].name) for part in parts]

    def of_units(numbers: Sequence[Sequence[T]]) -> tuple[T, ...]:
        return tuple(numbers[window][index] for window, index in places)

    scores = of_units([response.scores for response in found])
    by_token = [response.token_scores for response in found if response.token_scores is not None]
    return replace(
        found[0],
        value=fsum(share.weight * share.value for share in shares),
        scores=scores,
        standard_errors=of_units([response.standard_errors for response in found]),
        total_errors=of_units([response.interval_errors for response in found]),
        order=tuple(ranking(scores).tolist()),
        r2=_worst(response.r2 for response in found),
        effects={
            name: of_units([response.effects[name] for response in found])
            for name in found[0].effects
            if all(name in response.effects for response in found)
        },
        split_half=_worst(response.split_half for response in found),
        r2_held_out=_worst(response.r2_held_out for response in found),
        exact=all(response.exact for response in found),
        signed=all(response.signed for response in found),
        token_scores=tuple(by_token[window][index] for window, index in tokens) if by_token else None,
        interactions=_interactions(found, places),
    )


def _interactions(found: Sequence[Response], places: Sequence[Place]) -> tuple[Interaction, ...]:
    """Return the interactions of units that both have their scores from the window in which the pair was found."""
    index_of = {place: index for index, place in enumerate(places)}
    pairs = (
        replace(pair, units=(index_of[window, pair.units[0]], index_of[window, pair.units[1]]))
        for window, response in enumerate(found)
        for pair in response.interactions
        if all((window, unit) in index_of for unit in pair.units)
    )
    return tuple(sorted(pairs, key=lambda pair: -abs(pair.score)))


def _fit(found: Sequence[Fit]) -> Fit:
    """Return the fit of the document: the worst of its windows, and what they cost together."""
    conditions = [fit.condition for fit in found if fit.condition is not None]
    return replace(
        found[0],
        split_half=_worst(fit.split_half for fit in found),
        condition=max(conditions) if len(conditions) == len(found) else None,
        n_queries=sum(fit.n_queries for fit in found),
        n_gradients=sum(fit.n_gradients for fit in found),
        seconds=fsum(fit.seconds for fit in found),
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

"""Read schema ``mase.attribution/1`` of releases before 0.2: one text, one class, and scores as part of the words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mase.attribution import Attribution, Field, Fit, Note, Precision, Prediction, Response, Token, Unit, ranking
from mase.errors import DataError
from mase.text import Truncation

__all__ = ["Version1", "upgraded"]

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
    """Return a result of schema 1 as an attribution; errors name `place`, where it was read.

    Raises
    ------
    DataError
        If it has two different probabilities for its class.
    """
    fit, stated = old.fit, old.target_probability
    expected = old.prediction.probabilities.get(old.target, stated)
    if not math.isclose(stated, expected, rel_tol=1e-6, abs_tol=1e-9):
        raise DataError(
            f"{place}: 'target_probability' is {stated:g}, expected {expected:g}, the probability of {old.target!r:.40}"
        )
    return Attribution(
        document=(Field(_FIELD, old.text),),
        units=tuple(Unit(_FIELD, word.start, word.end, word.text) for word in old.words),
        responses=(_response(old),),
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


def _response(old: Version1) -> Response:
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

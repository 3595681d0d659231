"""Parts of a result: prediction, responses, interactions, notes, fit, and answers with their sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, log
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np

from mase.arrays import Floats, Ints, as_floats
from mase.defaults import Precision, check_integer
from mase.errors import OptionError
from mase.registry import unknown

# Number of strongest words that displays list. Split-half agreement is computed for as many words.
LISTED = 8


@dataclass(frozen=True, slots=True)
class Note:
    """A note for the reader of the scores, with a `code` for programs and a `message` for people.

    `unit` is the index of the unit that the note is about, or None if it is about the document. `response` is the name
    of the response that it is about, or None if it is about all of them. A note holds no data: a program finds what it
    needs in the fields of the attribution.
    """

    code: str
    message: str
    unit: int | None = None
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """How repeatable the scores of the first response are, and what all cost. `Response.r2` says how much they explain.

    Attributes
    ----------
    split_half
        How well two halves of the sample agree on the 8 strongest words (on the stronger half of a text of fewer than
        16 words). It is the share of the summed absolute scores of these words that belongs to words which a half also
        has among its own 8 strongest, averaged over both halves. None if a half is too small.
    condition
        Condition number of the design's second-moment matrix, relative to its distribution; 1 is ideal.
    n_queries, n_gradients
        Number of model evaluations (rows), forward only and with a backward pass. The check of a torch module, a few
        rows once, is not counted (`mase.models.torch.probe`).
    seconds
        Wall time of the explanation.
    precision
        "bfloat16" if half precision was requested and used, otherwise "float32", also for a model whose own weights
        have another type. The requested precision is among the settings of the method.
    """

    split_half: float | None
    condition: float | None
    n_queries: int
    n_gradients: int
    seconds: float = field(compare=False)
    precision: Precision = "float32"


# Units of the library; others are called units.
_NOUNS = dict.fromkeys(("word", "wordpunct", "token", "dictionary"), "word") | {
    name: name for name in ("phrase", "sentence", "line", "paragraph", "document")
}


def noun_of(method: Mapping[str, Any]) -> str:
    """Return the noun for one unit of a method's settings: "word", "sentence", ... or "unit".

    Examples
    --------
    >>> noun_of({"units": "sentence(language=de)"}), noun_of({"units": "re:a"}), noun_of({})
    ('sentence', 'unit', 'word')
    """
    return _NOUNS.get(str(method.get("units", "word")).partition("(")[0], "unit")


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable class, or the values of a model that has no classes.

    Attributes
    ----------
    label, index
        The most probable class and its index; of several values, the first, or the largest if they rank classes.
    probability
        Its probability; None for a value.
    probabilities
        Probabilities of all classes by label; empty for a model of values.
    values
        The values by name; empty for a classifier.
    multilabel
        Whether the classes are separate questions, so that several can be true, rather than one of them. None for
        values, and in results of releases that did not record it.
    """

    label: str
    index: int
    probability: float | None
    probabilities: Mapping[str, float] = field(hash=False)
    values: Mapping[str, float] = field(default_factory=dict, hash=False)
    multilabel: bool | None = None

    @classmethod
    def of(cls, labels: Sequence[str], probabilities: Floats, *, multilabel: bool | None = None) -> Self:
        """Return the prediction for probabilities `(k,)` of k labels; of equally probable classes the first wins."""
        index = int(np.argmax(probabilities))
        by_label = _by_name(labels, probabilities)
        return cls(labels[index], index, float(probabilities[index]), by_label, multilabel=multilabel)

    @classmethod
    def of_values(cls, names: Sequence[str], values: Floats, *, ranked: bool = False) -> Self:
        """Return the prediction of k named values `(k,)`; of `ranked` ones, the scores of classes, the largest."""
        index = int(np.argmax(values)) if ranked else 0
        return cls(names[index], index, None, {}, _by_name(names, values))

    @property
    def ranked(self) -> tuple[int, ...]:
        """Indices of the classes, the most probable first; of values, the predicted one, then the others in order."""
        if self.values:
            return (self.index, *(index for index in range(len(self.values)) if index != self.index))
        return tuple(np.argsort(np.negative(list(self.probabilities.values())), kind="stable").tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the k classes or values."""
        return tuple(self.probabilities or self.values)


def _by_name(names: Sequence[str], numbers: Floats) -> dict[str, float]:
    return dict(zip(names, numbers.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Interaction:
    """A pair of units that together change the response by more, or less, than the sum of what each of them changes.

    The score of units i and j is the mean of F(i and j kept) - F(i kept) - F(j kept) + F(none of both kept), where F is
    the response, over the rows of the design for the other units. The scores of the units themselves do not depend on
    it. `docs/mathematics.md` has the formula, and says which pairs are tried and which of them are found.

    Attributes
    ----------
    units
        Indices of both units, in reading order.
    score
        How much more the response changes when both are kept than the sum of what each changes, in the unit of the
        response. Below 0, each does less, or the opposite, beside the other.
    standard_error
        Its standard error; 0 if all rows were evaluated.
    half_width
        Half the width of its interval, which is wider than that of a score: with a probability of 95 %, the intervals
        of all pairs that were tried hold. Otherwise those that are found, because they look strong, would miss.
    share
        Share of the variance of the response that the pair explains and the scores cannot.
    """

    units: tuple[int, int]
    score: float
    standard_error: float
    half_width: float
    share: float


By = Literal["order", "score", "magnitude"]

# The effects of a unit between which a method may tell: of `mase` the first is the score.
EFFECTS = ("removed", "kept")

# Half the width of a 95 % interval in standard errors (normal distribution).
Z95 = 1.959964

# Digits of scores, as shares of the largest, that are no rounding; and the least difference that is none.
_DIGITS, _SAME = 9, 2e-9


def error_of(effect: str) -> str:
    """Return the name of the standard errors of an effect."""
    return f"{effect}_error"


def total_error_of(effect: str) -> str:
    """Return the name of the total errors of an effect."""
    return f"{effect}_total_error"


def ranking(scores: Any) -> Ints:
    """Return the order `(w,)` of units by descending signed scores `(w,)`, ties by position in the text.

    The unit that increases the response of the explained class most comes first, and the one that decreases it most
    comes last. Scores are tied that differ by rounding, less than 1e-9 of the largest.

    Raises
    ------
    ShapeError, NonFiniteError
        If the scores are not w finite numbers.

    Examples
    --------
    >>> ranking([0.1, -2.0, 0.5, 0.1]).tolist()
    [2, 0, 3, 1]
    """
    return np.argsort(-_rounded(as_floats(scores, (None,), "scores")), kind="stable").astype(np.int64)


def in_order(scores: Any, order: Any) -> bool:
    """Return whether an order `(w,)` is by descending scores `(w,)`, but for ties and rounding."""
    steps = np.diff(_rounded(as_floats(scores, (None,), "scores"))[np.asarray(order, dtype=np.int64)])
    return bool((steps <= _SAME).all())


def _rounded(scores: Floats) -> Floats:
    """Return scores `(w,)` as shares of the largest, without their last digits, which are rounding."""
    largest = np.abs(scores).max(initial=0.0)
    return np.round(scores / largest, _DIGITS) if largest else scores


@dataclass(frozen=True, slots=True)
class Response:
    """One explained number of a model, and the scores of the w units for it.

    Attributes
    ----------
    name
        Label of the explained class, or name of the explained value.
    link
        Which number of the class is explained (see `mase.links`).
    value
        The explained number for the unmasked document (in windows, their weighted mean). Scores and standard errors
        have its unit.
    scores
        w scores. A positive score increases the response.
    standard_errors
        w standard errors of the scores, which are those between seeds. None for scores that are not estimates (such as
        random ones); they have no interval.
    total_errors
        w errors of the scores as distances from those of endless rows: the standard errors, and what a penalty takes
        from a score with every seed. Displays show intervals of these. None if they are the standard errors.
    order
        Indices of the w units, best first, as metrics and top lists use them. It is the `ranking` of the scores unless
        the method has its own order.
    r2
        Share of the response's variance over all rows that the scores explain, adjusted for the number of coordinates.
        It is at most 1, and negative if the scores predict worse than a constant. None if there are too few rows to
        estimate it.
    effects
        Further effects of the w units by name, and their standard and total errors (`error_of`, `total_error_of`). Of
        `mase` it is ``kept``, what a unit brings with it where most weak units are masked; its scores are what is lost
        without a unit where most of the other strong ones are masked. Of `mase-rationale` it is that one, ``removed``.
        Empty for other methods.
    r2_held_out
        Share of the variance within the rounds of the design that the scores explain in rows that were left out of the
        fit (`mase.solve.quality`). None if there are too few rows, or if all possible rows were asked.
    exact
        Whether the model was evaluated on all possible rows, so that nothing was sampled. False if a method does not
        say.
    signed
        Whether the sign of a score says if its unit increases or decreases the response. Otherwise a score is a
        magnitude.
    token_scores
        t scores of the tokens, 0 for special tokens. None if the tokens of a unit were masked together, so that a token
        has no score of its own.
    against
        Label of the class that this one is compared with: the explained number is then the difference of both. None if
        the class is not compared with another one.
    split_half
        How well two halves of the sample agree on the strongest words; see `Fit`.
    interactions
        The pairs of units that matter together, of largest absolute score first (see `Interaction`). Empty if none
        does, or if the rows of the method do not tell pairs apart.
    """

    name: str
    link: str
    value: float
    scores: tuple[float, ...]
    standard_errors: tuple[float | None, ...]
    order: tuple[int, ...]
    r2: float | None
    effects: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    r2_held_out: float | None = None
    exact: bool = False
    signed: bool = True
    token_scores: tuple[float, ...] | None = None
    against: str | None = None
    split_half: float | None = None
    interactions: tuple[Interaction, ...] = ()
    total_errors: tuple[float | None, ...] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        link: str,
        value: float,
        scores: Floats,
        standard_errors: Floats,
        *,
        r2: float | None,
        r2_held_out: float | None = None,
        signed: bool = True,
        exact: bool = False,
        token_scores: Floats | None = None,
        against: str | None = None,
        split_half: float | None = None,
        interactions: tuple[Interaction, ...] = (),
        total_errors: Floats | None = None,
        effects: Mapping[str, tuple[float, ...]] = MappingProxyType({}),
    ) -> Self:
        """Return a response with scores `(w,)`, standard errors `(w,)` (NaN if missing) and token scores `(t,)`."""
        return cls(
            name,
            link,
            value,
            scores=tuple(scores.tolist()),
            standard_errors=tuple(None if isnan(error) else error for error in standard_errors.tolist()),
            order=tuple(ranking(scores).tolist()),
            r2=r2,
            r2_held_out=r2_held_out,
            signed=signed,
            exact=exact,
            token_scores=None if token_scores is None else tuple(token_scores.tolist()),
            against=against,
            split_half=split_half,
            interactions=interactions,
            total_errors=None if total_errors is None else tuple(total_errors.tolist()),
            effects=dict(effects),
        )

    def best(self, k: int, by: By = "order") -> Ints:
        """Return the indices `(k,)` of the best units: in the order of the method, by signed or by absolute score.

        Raises
        ------
        OptionError
            If k is negative, or `by` is none of the three.
        """
        check_integer("k", k, 0)
        if by not in get_args(By):
            raise OptionError(f"by is {by!r}, expected 'order', 'score' or 'magnitude'")
        scores = np.array(self.scores, dtype=np.float64)
        order = self.order if by == "order" else ranking(np.abs(scores) if by == "magnitude" else scores)
        return np.array(order[: int(k)], dtype=np.int64)

    @property
    def effect_names(self) -> tuple[str, ...]:
        """Names of the further effects, each of which has standard errors."""
        return tuple(name for name in self.effects if error_of(name) in self.effects)

    def effect(self, name: str) -> Self:
        """Return the response with one of its further effects as the scores.

        What is known of the scores alone, how well they fit among it, is left out.

        Raises
        ------
        UnknownNameError
            If there is no such effect.
        """
        if name not in self.effect_names:
            raise unknown("effect", name, list(self.effect_names))
        scores, errors = self.effects[name], self.effects[error_of(name)]
        total = self.effects.get(total_error_of(name))
        return replace(
            self,
            scores=scores,
            standard_errors=errors,
            total_errors=total,
            order=tuple(ranking(scores).tolist()),
            r2=None,
            r2_held_out=None,
            split_half=None,
            token_scores=None,
            interactions=(),
            effects={},
        )

    @property
    def interval_errors(self) -> tuple[float | None, ...]:
        """The w errors of which intervals are shown: the total errors, or the standard errors without these."""
        return self.standard_errors if self.total_errors is None else self.total_errors

    @property
    def title(self) -> str:
        """What is explained, for people: the name, or "pos rather than neg"."""
        return self.name if self.against is None else f"{self.name} rather than {self.against}"

    @property
    def intercept(self) -> float:
        """gamma_0 of the paper's Property "local accuracy": the value minus the sum of the scores."""
        return self.value - float(sum(self.scores))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer, such as a sentence: its span, and the name of the response that explains it."""

    start: int
    end: int
    response: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a language model.

    Attributes
    ----------
    text
        The answer.
    parts
        Its explained parts in order; one that is the whole answer if there are no others.
    generated
        Whether the model gave this answer to the whole prompt. Otherwise somebody else did.
    """

    text: str
    parts: tuple[Part, ...]
    generated: bool

    def about(self, response: str) -> Self:
        """Return the answer with the one part that a response explains: the whole answer, if it explains no other."""
        parts = tuple(part for part in self.parts if part.response == response)
        return replace(self, parts=parts or (Part(0, len(self.text), response),))


MOST_CITED = 3

# Of all units of a document together, in either direction.
_WRONG = 0.05

# Displays do not mark a unit below this share of the largest absolute score.
_LEAST_SHARE = 0.1

# Any text around a question moves the answer a little, also where the model knows it by itself. A source makes its odds
# (or probability) ten times as high.
_LEAST_SCORE = dict.fromkeys(("logit", "log-probability"), log(10))


@dataclass(frozen=True, slots=True)
class Citation:
    """A unit of the document that is a source of a part of the answer.

    `unit` is the index of the unit, and `score` its score for the part, which is positive. `standard_error` has the
    unit of the score.
    """

    unit: int
    score: float
    standard_error: float


def cited(response: Response) -> tuple[Citation, ...]:
    """Return the units that are the sources of a part with this response: at most three, strongest first.

    A unit is a source if it makes the odds (or probability) of the part at least ten times as high, and its score is
    above 0 beyond the sampling error of all units together and no less than a tenth of the largest absolute one.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.array([0.5, 0.3, 0.5])
    >>> response = Response.of("answer", "logit", 2.0, np.array([4.0, 0.2, -3.0]), errors, r2=0.9)
    >>> cited(response)
    (Citation(unit=0, score=4.0, standard_error=0.5),)
    """
    if not response.signed or not response.scores:
        return ()
    # The joint interval of w units (Bonferroni): the strongest of a hundred units without any effect would otherwise
    # be cited nearly always.
    width = NormalDist().inv_cdf(1 - _WRONG / 2 / len(response.scores))
    least = max(_LEAST_SHARE * max(map(abs, response.scores)), _LEAST_SCORE.get(response.link, 0.0))
    result = [
        Citation(unit, score, error)
        for unit, (score, error) in enumerate(zip(response.scores, response.standard_errors, strict=True))
        if error is not None and score > width * error and score >= least
    ]
    return tuple(sorted(result, key=lambda item: -item.score)[:MOST_CITED])

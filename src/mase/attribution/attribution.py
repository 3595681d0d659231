"""The result of an explanation: units and tokens with their scores, and lists of results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, overload

import numpy as np

from mase.arrays import Floats, Ints, frozen
from mase.attribution.evidence import Evidence, Verdict, expected_probability, expected_response, verdict_on
from mase.attribution.response import (
    Answer,
    By,
    Citation,
    Fit,
    Interaction,
    Note,
    Prediction,
    Response,
    cited,
    error_of,
    noun_of,
    total_error_of,
)
from mase.defaults import check_choice
from mase.document import Document, Field
from mase.errors import DataError, MissingDependencyError
from mase.registry import unknown
from mase.text import Span, Truncation

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a field that is kept or masked as one and gets one score: a word, a token or a phrase.

    `start` and `end` are its span in the text of the field, in code points, and `text` is the text of that span.
    """

    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token as the model read it.

    `start` and `end` are its span in the text of `field`, and `unit` is the index of its unit. All four are None for
    special tokens.
    """

    text: str
    field: str | None
    start: int | None
    end: int | None
    unit: int | None


@dataclass(frozen=True, slots=True)
class WindowResponse:
    """One explained number in a window.

    Attributes
    ----------
    name
        Label of the explained class, or name of the explained value.
    value
        The explained number for the unmasked window. The scores of the units in the window have its unit.
    r2
        Share of its variance that the scores of the window explain; None if there are too few rows to estimate it.
    weight
        Weight of the window in the pooled prediction of this class or value. The weights of all windows sum to 1.
    decides
        Whether it is the window of highest probability (or value) among those that have a weight. One window decides.
    """

    name: str
    value: float
    r2: float | None
    weight: float
    decides: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a field that the model read and that was explained by itself.

    Attributes
    ----------
    field, start, end
        The field, and the span in its text.
    prediction
        Prediction for the window.
    responses
        The explained numbers, by the names of the responses of the attribution.
    """

    field: str
    start: int
    end: int
    prediction: Prediction
    responses: tuple[WindowResponse, ...]

    def of(self, name: str) -> WindowResponse:
        """Return the explained number of this name.

        Raises
        ------
        UnknownNameError
            If no response has this name.
        """
        result = next((response for response in self.responses if response.name == name), None)
        if result is None:
            raise unknown("response", name, [response.name for response in self.responses])
        return result


@dataclass(frozen=True, slots=True)
class Word:
    """A unit with its score for one response: a view of an `Attribution`.

    `start` and `end` are its span in the text of `field`. `standard_error` has the unit of `score`, and so has
    `total_error`, the half width of whose 95 % interval displays show (`Response`). Both are None if the score is not
    an estimate.
    """

    text: str
    start: int
    end: int
    field: str
    score: float
    standard_error: float | None
    total_error: float | None = None

    def __str__(self) -> str:
        return self.text


def words_of(units: Sequence[Unit], response: Response) -> tuple[Word, ...]:
    """Return the units with their scores for a response."""
    return tuple(
        Word(unit.text, unit.start, unit.end, unit.field, score, error, total)
        for unit, score, error, total in zip(
            units, response.scores, response.standard_errors, response.interval_errors, strict=True
        )
    )


def frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> "pd.DataFrame":
    """Return a data frame of rows by column name, such as those of `mase.attribution.attribution`.

    Without rows it has these `columns`.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            f"pandas cannot be imported ({error}); run: pip install 'mase-xai[data]'"
        ) from error
    records = list(rows)
    result = pd.DataFrame.from_records(records) if records else pd.DataFrame(columns=columns)
    floats = [name for name in ("standard_error", "total_error", "probability") if name in result]
    return result.astype(dict.fromkeys(floats, float))  # NaN for None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Scores of the w units of a document for the m responses of a model, with error bars, fit quality and provenance.

    `scores`, `top`, the displays and everything else that concerns a single response use the first one, which is the
    leading one (see `Explainer`). `of` puts another one first. A positive score increases the response of `target`, and
    a negative score decreases it. Of a language model, the responses are those of its `answer`, first of the whole of
    it, then of its parts. `zoomed` has the words of the strongest units, with all else in place; its cost is its own.

    A text that is too long for the model may be explained in `windows`, which are empty otherwise. A score is then the
    effect of a unit on the response of one window, the one in which it is farthest from a cut, and not on that of the
    text. The prediction and the responses of the text are pooled from those of the windows.
    """

    document: tuple[Field, ...]
    units: tuple[Unit, ...]
    responses: tuple[Response, ...]
    tokens: tuple[Token, ...]
    prediction: Prediction
    fit: Fit
    notes: tuple[Note, ...]
    method: Mapping[str, Any] = field(hash=False)
    model: Mapping[str, Any] = field(hash=False)
    seed: int
    versions: Mapping[str, str] = field(hash=False)
    truncation: Truncation | None
    evidence: Evidence | None = None
    zoomed: "Attribution | None" = None
    windows: tuple[Window, ...] = ()
    answer: Answer | None = None

    @property
    def text(self) -> str:
        """The text of the only field, or the texts of several fields, one per line."""
        return Document(self.document).text

    @property
    def words(self) -> tuple[str, ...]:
        """Texts of the w units, in reading order."""
        return tuple(unit.text for unit in self.units)

    @property
    def units_name(self) -> str | None:
        """Name of the units, as `Explainer(units=...)` takes it; None if it is not recorded.

        What versions before 0.3 called words are `wordpunct` now.
        """
        name: str | None = self.method.get("units")
        before = self.versions.get("mase-xai", "").startswith(("0.1.", "0.2."))
        return "wordpunct" if before and name in (None, "word") else name

    @property
    def spans(self) -> tuple[Span, ...]:
        """Spans `(start, end)` of the w units, each in the text of its field."""
        return tuple((unit.start, unit.end) for unit in self.units)

    @property
    def target(self) -> str:
        """Name of the first response: the label of the explained class, or the name of the explained value."""
        return self.responses[0].name

    @property
    def title(self) -> str:
        """What the first response explains, for people: a label, or "pos rather than neg"."""
        return self.responses[0].title

    @property
    def target_probability(self) -> float | None:
        """Probability of the explained class; None for a value."""
        return self.prediction.probabilities.get(self.target)

    @property
    def link(self) -> str:
        """The link: which number of the class is explained, such as its probability or its margin."""
        return self.responses[0].link

    @property
    def response(self) -> float:
        """The explained number for the unmasked document."""
        return self.responses[0].value

    @property
    def intercept(self) -> float:
        """gamma_0 of the paper's Property "local accuracy": response minus the sum of the scores."""
        return self.responses[0].intercept

    @property
    def r2(self) -> float | None:
        """Share of the response's variance that the scores explain; None if there are too few rows to estimate it."""
        return self.responses[0].r2

    @property
    def r2_held_out(self) -> float | None:
        """The same share in rows that the fit left out, within the rounds of the design; None if there are none."""
        return self.responses[0].r2_held_out

    @property
    def verdict(self) -> Verdict:
        """Whether the scores are reliable or to be read with care, and why; computed from the errors and the notes."""
        return verdict_on(self.responses[0], self.own_notes, self.noun)

    @property
    def noun(self) -> str:
        """What one unit is called: "word", "sentence", ... or "unit"."""
        return noun_of(self.method)

    @property
    def own_notes(self) -> tuple[Note, ...]:
        """The notes that concern the first response: those about it, and those about all."""
        return tuple(note for note in self.notes if note.response in (None, self.target))

    @property
    def signed(self) -> bool:
        """Whether the sign of a score says if its unit increases or decreases the response."""
        return self.responses[0].signed

    @property
    def scores(self) -> Floats:
        """Scores `(w,)` of the units, read-only."""
        return frozen(np.array(self.responses[0].scores, dtype=np.float64))

    @property
    def standard_errors(self) -> Floats:
        """Standard errors `(w,)` of the scores between seeds, read-only; NaN for scores without one."""
        return frozen(np.array(self.responses[0].standard_errors, dtype=np.float64))

    @property
    def total_errors(self) -> Floats:
        """Errors `(w,)` of the scores as distances from those of endless rows, read-only; NaN for scores without one.

        Displays show 95 % intervals of 1.96 times these.
        """
        return frozen(np.array(self.responses[0].interval_errors, dtype=np.float64))

    @property
    def order(self) -> Ints:
        """Indices `(w,)` of the units, best first, read-only: the method's order, by default their ranking."""
        return frozen(np.array(self.responses[0].order, dtype=np.int64))

    @property
    def word_scores(self) -> tuple[Word, ...]:
        """The w units with their scores, in reading order."""
        return words_of(self.units, self.responses[0])

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """The pairs of units that matter together, of largest absolute score first; empty if none does."""
        return self.responses[0].interactions

    @property
    def citations(self) -> tuple[tuple[Citation, ...], ...]:
        """The sources of each part of the answer, strongest first (`mase.attribution.response`); empty without one."""
        parts = () if self.answer is None else self.answer.parts
        return tuple(cited(self.of(part.response).responses[0]) for part in parts)

    def of(self, name: str) -> Self:
        """Return the attribution with the response `name` first, so that its scores are used and displayed.

        Nothing is evaluated. The evidence is still that of the response that it names.

        Raises
        ------
        UnknownNameError
            If no response has this name.
        """
        first = next((response for response in self.responses if response.name == name), None)
        if first is None:
            raise unknown("response", name, [response.name for response in self.responses])
        if first is self.responses[0]:
            return self
        others = (response for response in self.responses if response is not first)
        return replace(self, responses=(first, *others), fit=replace(self.fit, split_half=first.split_half))

    def measured_by(self, measure: str) -> Self:
        """Return the attribution by another measure of the same answers of a chat model, such as "overlap".

        Nothing is asked. This is `of`, whose errors it has: measures are responses.
        """
        return self.of(measure)

    def effect(self, name: str) -> Self:
        """Return the attribution with a further effect of the first response as its scores, such as ``kept`` of `mase`.

        `Response` says what the effects are. Nothing is evaluated. There is no fit, no evidence and no other response.

        Raises
        ------
        UnknownNameError
            If the method has no such effect.
        """
        first = self.responses[0].effect(name)
        fit, answer = replace(self.fit, split_half=None), self.answer and self.answer.about(first.name)
        return replace(self, responses=(first,), fit=fit, answer=answer, evidence=None, zoomed=None)

    def top(self, k: int = 10, *, by: By = "order") -> tuple[Word, ...]:
        """Return the k best words.

        Parameters
        ----------
        k
            Number of words, capped by the number of words of the text.
        by
            ``"order"``: as in `order`, in which metrics mask words. ``"score"``: descending signed score.
            ``"magnitude"``: descending absolute score. Ties are in reading order.

        Raises
        ------
        OptionError
            If k is negative, or `by` is none of the three.
        """
        words = self.word_scores
        return tuple(words[index] for index in self.responses[0].best(k, by))

    def expected_without(self, units: Iterable[int]) -> float | None:
        """Return the response that the scores lead to expect with these units masked: the response minus their scores.

        `Explainer.predict_without` asks the model, so that one can be compared with the other. None if the scores have
        no sign, are not estimates, or are effects on the responses of several windows.

        Raises
        ------
        OptionError
            If one is not the index of a unit.
        """
        return expected_response(self, units)

    def expected_probability_without(self, units: Iterable[int]) -> float | None:
        """Return the probability of the explained class that belongs to `expected_without`.

        None for a value, and if the link cannot be inverted, as the margin of three or more classes. It is in [0, 1].

        Raises
        ------
        OptionError
            If one is not the index of a unit.
        """
        response = self.expected_without(units)
        return None if response is None else expected_probability(self, response)

    def as_list(self) -> list[tuple[str, float]]:
        """Return `(word, score)` pairs in reading order."""
        return [(word.text, word.score) for word in self.word_scores]

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas data frame with one row per response and unit.

        The columns are response, position, field, start, end, text, score, standard_error and total_error (NaN if there
        is none), rank (1 is the first of `order`), strength (1 is the largest absolute score), against (of a contrast),
        and those of each further effect. For an answer, cited says if the unit is among the `citations` of the part.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return frame(rows(self), COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return the attribution as plain JSON types (schema ``mase.attribution/2``)."""
        from mase.attribution.json import to_dict

        return to_dict(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the attribution to `path`: as JSON, or in the format of .csv, .parquet or .txt.

        `mase.load` returns an equal attribution of JSON. `to_html` writes pages.

        Raises
        ------
        OptionError
            If the path has another suffix.
        """
        from mase.outputs.formats import save

        save([self], path)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page with the highlighted text, and write it to `path` if one is given."""
        from mase.render.html import page, write_page

        return page([self]) if path is None else write_page([self], path)

    def plot(self, k: int = 20) -> Any:
        """Return a matplotlib figure: the k words of largest absolute score with 95 % intervals, in reading order.

        A notebook shows it.
        """
        from mase.render.figure import bar_chart

        return bar_chart(self, k)

    def _repr_html_(self) -> str:
        from mase.render.html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        from mase.render.terminal import summary

        return summary(self)


# The columns of every row; effects and answers add others.
COLUMNS = (
    "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank", "against",
    "total_error", "strength",
)  # fmt: skip

# The columns of a row per text.
TEXT_COLUMNS = (
    "document", "text", "label", "probability", "target", "reliable", "verdict", "flip_set", "flip_label"
)  # fmt: skip


def rows(attribution: "Attribution") -> Iterator[dict[str, Any]]:
    """Yield a row per response and unit by column name, with a column per effect, and of an answer whether it is cited.

    The errors are None if there are none. `cited` is None for a response that is no part of the answer.
    """
    answer, sources = attribution.answer, cited_units(attribution)
    for response in attribution.responses:
        ranks = {position: rank for rank, position in enumerate(response.order, 1)}
        strengths = {position: rank for rank, position in enumerate(response.best(len(ranks), "magnitude"), 1)}
        cited = sources.get(response.name)
        for position, unit in enumerate(attribution.units):
            place = (position, unit.field, unit.start, unit.end, unit.text)
            score = (response.scores[position], response.standard_errors[position], ranks[position])
            further = (response.against, response.interval_errors[position], strengths[position])
            row = dict(zip(COLUMNS, (response.name, *place, *score, *further), strict=True))
            row |= {name: values[position] for name, values in response.effects.items()}
            row |= {
                total_error_of(name): row[error_of(name)]
                for name in response.effect_names
                if total_error_of(name) not in row
            }
            yield row if answer is None else row | {"cited": None if cited is None else position in cited}


def text_row(index: int, attribution: "Attribution") -> dict[str, Any]:
    """Return the row of a text: what the model predicts, whether the scores are reliable, and what flips it."""
    told, verdict = attribution.prediction, attribution.verdict
    flip = None if attribution.evidence is None else attribution.evidence.flip_set
    units = None if flip is None else tuple(attribution.units[unit].text for unit in flip.units)
    values = (told.label, told.probability, attribution.title, verdict.reliable, str(verdict), units)
    text = " ".join(field.text for field in attribution.document)
    return dict(zip(TEXT_COLUMNS, (index, text, *values, None if flip is None else flip.label), strict=True))


def cited_units(attribution: "Attribution") -> dict[str, set[int]]:
    """Return the units that are the sources of each part of an answer, by the name of its response."""
    parts = () if attribution.answer is None else attribution.answer.parts
    return {
        part.response: {citation.unit for citation in citations}
        for part, citations in zip(parts, attribution.citations, strict=True)
    }


class Attributions(list[Attribution]):
    """A list of the attributions of several documents.

    `Explainer` returns it for a list of texts. It is a list in every respect. Slices and sums of it are `Attributions`.

    Examples
    --------
    >>> import mase
    >>> explainer = mase.Explainer(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts])
    >>> explainer(["a good day", "a bad day", "all good"])[::2]
    2 attributions
     1  0 90.0 %  good +3.58
     2  0 90.0 %  good +3.58
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Attribution: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Attribution | Self:
        result = super().__getitem__(index)
        return type(self)(result) if isinstance(result, list) else result

    def __add__(self, other: Iterable[Attribution]) -> Self:  # type: ignore[override]
        return type(self)([*self, *other]) if isinstance(other, list) else NotImplemented

    def copy(self) -> Self:
        """Return a list of the same attributions."""
        return type(self)(self)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the attributions in a file of JSON Lines, equal to those that were saved; none if it is empty.

        Raises
        ------
        DataError
            If the file is missing, is not JSON, or holds a text that could not be explained.
        """
        from mase.attribution.json import Failure, load_many

        outcome = cls()
        for result in load_many(path):
            if isinstance(result, Failure):
                raise DataError(
                    f"{fspath(path)!r} holds a failure ({result.error:.80}: {result.message:.400}), expected "
                    "attributions only; mase.attribution.json.load_many(path) reads both"
                )
            outcome.append(result)
        return outcome

    def save(self, path: str | PathLike[str]) -> None:
        """Write the attributions to `path`: as JSON Lines, or in the format of .csv, .parquet or .txt.

        `Attributions.load` returns an equal list of JSON Lines, and the command reads the file, too. `to_html` writes
        pages.

        Raises
        ------
        OptionError
            If the path has another suffix.
        DataError
            If the file cannot be written.
        """
        from mase.outputs.formats import save

        save(self, path)

    def to_frame(self, per: Literal["unit", "text"] = "unit") -> "pd.DataFrame":
        """Return a pandas data frame with one row per document, response and unit, or with one row per document.

        The first column, document, is the index of the attribution in the list. The others are those of
        `Attribution.to_frame`. Of `per="text"` they are text, label, probability (of a value NaN), target, reliable,
        verdict, and flip_set, the units without which the model predicts flip_label; None if that was not found.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        check_choice("per", per, ("unit", "text"))
        if per == "text":
            return frame((text_row(index, item) for index, item in enumerate(self)), TEXT_COLUMNS)
        result = ({"document": index} | row for index, attribution in enumerate(self) for row in rows(attribution))
        return frame(result, ["document", *COLUMNS])

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page of all attributions, and write it to `path` if one is given."""
        from mase.render.html import page, write_page

        return page(self) if path is None else write_page(self, path)

    def _repr_html_(self) -> str:
        from mase.render.terminal import listing_html

        return listing_html(self)

    def __repr__(self) -> str:
        from mase.render.terminal import listing

        return listing(self)

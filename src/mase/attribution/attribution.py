"""The result of an explanation: a frozen value that can print, plot and save itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mase.arrays import Floats, Ints, frozen
from mase.attribution.answer import Answer
from mase.attribution.citations import Citation, cited
from mase.attribution.document import Token, Unit
from mase.attribution.evidence import Evidence
from mase.attribution.expected import expected_probability, expected_response
from mase.attribution.fit import Fit, Note
from mase.attribution.frame import frame
from mase.attribution.interaction import Interaction
from mase.attribution.noun import noun_of
from mase.attribution.prediction import Prediction
from mase.attribution.response import By, Response
from mase.attribution.rows import COLUMNS, rows
from mase.attribution.verdict import Verdict, verdict_on
from mase.attribution.window import Window
from mase.attribution.word import Word, words_of
from mase.document import Document, Field
from mase.registry import unknown
from mase.text import Span, Truncation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Attribution", "By"]


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
        """The sources of each part of the answer, strongest first (`mase.attribution.citations`); empty without one."""
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
        from mase.io.json import to_dict

        return to_dict(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the attribution to `path`: as JSON, or in the format of .csv, .parquet or .txt.

        `mase.load` returns an equal attribution of JSON. `to_html` writes pages.

        Raises
        ------
        OptionError
            If the path has another suffix.
        """
        from mase.outputs.file import save

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

"""The values that a comparison of two runs consists of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from mase.corpus.frames import frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "SCHEMA",
    "TABLES",
    "Comparison",
    "Example",
    "Flip",
    "Frequent",
    "Noise",
    "Predictions",
    "Reasons",
    "Shift",
    "Shifts",
    "Texts",
]

SCHEMA = "mase.comparison/1"
TABLES = ("flips", "reasons", "words")


@dataclass(frozen=True, slots=True)
class Texts:
    """How the texts of two runs match.

    Attributes
    ----------
    compared
        Texts with equal ids and equal documents that both runs explained.
    only_first, only_second
        Texts whose id is in one run only.
    different
        Texts whose id is in both runs, with different documents or answers.
    failed_first, failed_second, failed_both
        Texts with equal documents that a run could not explain, and those that neither could.
    left_first, left_second
        Texts of a run that is not finished, in the parts that are left.
    """

    compared: int
    only_first: int
    only_second: int
    different: int
    failed_first: int
    failed_second: int
    failed_both: int = 0
    left_first: int = 0
    left_second: int = 0

    @property
    def left(self) -> dict[str, int]:
        """The runs that are not finished, "first" or "second", with the number of texts that are left."""
        counts = {"first": self.left_first, "second": self.left_second}
        return {run: count for run, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Flip:
    """A text whose predicted class differs between the runs, with the probability of the class that each predicts."""

    id: str
    row: int
    first_prediction: str
    first_probability: float
    second_prediction: str
    second_probability: float


@dataclass(frozen=True, slots=True)
class Predictions:
    """How the predictions differ.

    A run holds the most probable class of each text. Of a multi-label model it is that class that is compared,
    whichever others are predicted too.

    Attributes
    ----------
    n
        Number of texts compared that have a predicted class in both runs.
    flipped
        Texts whose predicted class differs.
    mean_change, mean_absolute_change
        Means of the second probability minus the first, and of its size, over the texts whose predicted class is the
        same. None if there are none.
    listed
        Flipped texts, those first for which both runs are most confident.
    """

    n: int
    flipped: int
    mean_change: float | None
    mean_absolute_change: float | None
    listed: tuple[Flip, ...]

    @property
    def share_flipped(self) -> float:
        """Share of texts whose predicted class differs; 0 without texts."""
        return self.flipped / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class Noise:
    """How many scores differ by more than sampling alone explains.

    Attributes
    ----------
    rate
        False discovery rate of the test over all words of all texts.
    words_tested, words_changed
        Words whose two scores have standard errors, and those of them that differ.
    texts_changed
        Texts with at least one word that differs.
    """

    rate: float
    words_tested: int
    words_changed: int
    texts_changed: int


@dataclass(frozen=True, slots=True)
class Frequent:
    """A word that is frequent in flipped texts whose reasons are not compared: in how many of them, and of the others.

    `others` is the number of the other texts compared.
    """

    word: str
    n_texts: int
    n_others: int
    others: int


@dataclass(frozen=True, slots=True)
class Reasons:
    """How the scores differ, over the texts of which both runs explain the same response.

    Attributes
    ----------
    n_texts
        Texts of which both runs explain a response of the same name.
    n_words
        Words that have a score in both runs, over all texts and responses.
    n_unmatched
        Words that have a score in one run only, for example because a model did not read them.
    links
        Links of the two runs, as in ``("margin", "margin")``, one pair for each combination.
    top_overlap
        Mean share of the top five words that both runs have in common. Words whose score is 0 are left out, so that
        there may be fewer than five: the share is of those of the run that has more, and a text in which both have none
        does not count. None if there is no other text.
    rank_correlation
        Mean rank correlation (Spearman) of the scores of a text. None if there is none.
    sign_agreement
        Mean share of equal signs, over the words that have a score beyond its 95 % interval in either run. A score that
        is 0 but for rounding has no sign. None if there are none.
    noise
        What differs beyond sampling noise. None if `no_noise` says why that cannot be told.
    flipped_left_out
        Texts whose predicted class differs, of which the runs explain no common response.
    frequent
        Words that are more frequent in these texts than in the others compared.
    """

    n_texts: int
    n_words: int
    n_unmatched: int
    links: tuple[tuple[str, str], ...]
    top_overlap: float | None
    rank_correlation: float | None
    sign_agreement: float | None
    noise: Noise | None
    no_noise: str | None
    flipped_left_out: int = 0
    frequent: tuple[Frequent, ...] = ()

    @property
    def share_changed(self) -> float | None:
        """Share of texts whose reasons differ beyond sampling noise. None if that cannot be told."""
        if self.noise is None:
            return None
        return self.noise.texts_changed / self.n_texts if self.n_texts else 0.0


@dataclass(frozen=True, slots=True)
class Example:
    """A word in its text: the id of the text, what stands before and after the word, and its two scores."""

    id: str
    before: str
    text: str
    after: str
    first_score: float
    second_score: float


@dataclass(frozen=True, slots=True)
class Shift:
    """A word whose mean score over different texts differs between the runs, with the 95 % interval of the change."""

    response: str
    word: str
    n_texts: int
    first_mean: float
    second_mean: float
    difference: float
    low: float
    high: float
    p_value: float
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Shifts:
    """The words whose mean score over texts differs.

    Attributes
    ----------
    min_texts
        A word is tested if it occurs in at least so many different texts.
    rate
        False discovery rate.
    tested, shifted
        Number of words tested, and of those that differ. Words are merged by case and counted for each response.
    listed
        Those that differ most.
    """

    min_texts: int
    rate: float
    tested: int
    shifted: int
    listed: tuple[Shift, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Two runs compared; see `mase.compare`.

    Attributes
    ----------
    first, second
        Places of the two runs.
    tables
        Arrow tables: ``flips``, every text whose prediction differs; ``reasons``, the agreement for every text and
        response; ``words``, the mean scores of every word that was tested.
    common_only
        Whether only the texts that both runs explained were to be compared.
    """

    first: str
    second: str
    texts: Texts
    predictions: Predictions
    reasons: Reasons
    shifts: Shifts | None
    tables: Mapping[str, "pa.Table"] = field(hash=False, compare=False)
    common_only: bool = False

    def __repr__(self) -> str:
        """Return what `mase compare` prints."""
        from mase.comparison.report import lines

        return "\n".join(lines(self))

    def to_frame(self, table: str) -> "pd.DataFrame":
        """Return a table as a pandas data frame, such as ``"words"``: one row per row, one column per field.

        Raises
        ------
        UnknownNameError
            If there is no such table.
        MissingDependencyError
            If pandas is not installed.
        """
        return frame(self.tables, table)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the tables as plain JSON types; infinite bounds become None."""
        values = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "tables"}
        plain = {name: asdict(value) if hasattr(type(value), "__slots__") else value for name, value in values.items()}
        plain["predictions"]["share_flipped"] = self.predictions.share_flipped
        plain["reasons"]["share_changed"] = self.reasons.share_changed
        return {"schema": SCHEMA, **{name: _finite(value) for name, value in plain.items()}}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value

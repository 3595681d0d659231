"""The values of a comparison of two runs, its report, and its limits."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from mase.defaults import is_real
from mase.errors import DataError, OptionError
from mase.render.marks import inline
from mase.render.wording import counted
from mase.text import shortened
from mase_corpora.read import frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


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
    n_turned
        Texts whose predicted class of two differs. Their scores have the sign turned, and are not tested against noise.
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
    n_turned: int = 0

    @property
    def share_changed(self) -> float | None:
        """Share of texts whose reasons differ beyond sampling noise. None if that cannot be told."""
        if self.noise is None:
            return None
        n_tested = self.n_texts - self.n_turned
        return self.noise.texts_changed / n_tested if n_tested else 0.0


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


_LONGEST_ID, _LONGEST_WORD = 40, 28


def lines(comparison: Comparison) -> list[str]:
    """Return the comparison as lines for a terminal, without control characters."""
    return list(_lines(comparison))


def _lines(comparison: Comparison) -> Iterator[str]:
    texts, predictions = comparison.texts, comparison.predictions
    yield f"first   {inline(comparison.first)}"
    yield f"second  {inline(comparison.second)}"
    left_out = {
        "only in the first": texts.only_first,
        "only in the second": texts.only_second,
        "with different documents or answers": texts.different,
        "failed in the first": texts.failed_first,
        "failed in the second": texts.failed_second,
    }
    parts = [
        f"{counted(texts.compared, 'text')} compared",
        *(f"{count:,} {what}" for what, count in left_out.items() if count),
    ]
    yield "; ".join(parts)
    yield from (f"The {run} run is not finished: {count:,} of its texts are left." for run, count in texts.left.items())
    yield ""
    if predictions.n:  # a model of values predicts no class
        yield f"Predictions: {predictions.flipped:,} of {predictions.n:,} differ ({predictions.share_flipped:.2%})."
    if predictions.mean_change is not None and predictions.mean_absolute_change is not None:
        yield (
            f"  Where they are the same, the probability changes by {predictions.mean_change:+.4f} on average "
            f"({predictions.mean_absolute_change:.4f} in size)."
        )
    yield from (_flip(flip) for flip in predictions.listed)
    yield ""
    yield from _reasons(comparison.reasons)
    if comparison.shifts is not None:
        yield ""
        yield from _shifts(comparison.shifts)


def _flip(flip: Flip) -> str:
    first = f"{inline(flip.first_prediction)} {flip.first_probability:.1%}"
    second = f"{inline(flip.second_prediction)} {flip.second_probability:.1%}"
    return f"  {_cut(flip.id, _LONGEST_ID)}: {first} -> {second}"


def _reasons(reasons: Reasons) -> Iterable[str]:
    texts, words = counted(reasons.n_texts, "text"), counted(reasons.n_words, "word")
    yield f"Reasons: {texts} in which both runs explain the same class, {words} in both."
    if reasons.n_turned:
        turned = counted(reasons.n_turned, "text")
        yield f"  {turned} with another prediction: their scores have the sign turned, and are not tested;"
        yield "  to test them, run both with --target CLASS."
    if reasons.flipped_left_out:
        left = counted(reasons.flipped_left_out, "text")
        yield f"  {left} with another prediction left out; to compare them, run both with --target CLASS."
    for item in reasons.frequent:
        share = f"{item.n_texts:,} of them, and in {item.n_others:,} of {item.others:,} others"
        yield f"    {_cut(item.word, _LONGEST_WORD)}: in {share}"
    if reasons.n_unmatched:
        unmatched = counted(reasons.n_unmatched, "word")
        yield f"  {unmatched} {'has' if reasons.n_unmatched == 1 else 'have'} a score in one run only."
    yield f"  Top five words in common {_share(reasons.top_overlap)}, signs equal {_share(reasons.sign_agreement)},"
    yield f"  rank correlation {_number(reasons.rank_correlation)} (means over texts)."
    if reasons.noise is None:
        yield f"  Sampling noise was not tested: {reasons.no_noise}."
    else:
        noise = reasons.noise
        texts, verb = counted(noise.texts_changed, "text"), "differs" if noise.texts_changed == 1 else "differ"
        yield (
            f"  Beyond sampling noise {texts} ({_share(reasons.share_changed)}) {verb}, by "
            f"{noise.words_changed:,} of {noise.words_tested:,} scores (false discovery rate {noise.rate:g})."
        )


def _shifts(shifts: Shifts) -> Iterable[str]:
    yield (
        f"Words: the mean score of {shifts.shifted:,} of {shifts.tested:,} differs (in at least {shifts.min_texts} "
        f"texts, upper and lower case merged, false discovery rate {shifts.rate:g})."
    )
    for shift in shifts.listed:
        yield _shift(shift)
        yield from (_example(example) for example in shift.examples)


def _shift(shift: Shift) -> str:
    return (
        f"  {_cut(shift.word, _LONGEST_WORD)} for {inline(shift.response)}: {shift.first_mean:+.4f} -> "
        f"{shift.second_mean:+.4f}, difference {shift.difference:+.4f} [{shift.low:+.4f}, {shift.high:+.4f}], "
        f"{counted(shift.n_texts, 'text')}"
    )


def _example(example: Example) -> str:
    context = f"{inline(example.before)}[{inline(example.text)}]{inline(example.after)}" if example.text else ""
    scores = f"{example.first_score:+.3f} -> {example.second_score:+.3f}"
    return f"    {_cut(example.id, _LONGEST_ID)}: {scores}  {context}".rstrip()


def _cut(text: str, longest: int) -> str:
    return shortened(inline(text), longest)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_NO_CLASSES = "no text has a predicted class in both runs"
_NO_TOPS = "no text has the same response in both runs and a score other than 0"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits on how much two runs may differ. None sets no limit.

    Parameters
    ----------
    max_flipped
        Greatest share of texts whose predicted class differs.
    max_reasons_changed
        Greatest share of texts whose reasons differ beyond sampling noise.
    min_top_overlap
        Least mean share of the top five words that both runs have in common.

    Raises
    ------
    OptionError
        If a limit is not a number from 0 to 1.
    """

    max_flipped: float | None = None
    max_reasons_changed: float | None = None
    min_top_overlap: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not (is_real(value) and 0 <= value <= 1):
                raise OptionError(f"{limit.name}={str(value)!r:.60} is not a share, expected a number from 0 to 1")

    def exceeded(self, comparison: Comparison) -> tuple[str, ...]:
        """Return one sentence for each limit that a comparison exceeds.

        Raises
        ------
        DataError
            If a limit is on something that the runs do not tell.
        """
        return tuple(self._exceeded(comparison))

    def _exceeded(self, comparison: Comparison) -> Iterator[str]:
        predictions, reasons = comparison.predictions, comparison.reasons
        if any(getattr(self, limit.name) is not None for limit in fields(self)):
            _check_judged(comparison)
        if self.max_flipped is not None:
            share = _known(predictions.share_flipped if predictions.n else None, "max_flipped", _NO_CLASSES)
            if share > self.max_flipped:
                yield (
                    f"the prediction of {share:.2%} of the texts differs, "
                    f"expected at most {self.max_flipped:.2%} (max_flipped)"
                )
        if self.max_reasons_changed is not None:
            share = _known(reasons.share_changed, "max_reasons_changed", reasons.no_noise)
            if share > self.max_reasons_changed:
                yield (
                    f"the reasons for {share:.2%} of the texts differ beyond sampling noise, "
                    f"expected at most {self.max_reasons_changed:.2%} (max_reasons_changed)"
                )
        if self.min_top_overlap is not None:
            overlap = _known(reasons.top_overlap, "min_top_overlap", _NO_TOPS)
            if overlap < self.min_top_overlap:
                yield (
                    f"the runs have {overlap:.2%} of the top five words in common, "
                    f"expected at least {self.min_top_overlap:.2%} (min_top_overlap)"
                )


def _check_judged(comparison: Comparison) -> None:
    texts = comparison.texts
    if texts.left and not comparison.common_only:
        left = " and ".join(f"{counted(count, 'text')} of the {run} run" for run, count in texts.left.items())
        raise DataError(
            f"limits cannot be checked: {left} are in parts that are not finished; finish the run, or pass "
            "common_only=True to judge the texts that both have explained"
        )
    if texts.compared == 0:
        raise DataError("the runs have no text in common that both explain, expected at least one to set limits on")


def _known(value: float | None, limit: str, reason: str | None) -> float:
    if value is None:
        raise DataError(f"{limit} cannot be checked: {reason}")
    return value

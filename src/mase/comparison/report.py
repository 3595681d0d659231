"""A comparison of two runs as lines of text."""

from collections.abc import Iterable, Iterator

from mase.characters import shortened
from mase.comparison.comparison import Comparison, Example, Flip, Reasons, Shift, Shifts
from mase.render.numbers import counted
from mase.render.pieces import inline

__all__ = ["lines"]

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
    if reasons.flipped_left_out:
        left = counted(reasons.flipped_left_out, "text")
        yield f"  {left} with another prediction left out; to compare them, run both with --target CLASS."
    for one in reasons.frequent:
        share = f"{one.n_texts:,} of them, and in {one.n_others:,} of {one.others:,} others"
        yield f"    {_cut(one.word, _LONGEST_WORD)}: in {share}"
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

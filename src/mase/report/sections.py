"""The sections of the report: verdict, trust, classes, wrong and uncertain predictions, groups, and the rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mase.render.numbers import at_least, counted, percent, percent_of_all
from mase.render.numbers import share as two_decimals
from mase.render.palette import Scale
from mase.report.entries import shortened
from mase.report.rows import (
    Limits,
    Line,
    RowList,
    group_line,
    phrase_line,
    push_line,
    room,
    row_list,
    scale_of_list,
    share,
    word_line,
)
from mase.summary.effects import Direction, GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase.summary.overview import Distribution
from mase.summary.summary import Summary

__all__ = [
    "ClassSection",
    "Fact",
    "Spread",
    "class_sections",
    "difference_lists",
    "facts",
    "none_found",
    "rules",
    "spreads",
    "verdict",
]

_MEASURES = {
    "r2": "R², the share of the variance of the explained number that the scores account for",
    "r2_held_out": "Held-out R², the same share in rows that the fit left out",
    "split_half": "Split-half agreement on the strongest words",
    "probability": "Probability of the predicted class",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of the overview, and the part of the page that it leads to ("" if none)."""

    name: str
    value: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a measure over the texts, as numbers and as a drawing of 100 by 12."""

    name: str
    n: str
    numbers: tuple[str, ...]
    line: str
    box: str
    middle: str


@dataclass(frozen=True, slots=True)
class ClassSection:
    """What speaks for and against one class."""

    anchor: str
    name: str
    predicted: str
    lists: tuple[RowList, ...]


def verdict(summary: Summary) -> list[str]:
    """Return sentences that say what was explained, and how far the scores can be trusted."""
    overview, n_texts = summary.overview, len(summary.run)
    said = f"{overview.n_explained:,} of {counted(n_texts, 'text')} explained"
    said += f", {overview.n_failed:,} failed" if overview.n_failed else ""
    missing = n_texts - overview.n_texts
    said += f", {missing:,} not yet computed (the run is not finished)" if missing > 0 else ""
    sentences = [f"{said}."]
    if overview.accuracy is not None:
        sentences.append(
            f"{percent_of_all(overview.accuracy)} of {overview.n_labelled:,} labelled texts are predicted right."
        )
    if overview.n_other_labels:
        sentences.append(
            f"{counted(overview.n_other_labels, 'text')} with a label that is no class of the model "
            f"{'is' if overview.n_other_labels == 1 else 'are'} not judged."
        )
    fit = next((found for found in summary.quality if found.name == "r2"), None)
    if fit is not None:
        least = at_least(fit.q10)
        explained = f"{100 * max(0.0, least):.0f} %"
        among = "texts" if fit.n == overview.n_explained else f"of {counted(fit.n, 'explanation')} that have an R²"
        sentences.append(
            f"In nine of ten {among} the scores account for at least {explained} of the variance of the explained "
            f"number (R² ≥ {least:.2f}, median {two_decimals(fit.median)})."
        )
    noted = sum(note.n_texts for note in summary.notes)
    if noted:
        worst = summary.notes[0]
        sentences.append(f"The most frequent note is “{shortened(worst.code)}”, on {counted(worst.n_texts, 'text')}.")
    return sentences


def facts(summary: Summary, *, texts: bool) -> list[Fact]:
    """Return the numbers of the overview; those of texts lead to the list if there is one."""
    overview = summary.overview

    def link(query: str) -> str:
        return f"#texts?{query}" if texts else ""

    found = [Fact("texts", f"{overview.n_texts:,}", link("sort=order"))]
    found += [Fact("failed", f"{overview.n_failed:,}", link("only=failed") if overview.n_failed else "")]
    if overview.accuracy is not None:
        found.append(Fact("predicted right", percent_of_all(overview.accuracy)))
        wrong = round((1 - overview.accuracy) * overview.n_labelled)
        found.append(Fact("predicted wrong", f"{wrong:,}", link("only=wrong") if wrong else ""))
    threshold = summary.settings.low_confidence
    if threshold is not None:
        found.append(Fact("low confidence", f"below {percent(threshold)}", link("only=low")))
    if overview.reliable is not None:
        care = percent_of_all(1 - overview.reliable)
        found.append(Fact("read with care", care, link("only=care") if overview.reliable < 1 else ""))
    return [*found, Fact("the model was asked", f"{overview.n_queries:,} times")]


def spreads(quality: Sequence[Distribution]) -> list[Spread]:
    """Return the distributions of the measures of quality, drawn from 0 to 1."""
    return [_spread(found) for found in quality]


def _spread(found: Distribution) -> Spread:
    low, q10, q25, median, q75, q90, high = (
        100 * min(1.0, max(0.0, value))
        for value in (found.minimum, found.q10, found.q25, found.median, found.q75, found.q90, found.maximum)
    )
    return Spread(
        name=_MEASURES.get(found.name, found.name),
        n=f"{found.n:,}",
        numbers=tuple(map(two_decimals, (found.minimum, found.q10, found.q25, found.median, found.q75, found.q90))),
        line=f"M{low:.1f} 6H{high:.1f}M{q10:.1f} 3v6M{q90:.1f} 3v6",
        box=f"M{q25:.1f} 2H{q75:.1f}v8H{q25:.1f}z",
        middle=f"M{median:.1f} 1v10",
    )


def class_sections(summary: Summary, limits: Limits) -> list[ClassSection]:
    """Return the sections of the responses, those of the classes that are predicted most first."""
    words = _by(summary.words, lambda found: found.response)
    phrases = _by(summary.phrases, lambda found: found.response)
    predicted = {found.prediction: found for found in summary.predictions}
    names = list(dict.fromkeys([*(name for name in predicted if name in words), *words, *phrases, *predicted]))
    sections, none = [], none_found(summary)
    for number, name in enumerate(names[: limits.lists], 1):
        effects = [*words.get(name, []), *phrases.get(name, [])]
        scale = scale_of_list(found.effect for found in effects)
        said = "never predicted"
        if name in predicted:
            found = predicted[name]
            texts, of_all = counted(found.n_texts, "text"), f"({share(found.share)})"
            said = f"{texts} {of_all}"
            if found.probability is not None:
                said = f"{texts} predicted {of_all}, mean probability {percent(found.probability)}"
        tables = {
            "words": _by_side(words.get(name, []), scale),
            "phrases": _by_side(phrases.get(name, []), scale),
        }
        within = max(room(lines) for sides in tables.values() for lines in sides.values())
        lists = tuple(
            shown
            for table, sides in tables.items()
            for shown in _sides(sides, table, scale, limits, within, none[table])
        )
        sections.append(ClassSection(f"class-{number}", shortened(name), said, lists))
    return sections


def none_found(summary: Summary) -> dict[str, str]:
    """Return for each table what to say if it has no row: that nothing passes the test, or that nothing was tested."""
    least, n_tested = summary.settings.min_texts, {family.table: family.n_tested for family in summary.families}
    return {
        table: f"No {noun} passes the test." if n_tested.get(table) else f"No {noun} occurs in {least:,} {where}."
        for table, (noun, where) in _TESTED_IN.items()
    }


# By table: what is tested, and in which texts it has to occur.
_TESTED_IN = {
    "words": ("word", "texts"),
    "phrases": ("phrase", "texts"),
    "wrong": ("word", "wrong predictions of one class"),
    "low_confidence": ("word", "predictions of one class with a low confidence"),
    "groups": ("word", "texts of a group and as many others"),
}


_SIDES: dict[Direction, str] = {"towards": "towards", "away": "away from"}


def _sides(
    lines: Mapping[Direction, Sequence[Line]], table: str, scale: Scale, limits: Limits, within: float, empty: str
) -> list[RowList]:
    return [
        row_list(f"{table.capitalize()} {side}", lines[direction], scale, limits, within=within, empty=empty)
        for direction, side in _SIDES.items()
    ]


def _by_side(effects: Sequence[WordEffect] | Sequence[PhraseEffect], scale: Scale) -> dict[Direction, list[Line]]:
    """Return the lines of effects towards a class and away from it."""
    sides: dict[Direction, list[Line]] = {direction: [] for direction in _SIDES}
    for found in effects:
        sides[found.direction].append(_effect_line(found, scale))
    return sides


def _effect_line(found: WordEffect | PhraseEffect, scale: Scale) -> Line:
    return word_line(found, scale) if isinstance(found, WordEffect) else phrase_line(found, scale)


def difference_lists(summary: Summary, limits: Limits) -> dict[str, list[RowList]]:
    """Return the lists of words behind wrong and low-confidence predictions, and of those that differ by group."""

    def lists(
        found: Sequence[Any], key: Callable[[Any], Any], title: str, line: Callable[[Any, Scale], Line]
    ) -> list[RowList]:
        result = []
        for names, rows in list(_by(found, key).items())[: limits.lists]:
            scale = scale_of_list(one.difference for one in rows)
            lines = [line(one, scale) for one in rows]
            result.append(row_list(title.format(*map(shortened, names)), lines, scale, limits))
        return result

    def prediction(found: PushDifference) -> tuple[str]:
        return (found.prediction,)

    def group(found: GroupDifference) -> tuple[str, str]:
        return found.group, found.response

    return {
        "wrong": lists(summary.wrong, prediction, "Predicted {}", push_line),
        "low_confidence": lists(summary.low_confidence, prediction, "Predicted {}", push_line),
        "groups": lists(summary.groups, group, "{}, towards {}", group_line),
    }


def rules(summary: Summary) -> list[str]:
    """Return sentences on how the words of the lists were chosen."""
    settings, overview = summary.settings, summary.overview
    tested = ", ".join(
        f"{found.n_found:,} of {found.n_tested:,} {found.table.replace('_', ' ')}"
        for found in summary.families
        if found.n_tested
    )
    return [
        "Words are merged by case: “Film” and “film” are one word. Common words are not left out.",
        f"A word is in a list if it occurs in at least {counted(settings.min_texts, 'text')} and its effect differs "
        "from 0 and from the mean of its texts. "
        f"At most {share(settings.false_discovery_rate)} of the rows of a table are there by chance (false discovery "
        f"rate). Found of tested: {tested or 'none were tested'}.",
        f"A repeated text counts once: {overview.n_distinct:,} of {counted(overview.n_explained, 'explained text')} "
        "differ from each other." if overview.n_distinct != overview.n_explained else "",
        "The effect of a word is its mean score over its occurrences in a text, then over the texts. Its 95 % interval "
        "is over texts: it says how sure the mean is, and not how much the texts differ.",
        "“In top 5” is the share of its texts in which the word has one of the five strongest scores in the direction.",
        "“Expected” is the effect that the two words of a phrase have together elsewhere.",
    ]  # fmt: skip


def _by(found: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    return {name: list(rows) for name, rows in groupby(found, key)}

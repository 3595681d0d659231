"""Paired comparisons of one explainer with every other one, on the texts that both explained."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mase.methods import Configuration
from mase.statistics import Difference, paired_share
from mase_paper.experiments import markdown
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.testbeds import Target
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS

__all__ = [
    "KS",
    "PairedComparison",
    "behind",
    "cells",
    "compare",
    "explainers",
    "of_this_library",
    "plain",
    "summary",
    "summary_table",
]

# The numbers of words that are masked: those of the paper's tables, and 2 and 3, where searches are strong.
KS = (1, 2, 3, 5, 10, 15)


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The difference between the subject and another explainer, on one target, under one operator, at one k.

    Attributes
    ----------
    target, operator, k
        Where the two are compared.
    other
        The explainer that the subject is compared with.
    difference
        Delta Accuracy of the subject minus that of the other one.
    is_repeat
        Whether an earlier setting of the other method ranks the words of all texts in the same way, for example because
        the padding token's vector is zero. A repeat is shown but not counted.
    """

    target: str
    operator: str
    k: int
    other: Configuration
    difference: Difference
    is_repeat: bool = False

    @property
    def is_behind(self) -> bool:
        """Whether the whole interval is below 0: the other explainer is ahead."""
        return self.difference.high < 0

    @property
    def is_ahead(self) -> bool:
        """Whether the whole interval is above 0: the other explainer is behind."""
        return self.difference.low > 0


def explainers(outcomes: Mapping[Configuration, Outcomes]) -> dict[Configuration, Outcomes]:
    """Return the outcomes of each explainer with its first seed, without the upper bounds."""
    first: dict[Configuration, Configuration] = {}
    for configuration in outcomes:
        if configuration.method not in UPPER_BOUNDS:
            first.setdefault(replace(configuration, seed=0), configuration)
    return {configuration: outcomes[configuration] for configuration in first.values()}


def compare(
    target: Target, outcomes: Mapping[Configuration, Outcomes], subject: Configuration
) -> Iterator[PairedComparison]:
    """Yield the comparisons of the subject with every other explainer, by operator and k."""
    if subject not in outcomes:
        return
    ours = outcomes[subject]
    rankings: set[tuple[str, tuple[tuple[int, ...], ...]]] = set()
    for other, theirs in explainers(outcomes).items():
        ranking = (other.method, theirs.top_words)
        is_repeat = ranking in rankings
        rankings.add(ranking)
        here, there = ours.common(theirs)
        if other == subject or not len(here):
            continue
        for index, operator in enumerate(ours.header["operators"]):
            for k in KS:
                difference = paired_share(ours.flips[here, index, k - 1], theirs.flips[there, index, k - 1])
                yield PairedComparison(target.name, operator, k, other, difference, is_repeat)


def summary(comparisons: Sequence[PairedComparison], subject: Configuration) -> str:
    """Return in how many comparisons the subject is ahead and behind.

    A second count leaves out this library's own methods and random order.
    """
    if not comparisons:
        return "(no pairs yet)"
    counted = [pair for pair in comparisons if not pair.is_repeat]
    lines = [f"Of {_counts(counted, 'other explainer', f'`{subject}`')}"]
    rivals = [pair for pair in counted if not of_this_library(pair.other) and pair.other.method != "random"]
    if 0 < len(rivals) < len(counted):
        apart = "Without this library's own methods (`mase-...`, `standard-gaussian`) and random order"
        lines += [f"{apart}: of {_counts(rivals, 'rival', 'it')}"]
    return "\n\n".join(lines)


def behind(comparisons: Sequence[PairedComparison]) -> str:
    """Return a table of the comparisons in which the subject is behind, or nothing if there are none."""
    lost = sorted((pair for pair in comparisons if pair.is_behind), key=lambda pair: pair.difference.mean)
    rows = [[pair.target, pair.operator, str(pair.k), f"`{pair.other}`", _interval(pair.difference)] for pair in lost]
    head = ["target", "masked by", "k", "the one ahead", "difference"]
    return f"Behind in:\n\n{markdown.table(head, rows)}" if rows else ""


def _counts(comparisons: Sequence[PairedComparison], others: str, subject: str) -> str:
    n, behind, ahead = len(comparisons), sum(p.is_behind for p in comparisons), sum(p.is_ahead for p in comparisons)
    return (
        f"{n:,} comparisons (target x operator x k x {others}) {subject} is ahead in {ahead:,}, behind in {behind:,}, "
        f"and in {n - behind - ahead:,} the interval includes 0."
    )


def of_this_library(configuration: Configuration) -> bool:
    """Return whether a method is of this library's own family, and of no other package or paper."""
    return configuration.method.startswith("mase") or configuration.method == "standard-gaussian"


def cells(
    outcomes: Mapping[Configuration, Outcomes], index: int, comparisons: Sequence[PairedComparison]
) -> Iterator[list[str]]:
    """Yield a row for each explainer under one operator: its Delta Accuracy at each k, and the subject's lead.

    The first cell gives the number of texts if an explainer has fewer than others.
    """
    most = max(map(len, outcomes.values()), default=0)
    pairs = {(pair.other, pair.k): pair for pair in comparisons}
    for configuration, outcome in outcomes.items():
        row = [f"`{configuration}`" + (f"<br>{len(outcome):,} texts" if len(outcome) < most else "")]
        for k in KS:
            mean, pair = f"{outcome.flips[:, index, k - 1].mean():.3f}", pairs.get((configuration, k))
            if pair is not None:
                mean = f"{f'**{mean}**' if pair.is_behind else mean}<br>{_interval(pair.difference)}"
            row.append(mean)
        yield row


def _interval(difference: Difference) -> str:
    low, high = markdown.signed(difference.low), markdown.signed(difference.high)
    return f"{markdown.signed(difference.mean)} ({low} to {high})"


def summary_table(by_target: Mapping[Target, Mapping[Configuration, Outcomes]], subject: Configuration) -> str:
    """Return a table of the subject and its best rival, by the first operator.

    Rivals are the explainers of other packages and papers that explained all texts of the subject.
    """
    rows = []
    for target, outcomes in by_target.items():
        ours = explainers(outcomes).get(subject)
        rivals = {} if ours is None else _rivals(outcomes, subject, ours)
        if ours is None or not rivals:
            continue
        row = [f"{target.heading} ({len(ours):,})"]
        for k in KS:
            means = {name: float(rival.flips[rival.common(ours)[0], 0, k - 1].mean()) for name, rival in rivals.items()}
            best = max(means, key=lambda name: means[name])
            pair = markdown.marked([f"{ours.flips[:, 0, k - 1].mean():.3f}", f"{means[best]:.3f}"])
            row.append(f"{pair[0]} / {pair[1]} `{best}`")
        rows.append(row)
    return markdown.table(["target (texts)", *(f"T-{k}: `{subject}` / best rival" for k in KS)], rows) if rows else ""


def _rivals(
    outcomes: Mapping[Configuration, Outcomes], subject: Configuration, ours: Outcomes
) -> dict[Configuration, Outcomes]:
    return {
        configuration: theirs
        for configuration, theirs in explainers(outcomes).items()
        if configuration.method != subject.method
        and not of_this_library(configuration)
        and len(theirs.common(ours)[0]) == len(ours)
    }


def plain(comparison: PairedComparison) -> dict[str, Any]:
    """Return a comparison as plain JSON types."""
    keys = {"target": comparison.target, "operator": comparison.operator, "k": comparison.k}
    other = {"other": str(comparison.other), "is_repeat": comparison.is_repeat}
    return keys | other | markdown.plain(comparison.difference)

"""One explainer against each other one, pair by pair on the texts that both explained."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mase.metrics.intervals import Difference, paired_share
from mase_paper.experiments import markdown
from mase_paper.experiments.ceiling import CEILINGS
from mase_paper.experiments.paper import KS
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.specs import Spec
from mase_paper.experiments.testbeds import Target

__all__ = ["Duel", "cells", "explainers", "glance", "held", "plain", "summary"]


@dataclass(frozen=True, slots=True)
class Duel:
    """One explainer against another on one target, under one operator, at one k.

    `again`: the other one is a setting of a method that ranks the words of all texts as an earlier setting of it did,
    as where the padding token's vector is zero; it does not count twice.
    """

    target: str
    operator: str
    k: int
    other: Spec
    difference: Difference
    again: bool = False

    @property
    def lost(self) -> bool:
        """Whether the interval puts the other one ahead."""
        return self.difference.high < 0

    @property
    def won(self) -> bool:
        """Whether the interval puts the other one behind."""
        return self.difference.low > 0


def explainers(outcomes: Mapping[Spec, Outcomes]) -> dict[Spec, Outcomes]:
    """Return the outcomes without the ceilings, and of each explainer under its first seed only."""
    first: dict[Spec, Spec] = {}
    for spec in outcomes:
        if spec.method not in CEILINGS:
            first.setdefault(replace(spec, seed=0), spec)
    return {spec: outcomes[spec] for spec in first.values()}


def held(target: Target, outcomes: Mapping[Spec, Outcomes], subject: Spec) -> Iterator[Duel]:
    """Yield the duels of the subject with each other explainer, by operator and k."""
    if subject not in outcomes:
        return
    ours = outcomes[subject]
    seen: set[tuple[str, tuple[tuple[int, ...], ...]]] = set()
    for spec, theirs in explainers(outcomes).items():
        ranking = (spec.method, theirs.tops)
        again = ranking in seen
        seen.add(ranking)
        here, there = ours.common(theirs)
        if spec == subject or not len(here):
            continue
        for index, operator in enumerate(ours.header["operators"]):
            for k in KS:
                difference = paired_share(ours.flips[here, index, k - 1], theirs.flips[there, index, k - 1])
                yield Duel(target.name, operator, k, spec, difference, again)


def summary(duels: list[Duel], subject: Spec) -> str:
    """Return how many duels were won and lost, those with others' explainers apart, and a table of the lost ones."""
    if not duels:
        return "(no pairs yet)"
    counted = [duel for duel in duels if not duel.again]
    lines = [f"Of {_counted(counted, 'other explainer', f'`{subject}`')}"]
    rivals = [duel for duel in counted if not _of_this_library(duel.other) and duel.other.method != "random"]
    if 0 < len(rivals) < len(counted):
        apart = "Without this library's own methods (`mase-...`, `standard-gaussian`) and random order"
        lines += [f"{apart}: of {_counted(rivals, 'rival', 'it')}"]
    lost = sorted((duel for duel in duels if duel.lost), key=lambda duel: duel.difference.mean)
    if lost:
        rows = [
            [duel.target, duel.operator, str(duel.k), f"`{duel.other}`", _interval(duel.difference)] for duel in lost
        ]
        lines += ["Behind in:", markdown.table(["target", "masked by", "k", "the one ahead", "difference"], rows)]
    return "\n\n".join(lines)


def _counted(duels: list[Duel], whom: str, who: str) -> str:
    lost, won = sum(duel.lost for duel in duels), sum(duel.won for duel in duels)
    return (
        f"{len(duels):,} comparisons (target x operator x k x {whom}) {who} is ahead in {won:,}, behind in {lost:,}, and in "
        f"{len(duels) - won - lost:,} the interval includes 0."
    )


def _of_this_library(spec: Spec) -> bool:
    return spec.method.startswith("mase") or spec.method == "standard-gaussian"


def cells(outcomes: Mapping[Spec, Outcomes], index: int, duels: list[Duel]) -> Iterator[list[str]]:
    """Yield a row for each explainer under one operator: what it reaches at each k, and the subject's lead on it.

    The number of texts is told of those that explained fewer than others.
    """
    most = max(map(len, outcomes.values()), default=0)
    for spec, one in outcomes.items():
        row = [f"`{spec}`" + (f"<br>{len(one):,} texts" if len(one) < most else "")]
        for k in KS:
            mean = f"{one.flips[:, index, k - 1].mean():.3f}"
            duel = next((duel for duel in duels if duel.other == spec and duel.k == k), None)
            row.append(
                mean if duel is None else f"{f'**{mean}**' if duel.lost else mean}<br>{_interval(duel.difference)}"
            )
        yield row


def _interval(difference: Difference) -> str:
    low, high = markdown.signed(difference.low), markdown.signed(difference.high)
    return f"{markdown.signed(difference.mean)} ({low} to {high})"


def glance(found: Mapping[Target, Mapping[Spec, Outcomes]], subject: Spec) -> str:
    """Return a table of what the subject reaches and the best rival that explained the same texts, by the first operator."""
    rows = []
    for target, outcomes in found.items():
        own = explainers(outcomes).get(subject)
        if own is None:
            continue
        rivals = {
            spec: one
            for spec, one in explainers(outcomes).items()
            if spec.method != subject.method and not _of_this_library(spec) and len(one.common(own)[0]) == len(own)
        }
        if not rivals:
            continue
        row = [f"{target.introduced} ({len(own):,})"]
        for k in KS:
            means = {spec: float(one.flips[one.common(own)[0], 0, k - 1].mean()) for spec, one in rivals.items()}
            best = max(means, key=lambda spec: means[spec])
            ours, theirs = markdown.marked([f"{own.flips[:, 0, k - 1].mean():.3f}", f"{means[best]:.3f}"])
            row.append(f"{ours} / {theirs} `{best}`")
        rows.append(row)
    return markdown.table(["target (texts)", *(f"T-{k}: `{subject}` / best rival" for k in KS)], rows) if rows else ""


def plain(duel: Duel) -> dict[str, Any]:
    """Return a duel as plain JSON types."""
    named = {"target": duel.target, "operator": duel.operator, "k": duel.k, "other": str(duel.other)}
    return named | markdown.plain(duel.difference)

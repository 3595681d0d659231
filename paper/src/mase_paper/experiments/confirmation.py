"""The confirmation: frozen settings on new texts, compared with rivals as registered before the run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.methods import Configuration
from mase.statistics import Difference, holm, paired_means, paired_share
from mase_paper.experiments import markdown
from mase_paper.experiments.experiment import Report, Scope, collected
from mase_paper.experiments.mean_comparisons import over_k
from mase_paper.experiments.paired_comparisons import KS, explainers
from mase_paper.experiments.registration import STANDINGS, Registration, Standing, registration
from mase_paper.experiments.result_tables import by_operator, panels
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.testbeds import Target

__all__ = ["CONFIRMATION", "Comparison", "Confirmation"]
_FLIPS, _MEAN = "Delta Accuracy at k", "Delta Accuracy, mean over k = 1..15"
# The other measures, by the first operator, with the sign that makes higher values better.
_OTHERS = {"comprehensiveness": 1, "sufficiency": -1, "insertion": 1, "deletion": -1}
_MEASURES = (_MEAN, _FLIPS, *_OTHERS)
_FLOOR = "random"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The lead of the first method over another one: above 0 if it is better, whichever direction is better.

    `k` is None for measures without one. `p_value` is adjusted by Holm's procedure for all comparisons of one measure
    on one target; see `STANDINGS`.
    """

    target: str
    measure: str
    operator: str
    k: int | None
    other: Configuration
    lead: Difference
    p_value: float
    standing: Standing

    @property
    def plain(self) -> dict[str, Any]:
        """The comparison as plain JSON types."""
        place = {"target": self.target, "measure": self.measure, "operator": self.operator, "k": self.k}
        result = markdown.plain(self.lead) | {"p_value": round(self.p_value, 6), "standing": self.standing}
        return place | {"other": str(self.other)} | result


@dataclass(frozen=True, slots=True)
class _Lead:
    measure: str
    operator: str
    k: int | None
    other: Configuration
    lead: Difference


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The comparison that was registered; see `mase_paper.experiments.registration`."""

    name: str = "confirmation"

    def works(self, scope: Scope) -> list[Work]:
        """Return the registered methods on the registered texts of each target, or on the first of them."""
        registered = registration()
        return [
            Work(target, item, scope.texts(len(numbers)), skip=numbers.start)
            for target in scope.chosen_targets(tuple(registered.n_texts))
            for numbers in [registered.numbers(target.name)]
            for item in scope.chosen_configurations(registered.methods)
        ]

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the standing of the first method against every other one, on the texts that both explained.

        Searches over the metric are left out. The page begins with a warning if the records are of other texts or
        methods than the registered ones.
        """
        registered, result = registration(), collected(self.works(scope), records)
        by_target = {target: some for target, outcomes in result.items() if (some := explainers(outcomes))}
        warning = _not_registered(registered, by_target)
        subject = next((name for outcomes in by_target.values() for name in outcomes), registered.methods[0])
        every = [
            item for target, outcomes in by_target.items() for item in compare(target, outcomes, subject, registered)
        ]
        tables = {target: by_operator(target, outcomes, scope.batches, KS) for target, outcomes in by_target.items()}
        parts = [
            f"# Confirmation: `{subject}` with frozen settings on new texts",
            warning,
            _reading(registered, subject),
            _overview(by_target, every),
            _summary(every),
            _behind(every),
            *(
                _section(target, outcomes, [item for item in every if item.target == target.name])
                for target, outcomes in by_target.items()
            ),
        ]
        return Report(
            {"subject": str(subject), "registered": not warning, "comparisons": [item.plain for item in every]},
            "\n\n".join(part for part in parts if part) + "\n",
            [table for some in tables.values() for table in some],
            dots=[panel for target, some in tables.items() for panel in panels(target, some[0])],
        )


def _not_registered(registered: Registration, by_target: Mapping[Target, Mapping[Configuration, Outcomes]]) -> str:
    """Return a warning if the records are of other texts or methods than the registered ones, else ""."""
    result = dict.fromkeys(
        departure
        for target, outcomes in by_target.items()
        for configuration, outcome in outcomes.items()
        for departure in registered.departures(target.name, configuration, outcome)
    )
    return f"**This is not the registered run.** Its records have {', '.join(result)}." if result else ""


def compare(
    target: Target, outcomes: Mapping[Configuration, Outcomes], subject: Configuration, registered: Registration
) -> Iterator[Comparison]:
    """Yield the comparisons of a method with every other one on a target, by measure."""
    if subject not in outcomes:
        return
    ours = outcomes[subject]
    leads = [
        lead
        for other, theirs in outcomes.items()
        if other != subject and other.method != _FLOOR and len(ours.common(theirs)[0])
        for lead in _leads(ours, theirs, other)
    ]
    leads.sort(key=lambda lead: _MEASURES.index(lead.measure))
    for measure, family in groupby(leads, key=lambda lead: lead.measure):
        result = list(family)
        adjusted = holm(np.array([item.lead.p_value for item in result])).tolist()
        for item, p_value in zip(result, adjusted, strict=True):
            standing = registered.standing(item.lead, p_value)
            yield Comparison(target.name, measure, item.operator, item.k, item.other, item.lead, p_value, standing)


def _leads(ours: Outcomes, theirs: Outcomes, other: Configuration) -> Iterator[_Lead]:
    here, there = ours.common(theirs)
    operators = ours.header["operators"]
    for index, operator in enumerate(operators):
        (mean,) = paired_means((over_k(ours, index)[here] - over_k(theirs, index)[there])[:, None])
        assert mean is not None
        yield _Lead(_MEAN, operator, None, other, mean)
        for k in KS:
            flips = paired_share(ours.flips[here, index, k - 1], theirs.flips[there, index, k - 1])
            yield _Lead(_FLIPS, operator, k, other, flips)
    signs = np.array(list(_OTHERS.values()))
    for measure, lead in zip(
        _OTHERS, paired_means((_others(ours)[here] - _others(theirs)[there]) * signs), strict=True
    ):
        assert lead is not None
        yield _Lead(measure, operators[0], None, other, lead)


def _others(item: Outcomes) -> Floats:
    """Return the measures `(n, 4)` in the order of `_OTHERS`."""
    return np.column_stack([item.eraser[:, :2], item.areas[:, ::-1]])


_READING = """\
The texts, the methods and the rules were
[registered](../../docs/decisions/2026-11-29-eighth-confirmation.md) before the run. A lead is by how much
`{subject}` is better than another method, whichever direction of the measure is better. Its 95 % interval is paired.
Holm's correction is for all comparisons of one measure on one target. The margin is {margin}. `{floor}` is not counted.
"""


def _reading(registered: Registration, subject: Configuration) -> str:
    meanings = "\n".join(f"- *{name}*: {meaning}." for name, meaning in STANDINGS.items())
    return f"{_READING.format(subject=subject, margin=registered.margin, floor=_FLOOR)}\n{meanings}"


def _overview(by_target: Mapping[Target, Mapping[Configuration, Outcomes]], every: Sequence[Comparison]) -> str:
    """Return the leads over each method, by target, in mean Delta Accuracy by the first operator."""
    if not by_target:
        return ""
    first = {target.name: next(iter(result.values())).header["operators"][0] for target, result in by_target.items()}
    leads = {
        (item.target, item.other): item
        for item in every
        if (item.measure, item.operator) == (_MEAN, first[item.target])
    }
    names = dict.fromkeys(name for result in by_target.values() for name in result)
    rows = [
        [
            f"`{name}`",
            *(_in_short(result.get(name), leads.get((target.name, name))) for target, result in by_target.items()),
        ]
        for name in names
    ]
    head = [f"{target.heading} ({max(map(len, result.values())):,})" for target, result in by_target.items()]
    caption = "Mean over k = 1..15, masked by the model's own token: of the first method, and its lead over the others."
    return f"## Delta Accuracy in short\n\n{caption}\n\n{markdown.table(['method', *head], rows)}"


def _in_short(item: Outcomes | None, comparison: Comparison | None) -> str:
    if comparison is not None:
        return f"{markdown.signed(comparison.lead.mean)} {comparison.standing}"
    return "" if item is None else f"{item.flips[:, 0].mean():.3f}"


def _summary(every: Sequence[Comparison]) -> str:
    """Return the numbers of comparisons of each standing, by target and measure."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for item in every:
        counts.setdefault((item.target, item.measure), Counter())[item.standing] += 1
    rows = [
        [f"{target}: {measure}", *(str(count[name]) for name in STANDINGS)]
        for (target, measure), count in counts.items()
    ]
    total = Counter(item.standing for item in every)
    rows += [["all", *(str(total[name]) for name in STANDINGS)]] if rows else []
    return markdown.table(["target: measure", *STANDINGS], rows) if rows else "(no pairs yet)"


def _behind(every: Sequence[Comparison]) -> str:
    """Return a table of what is behind or lost, worst first."""
    result = sorted((item for item in every if item.standing in ("behind", "lost")), key=lambda item: item.lead.mean)
    rows = [
        [
            item.target,
            item.measure,
            item.operator,
            str(item.k or ""),
            f"`{item.other}`",
            _lead(item.lead),
            item.standing,
        ]
        for item in result
    ]
    head = ["target", "measure", "masked by", "k", "the one ahead", "lead", "standing"]
    return f"Behind or lost in:\n\n{markdown.table(head, rows)}" if rows else ""


def _section(target: Target, outcomes: Mapping[Configuration, Outcomes], result: Sequence[Comparison]) -> str:
    """Return the means of all methods on a target, with the leads and their standings."""
    parts = [f"## {target.heading} ({max(map(len, outcomes.values())):,} texts)"]
    operators = next(iter(outcomes.values())).header["operators"]
    for index, operator in enumerate(operators):
        here = {
            (item.other, item.k): item
            for item in result
            if item.operator == operator and item.measure in (_FLIPS, _MEAN)
        }
        rows = [
            [
                f"`{name}`",
                *(_cell(float(outcome.flips[:, index, k - 1].mean()), here.get((name, k))) for k in KS),
                _cell(float(outcome.flips[:, index].mean()), here.get((name, None))),
            ]
            for name, outcome in outcomes.items()
        ]
        parts += [f"### {target.title}, Delta Accuracy, masked by {markdown.operator(operator)}"]
        parts += [markdown.table(["method", *(f"T-{k}" for k in KS), "mean over 1..15"], rows)]
    by_measure = {(item.other, item.measure): item for item in result}
    rows = [
        [
            f"`{name}`",
            *(
                _cell(float(mean), by_measure.get((name, measure)))
                for measure, mean in zip(_OTHERS, _others(outcome).mean(axis=0), strict=True)
            ),
        ]
        for name, outcome in outcomes.items()
    ]
    head = [f"{measure} ({'higher' if sign > 0 else 'lower'} is better)" for measure, sign in _OTHERS.items()]
    parts += [f"### {target.title}, other measures, masked by {markdown.operator(operators[0])}"]
    parts += [markdown.table(["method", *head], rows)]
    parts += [f"### {target.title}, cost of one explanation", markdown.costs(outcomes)]
    return "\n\n".join(parts)


def _cell(mean: float, comparison: Comparison | None) -> str:
    if comparison is None:
        return f"{mean:.3f}"
    return f"{mean:.3f}<br>{_lead(comparison.lead)} {comparison.standing}"


def _lead(lead: Difference) -> str:
    """Return a lead with its interval; one text has none of a mean."""
    if isnan(lead.low):
        return markdown.signed(lead.mean)
    return f"{markdown.signed(lead.mean)} ({markdown.signed(lead.low)} to {markdown.signed(lead.high)})"


CONFIRMATION = Confirmation()

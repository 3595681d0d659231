"""Mean Delta Accuracy over k = 1 ... 15: the lead of one explainer over every other one, on all targets at once."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.methods import Configuration
from mase.statistics import Difference, paired_means
from mase_paper.experiments import markdown
from mase_paper.experiments.paired_comparisons import explainers
from mase_paper.experiments.records import DEPTH
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.testbeds import Target

__all__ = ["leads", "over_k", "table"]

_CAPTION = """\
Mean Delta Accuracy over k = 1 ... {depth}, masked by the model's own token: of `{subject}`, and its lead over each \
other explainer on the texts that both explained, with a paired 95 % interval (a bootstrap over texts). **Bold**: the \
other one is ahead, its interval leaves out 0."""


def over_k(outcomes: Outcomes, index: int) -> Floats:
    """Return for each text `(n,)` the share of k = 1 ... 15 at which the prediction changes, under one operator."""
    return np.asarray(outcomes.flips[:, index].mean(axis=1))


def leads(
    target: Target, outcomes: Mapping[Configuration, Outcomes], subject: Configuration
) -> Iterator[dict[str, Any]]:
    """Yield the mean of each explainer under each operator, and the subject's lead on the texts that both explained."""
    ours = outcomes.get(subject)
    for configuration, theirs in explainers(outcomes).items():
        means, result = (
            _by_operator(theirs).mean(axis=0),
            () if ours is None or ours is theirs else _leads(ours, theirs),
        )
        for operator, mean, lead in zip_longest(theirs.header["operators"], means.tolist(), result):
            row = {"target": target.name, "spec": str(configuration), "operator": operator, "n": len(theirs)}
            row["delta_accuracy"] = round(mean, 4)
            yield row if lead is None else row | {"lead": markdown.plain(lead)}


def _by_operator(outcomes: Outcomes) -> Floats:
    """Return `over_k` `(n, operators)` under each operator."""
    return np.column_stack([over_k(outcomes, index) for index in range(len(outcomes.header["operators"]))])


def _leads(ours: Outcomes, theirs: Outcomes) -> tuple[Difference | None, ...]:
    here, there = ours.common(theirs)
    return paired_means(_by_operator(ours)[here] - _by_operator(theirs)[there]) if len(here) else ()


def table(rows: Sequence[Mapping[str, Any]], targets: Sequence[Target], subject: Configuration) -> str:
    """Return the leads in Markdown, by the first operator: a row for each explainer, a column for each target."""
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        first.setdefault((row["spec"], row["target"]), row)
    ours = {target: first[str(subject), target.name] for target in targets if (str(subject), target.name) in first}
    if not ours:
        return ""
    others = dict.fromkeys(spec for spec, _ in first if spec != str(subject))
    lines = [[f"`{subject}`", *(f"{own['delta_accuracy']:.3f}" for own in ours.values())]]
    lines += [
        [f"`{name}`", *(_cell(first.get((name, target.name), {}), own["n"]) for target, own in ours.items())]
        for name in others
    ]
    head = [f"{target.title} ({own['n']:,})" for target, own in ours.items()]
    caption = _CAPTION.format(depth=DEPTH, subject=subject)
    return f"{caption}\n\n{markdown.table(['method', *head], lines)}"


def _cell(row: Mapping[str, Any], n: int) -> str:
    """Return the lead in a row, empty if there is none, and its number of texts if these are fewer than n."""
    lead = row.get("lead")
    if lead is None:
        return ""
    shown = markdown.signed(lead["mean"])
    if lead["low"] is not None:
        shown += f" ({markdown.signed(lead['low'])} to {markdown.signed(lead['high'])})"
        shown = f"**{shown}**" if lead["high"] < 0 else shown
    return shown + (f"<br>{lead['n']:,} texts" if lead["n"] < n else "")

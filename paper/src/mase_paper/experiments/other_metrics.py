"""Metrics other than Delta Accuracy: reported for each explainer, and never used for tuning."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.methods import Configuration, parse
from mase.statistics import Difference, paired_means
from mase_paper.experiments import markdown
from mase_paper.experiments.paired_comparisons import of_this_library
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.testbeds import Target

__all__ = ["rows", "summary", "table"]

# Each metric, and the sign that makes higher values better.
_BETTER = {
    "comprehensiveness": 1, "sufficiency": -1, "log_odds": -1, "unexplained": -1, "deletion": -1, "insertion": 1,
}  # fmt: skip
# Where the number of texts that have a metric is.
_COUNTS = {"unexplained": "n_infidelity", "deletion": "n_areas", "insertion": "n_areas"}
_HEAD = (
    "method", "comprehensiveness (higher is better)", "sufficiency (lower)", "log-odds at 20 % (lower)",
    "infidelity near the text, share unexplained (lower)", "deletion (lower)", "insertion (higher)",
)  # fmt: skip


def rows(
    target: Target, outcomes: Mapping[Configuration, Outcomes], subject: Configuration
) -> Iterator[dict[str, Any]]:
    """Yield the mean metrics of each explainer, and the lead of the subject on the texts that both explained.

    A `lead` is above 0 if the subject is better, whether higher or lower values of the metric are better. Its 95 %
    interval is a bootstrap over texts.
    """
    for configuration, outcome in outcomes.items():
        if not outcome.eraser.shape[1]:
            continue
        row = {
            "target": target.name,
            "spec": str(configuration),
            "operator": outcome.header["operators"][0],
            "n": len(outcome),
        }
        means = outcome.eraser.mean(axis=0).round(4).tolist()
        row |= dict(zip(("comprehensiveness", "sufficiency", "log_odds"), means, strict=True))
        known = outcome.infidelity[~np.isnan(outcome.infidelity[:, 1])]
        if len(known):
            scaled, unexplained = known.mean(axis=0).tolist()
            row |= {
                "infidelity": float(f"{scaled:.4g}"),
                "unexplained": round(unexplained, 4),
                "n_infidelity": len(known),
            }
        with_areas = outcome.areas[~np.isnan(outcome.areas[:, 0])]
        if len(with_areas):
            row |= dict(zip(("deletion", "insertion"), with_areas.mean(axis=0).round(4).tolist(), strict=True))
            row |= {"n_areas": len(with_areas)}
        if configuration != subject and subject in outcomes:
            leads = zip(_BETTER, _leads(outcomes[subject], outcome), strict=True)
            row["lead"] = {name: markdown.plain(lead) for name, lead in leads if lead}
        yield row


def summary(metrics: Sequence[Mapping[str, Any]], subject: Configuration) -> str:
    """Return in how many comparisons with rivals, on all targets, the subject is ahead and behind in each metric.

    Rivals are the explainers of other packages and papers, without random order. A comparison counts if it has an
    interval.
    """
    rivals = [row for row in metrics if not of_this_library(parse(row["spec"])) and row["spec"] != "random"]
    lines = []
    for name in _BETTER:
        leads = [row["lead"][name] for row in rivals if row.get("lead", {}).get(name, {}).get("low") is not None]
        ahead, behind = sum(lead["low"] > 0 for lead in leads), sum(lead["high"] < 0 for lead in leads)
        counts = (len(leads), ahead, len(leads) - ahead - behind, behind)
        lines += [[name.replace("_", "-"), *map(str, counts)]] if leads else []
    head = ["metric", "comparisons", "ahead", "the interval includes 0", "behind"]
    caption = f"`{subject}` against rivals in other metrics (target x rival, by the first operator):"
    return f"{caption}\n\n{markdown.table(head, lines)}" if lines else ""


def table(metrics: Sequence[Mapping[str, Any]], subject: Configuration) -> str:
    """Return the metrics in Markdown, with the lead of the subject below each one, bold if negative."""
    lines = [[f"`{row['spec']}`", *(_cell(row, name) for name in _BETTER)] for row in metrics]
    reading = (
        f"Below each figure: by how much `{subject}` is better on the texts that both explained; bold: the other one "
        "is ahead. The oldest records have no infidelity, deletion and insertion: where fewer texts have these, their "
        "number is told."
    )
    return f"{reading}\n\n{markdown.table(_HEAD, lines)}"


def _leads(ours: Outcomes, theirs: Outcomes) -> tuple[Difference | None, ...]:
    here, there = ours.common(theirs)
    if not len(here):
        return (None,) * len(_BETTER)
    difference = _values(ours)[here] - _values(theirs)[there]
    return paired_means(difference * np.array(list(_BETTER.values())))


def _values(item: Outcomes) -> Floats:
    return np.column_stack([item.eraser, item.infidelity[:, 1], item.areas])


def _cell(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        return ""
    shown, lead = f"{row[name]:.3f}", row.get("lead", {}).get(name)
    n = row.get(_COUNTS.get(name, "n"), row["n"])
    shown += f" ({n:,} texts)" if n < row["n"] else ""
    if not lead:
        return shown
    if lead["low"] is None:
        return f"{shown}<br>{markdown.signed(lead['mean'])}"
    low, high = markdown.signed(lead["low"]), markdown.signed(lead["high"])
    shown = f"**{shown}**" if lead["high"] < 0 else shown
    return f"{shown}<br>{markdown.signed(lead['mean'])} ({low} to {high})"

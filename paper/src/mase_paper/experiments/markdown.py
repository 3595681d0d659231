"""Tables and numbers of a report in Markdown, and summaries as plain JSON types."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from mase.methods import Configuration
from mase.statistics import Difference, Summary
from mase_paper.experiments.results import Outcomes

__all__ = ["costs", "marked", "operator", "plain", "signed", "table"]

_OPERATORS = {
    "mask": "the model's mask token",
    "unk": "the model's unknown token",
    "pad": "the padding token",
    "zero": "a zero vector",
    "delete": "deletion",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with its first column aligned to the left and the others to the right.

    Examples
    --------
    >>> print(table(["method", "k"], [["mase", "0.1"]]))
    | method | k |
    |---|---:|
    | mase | 0.1 |
    """
    lines = [" | ".join(line) for line in (head, *rows)]
    rule = "|".join(["---", *["---:"] * (len(head) - 1)])
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def operator(name: str) -> str:
    """Return a masking operator in words."""
    return _OPERATORS.get(name, name)


def marked(figures: Sequence[str]) -> list[str]:
    """Return figures, given with equal numbers of decimals, with the highest in bold, including ties.

    Examples
    --------
    >>> marked(["0.947", "0.948"]), marked(["0.480", "0.480"])
    (['0.947', '**0.948**'], ['**0.480**', '**0.480**'])
    """
    highest = max(map(float, figures), default=0.0)
    return [f"**{figure}**" if float(figure) == highest else figure for figure in figures]


def signed(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(-0.0412)
    '−0.041'
    """
    return f"{value:+.3f}".replace("-", "−")


def plain(summary: Summary | Difference) -> dict[str, Any]:
    """Return a summary or difference as plain JSON types, rounded to four decimals; None for an undefined bound."""
    shared = ("mean", "low", "high", "n")
    names = (*shared, "sd", "n_batches") if isinstance(summary, Summary) else (*shared, "p_value")
    values = {name: getattr(summary, name) for name in names}
    return {
        name: value if not isinstance(value, float) else None if isnan(value) else round(value, 4)
        for name, value in values.items()
    }


def costs(outcomes: Mapping[Configuration, Outcomes]) -> str:
    """Return a table of the model evaluations of one explanation.

    It has no seconds, because a long run shares its machine with other processes. `benchmarks/` compares speed.
    """
    rows = [
        [
            f"`{configuration}`",
            f"{np.median(outcome.queries):,.0f}",
            f"{np.median(outcome.gradients):,.0f}",
            f"{outcome.half.mean():.0%}",
        ]
        for configuration, outcome in outcomes.items()
    ]
    head = ["method", "evaluations", "of them with gradients", "texts in half precision"]
    return f"Medians over the texts. Evaluations count gradients too.\n\n{table(head, rows)}"

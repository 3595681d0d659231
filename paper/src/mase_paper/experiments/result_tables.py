"""Delta Accuracy as tables of results: the best explainers of a column are marked, the others tested against them."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from mase.arrays import Bools
from mase.methods import Configuration
from mase.metrics.tables import ResultColumn, ResultTable, standings
from mase.render.figure import DotPanel
from mase.statistics import Difference, Summary, paired_share, summary_of_share
from mase_paper.experiments import markdown
from mase_paper.experiments.batches import share
from mase_paper.experiments.experiment import BATCH_SIZE
from mase_paper.experiments.paper import KS
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.testbeds import Target

__all__ = ["by_evaluations", "by_k", "by_operator", "panels"]
_MEASURED = "Delta Accuracy"


def by_operator(
    target: Target, outcomes: Mapping[Configuration, Outcomes], n_batches: int, ks: Sequence[int] = KS
) -> list[ResultTable]:
    """Return a table of a target for each masking operator, with a column for each k, by default of the paper."""
    operators = next(iter(outcomes.values())).header["operators"] if outcomes else ()
    return [
        by_k(f"{target.title}, masked by {markdown.operator(operator)}", outcomes, n_batches, index, ks)
        for index, operator in enumerate(operators)
    ]


def by_k(
    where: str, outcomes: Mapping[Configuration, Outcomes], n_batches: int, index: int = 0, ks: Sequence[int] = KS
) -> ResultTable:
    """Return a table with a row for each explainer and a column for each k, under the operator of this index."""
    named = {str(configuration): outcome for configuration, outcome in outcomes.items()}
    columns = tuple(_column(f"T-{k}", named, index, k, n_batches) for k in ks)
    return ResultTable(_MEASURED, columns, {method: len(item) for method, item in named.items()}, where)


def by_evaluations(
    target: Target,
    swept: Mapping[Configuration, Mapping[int, Outcomes]],
    budgets: Sequence[int],
    k: int,
    n_batches: int,
) -> ResultTable:
    """Return a table with a row for each explainer and a column for each number of evaluations N."""
    named = {str(configuration): known for configuration, known in swept.items()}
    columns = tuple(
        _column(f"N={n}", {method: known.get(n) for method, known in named.items()}, 0, k, n_batches) for n in budgets
    )
    n_texts = {method: max(map(len, known.values())) for method, known in named.items()}
    return ResultTable(_MEASURED, columns, n_texts, f"{target.title}, T-{k} by number of evaluations")


def panels(target: Target, table: ResultTable) -> tuple[DotPanel, ...]:
    """Return the panels of a table, titled with the target alone."""
    return tuple(DotPanel(target.title, panel.measured, panel.dots) for panel in table.panels())


def _column(name: str, outcomes: Mapping[str, Outcomes | None], index: int, k: int, n_batches: int) -> ResultColumn:
    known = {
        method: (outcome, outcome.flips[:, index, k - 1]) for method, outcome in outcomes.items() if outcome is not None
    }
    summaries = {method: _summary(known[method][1], n_batches) if method in known else None for method in outcomes}
    differences: dict[tuple[str, str], Difference | None] = {}
    for (first, (ours, flips)), (second, (theirs, other_flips)) in combinations(known.items(), 2):
        here, there = ours.common(theirs)
        differences[first, second] = paired_share(flips[here], other_flips[there]) if len(here) else None
    return ResultColumn(name, "higher", True, standings(summaries, differences, "higher"))


def _summary(flips: Bools, n_batches: int) -> Summary:
    """Return the mean, with its standard deviation over batches if there is at least one batch of texts."""
    return share(flips, n_batches) if len(flips) >= BATCH_SIZE else summary_of_share(flips)

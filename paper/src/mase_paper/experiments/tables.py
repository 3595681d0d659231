"""Tables 1 and 2 of the paper: Delta Accuracy of the explainers on the LSTMs and on the BERTs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase.methods import Configuration
from mase.metrics.tables import ResultTable, Standing
from mase_paper.experiments import markdown, rerun
from mase_paper.experiments.batches import batches, share
from mase_paper.experiments.experiment import BATCH_SIZE, Report, Scope, collected
from mase_paper.experiments.paper import KS, METHODS, PAPER, printed
from mase_paper.experiments.result_tables import by_operator, panels
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.testbeds import Target

__all__ = ["PAPER_METHODS", "TABLE1", "TABLE2", "Table"]

# The paper's explainers that serve every target, and ours. Deep SHAP serves the LSTMs only.
PAPER_METHODS = (
    "random", "lime-paper", "lime", "kernel-shap", "permutation-importance", "gradient", "mase-paper", "mase-sparse",
    "mase",
)  # fmt: skip
_READING = """\
Each cell: the share of correctly classified texts whose prediction changes when the k words of highest score are \
masked
(Delta Accuracy, T-k), mean ± standard deviation over batches of 1,000 texts (left out with fewer texts); below it \
the 95 %
interval of the mean (Wilson, each text once); below that the paper's figure, and in brackets ours minus the \
paper's. Words are
masked whole, in signed descending order of their scores, ties in reading order. Every explainer that samples asks \
the model
1,000 times. **Bold**: the highest figure of the column. ≈: not shown to be worse on the same texts, by McNemar's \
exact test at
the 5 % level with Holm's correction for all pairs of explainers in the column.

The paper does not say what its ± is, nor what it masks with, and its models are not published: a difference is one \
between two
models as much as between two runs. Its baselines look as if some were not set up as their authors meant (on \
LSTM-IMDB its LIME
hardly beats its Random), so they were measured anew."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the paper: its targets and its explainers."""

    name: str
    title: str
    targets: tuple[str, ...]
    methods: tuple[str, ...]

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every target."""
        configurations = scope.chosen_configurations([Configuration(method) for method in self.methods])
        return [
            Work(target, configuration, scope.texts(target.n_texts))
            for target in scope.chosen_targets(self.targets)
            for configuration in configurations
        ]

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the paper's figures beside ours."""
        result = collected(self.works(scope), records)
        by_target = {target: by_operator(target, outcomes, scope.batches) for target, outcomes in result.items()}
        parts = [f"# {self.title}", _READING, f"![Delta Accuracy: means with intervals]({self.name}-means.svg)"]
        parts += [self._section(target, outcomes, scope, by_target[target]) for target, outcomes in result.items()]
        cells = [cell for target, outcomes in result.items() for cell in _cells(target, outcomes, scope)]
        dots = [panel for target, tables in by_target.items() for panel in panels(target, tables[0])]
        every = [table for tables in by_target.values() for table in tables]
        return Report({"cells": cells}, "\n\n".join(parts) + "\n", every, dots=dots)

    def _section(
        self,
        target: Target,
        outcomes: Mapping[Configuration, Outcomes],
        scope: Scope,
        tables: Sequence[ResultTable],
    ) -> str:
        n_texts = max(map(len, outcomes.values()))
        split = next(iter(outcomes.values())).header["data"]["split"]
        operators = [markdown.operator(name) for name in next(iter(outcomes.values())).header["operators"]]
        spread = f", {batches(n_texts, scope.batches).describe()}" if n_texts >= BATCH_SIZE else ""
        label = f" (`{PAPER[target.name].label}`)" if target.name in PAPER else ""
        head = ["method", *(f"T-{k}" for k in KS)]
        parts = [
            f"## {target.heading}{label}",
            f"{n_texts:,} texts of the {split} split{spread}; masked by {operators[0]}.",
            markdown.table(head, _rows(target, outcomes, tables[0], n_texts)),
        ]
        for operator, table in zip(operators[1:], tables[1:], strict=True):
            columns = [list(map(_marked, column.standings.values())) for column in table.columns]
            rows = [[f"`{configuration}`", *means] for configuration, *means in zip(outcomes, *columns, strict=True)]
            parts += [f"### {target.title}, masked by {operator}", markdown.table(head, rows)]
        shown = next(
            (configuration for configuration in outcomes if configuration.method == "mase-paper"), next(iter(outcomes))
        )
        parts += [f"### {target.title}, cost of one explanation", markdown.costs(outcomes)]
        repeats = [rerun.repeat(self.name, target, some, scope) for some in (outcomes, {shown: outcomes[shown]})]
        parts += [rerun.section(self.name, target, *repeats)]
        return "\n\n".join(parts)


def _rows(
    target: Target, outcomes: Mapping[Configuration, Outcomes], table: ResultTable, n_texts: int
) -> Iterator[list[str]]:
    """Yield a row for each explainer, with its number of texts if it has fewer than others."""
    for configuration, outcome in outcomes.items():
        paper = METHODS.get(configuration.method) if not configuration.settings else None
        fewer = f"<br>{len(outcome):,} texts" if len(outcome) < n_texts else ""
        name = f"`{configuration}`" + (f"<br>paper: {paper}" if paper else "") + fewer
        cells = zip(KS, (column.standings[str(configuration)] for column in table.columns), strict=True)
        yield [name, *(_cell(standing, target, configuration, k) for k, standing in cells)]


def _marked(standing: Standing) -> str:
    """Return a mean, in bold if it is the best, and with a sign if it is not shown to be worse."""
    mean = "" if standing.summary is None else f"{standing.summary.mean:.3f}"
    return f"**{mean}**" if standing.mark == "best" else f"{mean} ≈" if standing.mark == "tied" else mean


def _cell(standing: Standing, target: Target, configuration: Configuration, k: int) -> str:
    """Return one cell; without a standard deviation over batches if there is less than one batch of texts."""
    summary = standing.summary
    if summary is None:
        return ""
    mean, _, sign = _marked(standing).partition(" ")
    lines = [
        f"{mean}{'' if summary.sd is None else f' ± {summary.sd:.3f}'} {sign}".rstrip(),
        f"{summary.low:.3f} to {summary.high:.3f}",
    ]
    figure = None if configuration.settings else printed(target.name, configuration.method, k)
    if figure is not None:
        lines.append(f"paper {figure.mean:.3f} ± {figure.spread:.3f} ({markdown.signed(summary.mean - figure.mean)})")
    return "<br>".join(lines)


def _cells(target: Target, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield every figure of a target as plain JSON types."""
    for configuration, outcome in outcomes.items():
        for index, operator in enumerate(outcome.header["operators"]):
            for k in KS:
                summary = share(outcome.flips[:, index, k - 1], scope.batches)
                cell = {
                    "target": target.name,
                    "spec": str(configuration),
                    "operator": operator,
                    "k": k,
                } | markdown.plain(summary)
                cell["resampled"] = batches(len(outcome), scope.batches).resampled
                figure = (
                    printed(target.name, configuration.method, k) if index == 0 and not configuration.settings else None
                )
                if figure is not None:
                    difference = round(summary.mean - figure.mean, 4)
                    cell |= {"paper": figure.mean, "paper_spread": figure.spread, "difference": difference}
                yield cell


TABLE1 = Table("table1", "Table 1: explaining LSTMs", ("lstm-imdb", "lstm-reuters"), ("deep-shap", *PAPER_METHODS))
TABLE2 = Table("table2", "Table 2: explaining BERT classifiers", ("bert-imdb", "bert-reuters"), PAPER_METHODS)

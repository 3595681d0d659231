"""Figure 4 of the paper: Delta Accuracy over the number of masked words, and over the number of model evaluations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase.methods import Configuration
from mase.statistics import summary_of_share
from mase_paper.experiments import markdown, rerun
from mase_paper.experiments.batches import share
from mase_paper.experiments.experiment import Report, Scope, collected, on_shared_texts
from mase_paper.experiments.paper import KS
from mase_paper.experiments.plots import Curve, Panel
from mase_paper.experiments.records import DEPTH
from mase_paper.experiments.result_tables import by_evaluations, by_k
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.tables import PAPER_METHODS
from mase_paper.experiments.testbeds import PAPER, Target
from mase_paper.experiments.trial import n_samples_of

__all__ = ["FIGURE4", "Figure4", "sampled"]
BUDGETS = (100, 250, 500, 1000, 2000, 5000)
_SWEPT = ("mase-paper", "mase-sparse", "mase", "lime", "kernel-shap")
Sampled = Mapping[Configuration, Mapping[int, Outcomes]]
_K = 10  # in the diagrams over N; the JSON has every k of the tables
_READING = """\
Above: Delta Accuracy, the share of correctly classified texts whose prediction changes, over the number of words \
masked
(k), with 95 % intervals. Below: Delta Accuracy at k = 10, and the accuracy that remains after masking (one minus \
it, since
every text was classified correctly), over the number of model evaluations N per explanation.

The paper's caption names three columns, its figure has four, and its text says that a growing N *decreases* Delta \
Accuracy,
where a consistent estimator can only rank better; read as remaining accuracy the sentence is right. Both are drawn. \
The paper
gives no numbers for this figure."""


@dataclass(frozen=True, slots=True)
class Figure4:
    """Figure 4. Curves over k use the records of the tables; curves over N need further records.

    The default N of a method needs no further records.
    """

    name: str = "figure4"

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every target, and the sampling ones again for each N other than their default."""
        over_k = _works_over_k(scope)
        known = {(work.target, work.configuration) for work in over_k}
        return [*over_k, *(work for work in _works_over_n(scope) if (work.target, work.configuration) not in known)]

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the curves of the existing records; those over N on the first texts that all N of a target have."""
        by_target = collected(_works_over_k(scope), records)
        shared = on_shared_texts(_works_over_n(scope), records)
        swept = {target: sampled(outcomes) for target, outcomes in shared.items()}
        swept = {
            target: curves
            for target, curves in swept.items()
            if len({n for curve in curves.values() for n in curve}) > 1
        }
        over_k = [_over_k(target, outcomes) for target, outcomes in by_target.items()]
        over_n = [_over_n(target, curves, remaining=left) for target, curves in swept.items() for left in (False, True)]
        figures = {"masked": [panel for panel in over_k if panel.curves], "evaluations": over_n}
        figures = {name: panels for name, panels in figures.items() if panels}
        parts = ["# Figure 4: masking size and number of evaluations", _READING]
        parts += [f"![Delta Accuracy: {name}]({self.name}-{name}.svg)" for name in figures]
        parts += [
            self._section(target, outcomes, swept.get(target, {}), scope) for target, outcomes in by_target.items()
        ]
        points = [
            point
            for target, outcomes in by_target.items()
            for point in _points(target, outcomes, swept.get(target, {}), scope)
        ]
        tables = [
            by_k(f"{target.title}, by words masked", outcomes, scope.batches, ks=range(1, DEPTH + 1))
            for target, outcomes in by_target.items()
        ]
        tables += [by_evaluations(target, curves, BUDGETS, _K, scope.batches) for target, curves in swept.items()]
        columns = 4 if len(by_target) > 1 else 2
        return Report({"points": points}, "\n\n".join(parts) + "\n", tables, figures, columns)

    def _section(self, target: Target, outcomes: Mapping[Configuration, Outcomes], swept: Sampled, scope: Scope) -> str:
        parts = [f"## {target.heading}"]
        if swept:
            n_texts = max(len(item) for by_budget in swept.values() for item in by_budget.values())
            rows = [
                [
                    f"`{configuration}`",
                    *(f"{by_budget[n].flips[:, 0, _K - 1].mean():.3f}" if n in by_budget else "" for n in BUDGETS),
                ]
                for configuration, by_budget in swept.items()
            ]
            parts += [f"Delta Accuracy at k = {_K} by number of evaluations N, {n_texts:,} texts:"]
            parts += [markdown.table(["method", *map(str, BUDGETS)], rows)]
            known = {configuration: next(iter(by_budget.values())) for configuration, by_budget in swept.items()}
            lines = rerun.repeat(self.name, target, known, scope)
        else:
            parts, lines = [*parts, "(no records over N yet)"], []
        table = "table1" if target.name.startswith("lstm") else "table2"
        lines = [*rerun.repeat(table, target, outcomes, scope), *lines]
        return "\n\n".join([*parts, rerun.section(self.name, target, lines)])


def _works_over_k(scope: Scope) -> list[Work]:
    works = []
    for target in scope.chosen_targets(tuple(PAPER)):
        methods = ("deep-shap", *PAPER_METHODS) if target.name.startswith("lstm") else PAPER_METHODS
        configurations = scope.chosen_configurations([Configuration(method) for method in methods])
        works += [Work(target, configuration, scope.texts(target.n_texts)) for configuration in configurations]
    return works


def _works_over_n(scope: Scope) -> list[Work]:
    """Return the work of the curves over N. The default N of a method is left out of its configuration."""
    return [
        Work(work.target, configuration, scope.texts(work.target.n_study))
        for work in _works_over_k(scope)
        if work.configuration.method in _SWEPT
        for configuration in _budgets(work.configuration)
    ]


def _budgets(configuration: Configuration) -> Iterator[Configuration]:
    named = "n_samples" in dict(configuration.settings)
    for n in () if named else BUDGETS:
        if n != n_samples_of(configuration.method):
            yield replace(configuration, settings=tuple(sorted((*configuration.settings, ("n_samples", n)))))
        else:
            yield configuration
    if named:
        yield configuration


def sampled(outcomes: Mapping[Configuration, Outcomes]) -> Sampled:
    """Return outcomes by configuration, without its number of evaluations N, and by N."""
    by_budget: dict[Configuration, dict[int, Outcomes]] = {}
    for configuration, outcome in outcomes.items():
        settings = dict(configuration.settings)
        n = settings.pop("n_samples", n_samples_of(configuration.method))
        by_budget.setdefault(replace(configuration, settings=tuple(settings.items())), {})[n] = outcome
    return by_budget


def _over_k(target: Target, outcomes: Mapping[Configuration, Outcomes]) -> Panel:
    ks = tuple(range(1, DEPTH + 1))
    curves = []
    for configuration, item in sorted(outcomes.items(), key=_ours_first):
        if "n_samples" not in dict(configuration.settings):
            curves.append(_curve(str(configuration), ks, [item.flips[:, 0, k - 1] for k in ks]))
    return Panel(target.title, "words masked, k", "Delta Accuracy", tuple(curves))


def _ours_first(item: tuple[Configuration, Any]) -> bool:
    """Return a sort key: `mase` is the first line of every panel, in black, and the others keep their order."""
    return item[0].method != "mase"


def _over_n(target: Target, swept: Sampled, *, remaining: bool) -> Panel:
    curves = []
    for configuration, by_budget in sorted(swept.items(), key=_ours_first):
        budgets = tuple(sorted(by_budget))
        flips = [by_budget[n].flips[:, 0, _K - 1] for n in budgets]
        curves.append(_curve(str(configuration), budgets, [~flip for flip in flips] if remaining else flips))
    title = "accuracy that remains" if remaining else "Delta Accuracy"
    return Panel(target.title, "evaluations, N", f"{title} (k = {_K})", tuple(curves), log_x=True)


def _curve(label: str, xs: tuple[int, ...], hits: list[Any]) -> Curve:
    summaries = [summary_of_share(flips) for flips in hits]
    means, lows, highs = (tuple(getattr(summary, name) for summary in summaries) for name in ("mean", "low", "high"))
    return Curve(label, xs, means, lows, highs)


def _points(
    target: Target, outcomes: Mapping[Configuration, Outcomes], swept: Sampled, scope: Scope
) -> Iterator[dict[str, Any]]:
    drawn: list[tuple[Configuration, dict[str, int], Outcomes, Iterable[int]]]
    drawn = [(configuration, {}, outcome, range(1, DEPTH + 1)) for configuration, outcome in outcomes.items()]
    drawn += [
        (configuration, {"n_samples": n}, item, KS)
        for configuration, by_budget in swept.items()
        for n, item in by_budget.items()
    ]
    for configuration, budget, item, ks in drawn:
        for index, operator in enumerate(item.header["operators"]):
            for k in ks:
                summary = share(item.flips[:, index, k - 1], scope.batches)
                point = {"target": target.name, "spec": str(configuration), **budget, "operator": operator, "k": k}
                yield point | markdown.plain(summary)


FIGURE4 = Figure4()

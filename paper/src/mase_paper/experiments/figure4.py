"""Figure 4 of the paper: Delta Accuracy over the number of masked words, and over the number of model evaluations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase.methods import METHODS
from mase.metrics.intervals import summary_of_share
from mase_paper.experiments import markdown, rerun
from mase_paper.experiments.batches import share
from mase_paper.experiments.experiment import Report, Scope, collected, on_shared_texts
from mase_paper.experiments.paper import KS
from mase_paper.experiments.plots import Curve, Panel
from mase_paper.experiments.records import DEPTH
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.specs import Spec
from mase_paper.experiments.tables import PAPER_METHODS
from mase_paper.experiments.testbeds import TARGETS, Target

__all__ = ["FIGURE4", "Figure4", "sampled"]

BUDGETS = (100, 250, 500, 1000, 2000, 5000)
_SWEPT = ("mase-paper", "mase-sparse", "mase", "lime", "kernel-shap")
Sampled = Mapping[Spec, Mapping[int, Outcomes]]
_K = 10  # of the diagrams over N; the JSON has every k of the tables
_READING = """\
Above: Delta Accuracy, the share of correctly classified texts whose prediction changes, over the number of words masked
(k), with 95 % intervals. Below: Delta Accuracy at k = 10, and the accuracy that remains after masking (one minus it, since
every text was classified correctly), over the number of model evaluations N per explanation.

The paper's caption names three columns, its figure has four, and its text says that a growing N *decreases* Delta Accuracy,
where a consistent estimator can only rank better; read as remaining accuracy the sentence is right. Both are drawn. The paper
gives no numbers for this figure."""


@dataclass(frozen=True, slots=True)
class Figure4:
    """The curves over k are of the tables' records; those over N need records of their own but for each method's own N."""

    name: str = "figure4"

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every target, and the sampling ones again for each N that is not their own."""
        whole = _whole(scope)
        plain = {(work.target, work.spec) for work in whole}
        return [*whole, *(work for work in _swept(scope) if (work.target, work.spec) not in plain)]

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the curves of the records there are; those over N on the first texts that all of a target's N have."""
        found = collected(_whole(scope), records)
        swept = {target: sampled(outcomes) for target, outcomes in on_shared_texts(_swept(scope), records).items()}
        swept = {
            target: curves for target, curves in swept.items() if len({n for one in curves.values() for n in one}) > 1
        }
        over_k = [_over_k(target, outcomes) for target, outcomes in found.items()]
        over_n = [_over_n(target, curves, remaining=left) for target, curves in swept.items() for left in (False, True)]
        figures = {"masked": [panel for panel in over_k if panel.curves], "evaluations": over_n}
        figures = {name: panels for name, panels in figures.items() if panels}
        parts = ["# Figure 4: masking size and number of evaluations", _READING]
        parts += [f"![Delta Accuracy: {name}]({self.name}-{name}.svg)" for name in figures]
        parts += [self._section(target, outcomes, swept.get(target, {}), scope) for target, outcomes in found.items()]
        points = [
            point
            for target, outcomes in found.items()
            for point in _points(target, outcomes, swept.get(target, {}), scope)
        ]
        return Report({"points": points}, "\n\n".join(parts) + "\n", figures, columns=4 if len(found) > 1 else 2)

    def _section(self, target: Target, outcomes: Mapping[Spec, Outcomes], swept: Sampled, scope: Scope) -> str:
        parts = [f"## {target.introduced}"]
        if swept:
            n_texts = max(len(one) for by_budget in swept.values() for one in by_budget.values())
            rows = [
                [
                    f"`{spec}`",
                    *(f"{by_budget[n].flips[:, 0, _K - 1].mean():.3f}" if n in by_budget else "" for n in BUDGETS),
                ]
                for spec, by_budget in swept.items()
            ]
            parts += [f"Delta Accuracy at k = {_K} by number of evaluations N, {n_texts:,} texts:"]
            parts += [markdown.table(["method", *map(str, BUDGETS)], rows)]
            known = {spec: next(iter(by_budget.values())) for spec, by_budget in swept.items()}
            lines = rerun.repeat(self.name, target, known, scope)
        else:
            parts, lines = [*parts, "(no records over N yet)"], []
        table = "table1" if target.name.startswith("lstm") else "table2"
        lines = [*rerun.repeat(table, target, outcomes, scope), *lines]
        return "\n\n".join([*parts, rerun.section(self.name, target, lines)])


def _whole(scope: Scope) -> list[Work]:
    found = []
    for target in scope.chosen_targets(tuple(TARGETS)):
        methods = ("deep-shap", *PAPER_METHODS) if target.name.startswith("lstm") else PAPER_METHODS
        specs = scope.chosen_specs([Spec(method) for method in methods])
        found += [Work(target, spec, scope.texts(target.n_texts)) for spec in specs]
    return found


def _swept(scope: Scope) -> list[Work]:
    """Return the work of the curves over N: a spec as it is for its own number of evaluations, and with each other one."""
    return [
        Work(work.target, one, scope.texts(work.target.n_study))
        for work in _whole(scope)
        if work.spec.method in _SWEPT
        for one in _budgets(work.spec)
    ]


def _budgets(spec: Spec) -> Iterator[Spec]:
    named = "n_samples" in dict(spec.settings)
    for n in () if named else BUDGETS:
        if n != METHODS[spec.method].n_samples:
            yield replace(spec, settings=tuple(sorted((*spec.settings, ("n_samples", n)))))
        else:
            yield spec
    if named:
        yield spec


def sampled(outcomes: Mapping[Spec, Outcomes]) -> Sampled:
    """Return outcomes by spec without its number of evaluations N, and by N."""
    found: dict[Spec, dict[int, Outcomes]] = {}
    for spec, one in outcomes.items():
        settings = dict(spec.settings)
        n = settings.pop("n_samples", METHODS[spec.method].n_samples)
        found.setdefault(replace(spec, settings=tuple(settings.items())), {})[n] = one
    return found


def _over_k(target: Target, outcomes: Mapping[Spec, Outcomes]) -> Panel:
    ks = tuple(range(1, DEPTH + 1))
    curves = []
    for spec, one in sorted(outcomes.items(), key=_ours_first):
        if "n_samples" not in dict(spec.settings):
            curves.append(_curve(str(spec), ks, [one.flips[:, 0, k - 1] for k in ks]))
    return Panel(target.title, "words masked, k", "Delta Accuracy", tuple(curves))


def _ours_first(item: tuple[Spec, Any]) -> bool:
    """Return the place of a curve: `mase` is the first and black line of every panel, the others keep their order."""
    return item[0].method != "mase"


def _over_n(target: Target, swept: Sampled, *, remaining: bool) -> Panel:
    curves = []
    for spec, by_budget in sorted(swept.items(), key=_ours_first):
        budgets = tuple(sorted(by_budget))
        flips = [by_budget[n].flips[:, 0, _K - 1] for n in budgets]
        curves.append(_curve(str(spec), budgets, [~one for one in flips] if remaining else flips))
    title = "accuracy that remains" if remaining else "Delta Accuracy"
    return Panel(target.title, "evaluations, N", f"{title} (k = {_K})", tuple(curves), log_x=True)


def _curve(label: str, xs: tuple[int, ...], hits: list[Any]) -> Curve:
    found = [summary_of_share(one) for one in hits]
    means, lows, highs = (tuple(getattr(one, name) for one in found) for name in ("mean", "low", "high"))
    return Curve(label, xs, means, lows, highs)


def _points(
    target: Target, outcomes: Mapping[Spec, Outcomes], swept: Sampled, scope: Scope
) -> Iterator[dict[str, Any]]:
    drawn: list[tuple[Spec, dict[str, int], Outcomes, Iterable[int]]]
    drawn = [(spec, {}, one, range(1, DEPTH + 1)) for spec, one in outcomes.items()]
    drawn += [(spec, {"n_samples": n}, one, KS) for spec, by_budget in swept.items() for n, one in by_budget.items()]
    for spec, budget, one, ks in drawn:
        for index, operator in enumerate(one.header["operators"]):
            for k in ks:
                summary = share(one.flips[:, index, k - 1], scope.batches)
                yield {
                    "target": target.name,
                    "spec": str(spec),
                    **budget,
                    "operator": operator,
                    "k": k,
                } | markdown.plain(summary)


FIGURE4 = Figure4()

"""Figure 4 of the paper: Delta Accuracy over the number of masked words, and over the number of model evaluations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase.experiments import commands, markdown
from mase.experiments.batches import share
from mase.experiments.experiment import Report, Scope, collected
from mase.experiments.outcomes import Outcomes
from mase.experiments.paper import KS
from mase.experiments.records import DEPTH
from mase.experiments.runner import Work
from mase.experiments.specs import Spec
from mase.experiments.tables import PAPER_METHODS
from mase.experiments.targets import TARGETS, Target
from mase.metrics.intervals import summary_of_share
from mase.render.curves import Curve, Panel

__all__ = ["FIGURE4", "Figure4", "sampled"]

BUDGETS = (100, 250, 500, 1000, 1500, 2000, 3000, 5000)
_SWEPT = ("mase-paper", "mase-sparse", "mase", "lime", "kernel-shap")
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
    """The curves over k need the records of the tables; those over N need their own."""

    name: str = "figure4"

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every target, and the sampling ones again for each N."""
        found = []
        for target in scope.chosen_targets(tuple(TARGETS)):
            methods = ("deep-shap", *PAPER_METHODS) if target.name.startswith("lstm") else PAPER_METHODS
            specs = scope.chosen_specs([Spec(method) for method in methods])
            found += [Work(target, spec, scope.texts(target.n_texts)) for spec in specs]
            found += [Work(target, spec, scope.texts(target.n_study)) for spec in _swept(specs)]
        return found

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the curves of the records there are."""
        found = collected(self.works(scope), records)
        over_k = [_over_k(target, outcomes) for target, outcomes in found.items()]
        over_n = [_over_n(target, outcomes, remaining=False) for target, outcomes in found.items()]
        left = [_over_n(target, outcomes, remaining=True) for target, outcomes in found.items()]
        parts = ["# Figure 4: masking size and number of evaluations", _READING]
        parts += [f"![Delta Accuracy over k]({self.name}-masked.svg)", f"![Over N]({self.name}-evaluations.svg)"]
        parts += [self._section(target, outcomes, scope) for target, outcomes in found.items()]
        points = [point for target, outcomes in found.items() for point in _points(target, outcomes, scope)]
        drawn = {"masked": over_k, "evaluations": [panel for panel in (*over_n, *left) if panel.curves]}
        figures = {name: panels for name, panels in drawn.items() if panels}
        return Report({"points": points}, "\n\n".join(parts) + "\n", figures, columns=max(1, len(found)))

    def _section(self, target: Target, outcomes: Mapping[Spec, Outcomes], scope: Scope) -> str:
        rows = []
        for method, by_budget in sampled(outcomes).items():
            cells = [f"{by_budget[n].flips[:, 0, _K - 1].mean():.3f}" if n in by_budget else "" for n in BUDGETS]
            rows.append([f"`{method}`", *cells])
        parts = [f"## {target.title}", f"Delta Accuracy at k = {_K} by number of evaluations N:"]
        parts += [markdown.table(["method", *map(str, BUDGETS)], rows)] if rows else ["(no records over N yet)"]
        plain = [spec for spec in outcomes if "n_samples" not in dict(spec.settings)]
        known = [outcomes[spec] for spec in plain] or list(outcomes.values())
        return "\n\n".join([*parts, commands.block([commands.repeat(self.name, target, plain, known, scope)])])


def _swept(specs: tuple[Spec, ...]) -> Iterator[Spec]:
    for spec in specs:
        if spec.method in _SWEPT and "n_samples" not in dict(spec.settings):
            for n in BUDGETS:
                yield replace(spec, settings=tuple(sorted((*spec.settings, ("n_samples", n)))))


def sampled(outcomes: Mapping[Spec, Outcomes]) -> dict[Spec, dict[int, Outcomes]]:
    """Return the outcomes that name a number of evaluations N, by spec without it and by N."""
    found: dict[Spec, dict[int, Outcomes]] = {}
    for spec, one in outcomes.items():
        settings = dict(spec.settings)
        if "n_samples" in settings:
            n = settings.pop("n_samples")
            found.setdefault(replace(spec, settings=tuple(settings.items())), {})[n] = one
    return found


def _over_k(target: Target, outcomes: Mapping[Spec, Outcomes]) -> Panel:
    ks = tuple(range(1, DEPTH + 1))
    curves = []
    for spec, one in outcomes.items():
        if "n_samples" not in dict(spec.settings):
            curves.append(_curve(str(spec), ks, [one.flips[:, 0, k - 1] for k in ks]))
    return Panel(target.title, "words masked, k", "Delta Accuracy", tuple(curves))


def _over_n(target: Target, outcomes: Mapping[Spec, Outcomes], *, remaining: bool) -> Panel:
    curves = []
    for spec, by_budget in sampled(outcomes).items():
        budgets = tuple(sorted(by_budget))
        flips = [by_budget[n].flips[:, 0, _K - 1] for n in budgets]
        curves.append(_curve(str(spec), budgets, [~one for one in flips] if remaining else flips))
    title = "accuracy that remains" if remaining else "Delta Accuracy"
    return Panel(target.title, "evaluations, N", f"{title} (k = {_K})", tuple(curves), log_x=True)


def _curve(label: str, xs: tuple[int, ...], hits: list[Any]) -> Curve:
    found = [summary_of_share(one) for one in hits]
    means, lows, highs = (tuple(getattr(one, name) for one in found) for name in ("mean", "low", "high"))
    return Curve(label, xs, means, lows, highs)


def _points(target: Target, outcomes: Mapping[Spec, Outcomes], scope: Scope) -> Iterator[dict[str, Any]]:
    for spec, one in outcomes.items():
        swept = "n_samples" in dict(spec.settings)
        for index, operator in enumerate(one.header["operators"]):
            for k in KS if swept else range(1, DEPTH + 1):
                summary = share(one.flips[:, index, k - 1], scope.batches)
                yield {"target": target.name, "spec": str(spec), "operator": operator, "k": k} | markdown.plain(summary)


FIGURE4 = Figure4()

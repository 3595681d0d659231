"""Sweeps over one setting at a time: the effect of each part of a method on Delta Accuracy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase.methods import Configuration, parse
from mase.statistics import summary_of_share
from mase_paper.experiments import markdown, rerun
from mase_paper.experiments.batches import share
from mase_paper.experiments.experiment import Report, Scope, on_shared_texts
from mase_paper.experiments.paper import KS
from mase_paper.experiments.plots import Curve, Panel
from mase_paper.experiments.result_tables import by_k
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.testbeds import PAPER, Target

__all__ = ["SWEEPS", "Axis", "Sweeps"]

# The paper's estimand with little sampling error, independent of the default method.
_EXACT = "mase-paper+design=orthogonal+estimator=least-squares"
_SIGMAS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """One sweep: its title, a note, and the configurations, which differ in one setting."""

    title: str
    note: str
    configurations: tuple[str, ...]


def _over(base: str, setting: str, values: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(f"{base}+{setting}={value}" for value in values)


AXES = (
    Axis("Noise level, paper", "Independent rows and Theorem 1.", _over("mase-paper", "sigma", _SIGMAS)),
    Axis("Noise level, no sampling error", "Mirrored orthogonal rows, least squares.", _over(_EXACT, "sigma", _SIGMAS)),
    Axis("Evaluations", "Theorem 1.", _over("mase-paper", "n_samples", (100, 250, 500, 1000, 2000, 5000))),
    Axis(
        "Evaluations, no sampling error", "Least squares.",
        _over(_EXACT, "n_samples", (100, 250, 500, 1000, 2000, 5000)),
    ),
    Axis(
        "Link", "Which number of the class is explained.",
        _over(_EXACT, "link", ("probability", "log-probability", "logit", "margin")),
    ),
    Axis(
        "Reference", "What a word's vector is scaled towards; a model has no tokens but its own.",
        _over(f"{_EXACT}+sigma=0.5", "reference", ("zero", "mask", "unk", "pad")),
    ),
    Axis(
        "Design", "Where the model is asked, with least squares.",
        _over(
            "mase-paper+estimator=least-squares", "design",
            ("iid", "antithetic", "moment-matched", "orthogonal", "sobol", "path"),
        ),
    ),
    Axis(
        "Estimator", "How independent rows are solved.",
        _over("mase-paper", "estimator", ("moment", "least-squares", "ridge", "lasso", "sparse")),
    ),
    Axis(
        "Perturbation", "NLGP against standard Gaussian noise in the full embedding, at two noise levels.",
        ("mase-paper", "standard-gaussian", "mase-paper+sigma=0.3", "standard-gaussian+sigma=0.3"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sweeps:
    """All axes on all targets. `--methods` selects configurations by their names on the page."""

    name: str = "sweeps"

    def works(self, scope: Scope) -> list[Work]:
        """Return every configuration of every axis."""
        default = list(dict.fromkeys(parse(text) for axis in AXES for text in axis.configurations))
        return [
            Work(target, configuration, scope.texts(target.n_study))
            for target in scope.chosen_targets(tuple(PAPER))
            for configuration in scope.chosen_configurations(default)
        ]

    def report(self, scope: Scope, records: Path) -> Report:
        """Return a table per axis and target, and the noise levels as curves."""
        by_target = on_shared_texts(self.works(scope), records)
        by_target = {target: outcomes for target, outcomes in by_target.items() if _is_sweep(outcomes, scope)}
        parts = ["# Sweeps: one setting at a time", _READING, f"![Delta Accuracy over sigma]({self.name}-sigma.svg)"]
        parts += [self._section(target, outcomes, scope) for target, outcomes in by_target.items()]
        points = [point for target, outcomes in by_target.items() for point in _points(target, outcomes, scope)]
        panels = [
            panel
            for target, outcomes in by_target.items()
            for panel in [_noise(target, outcomes, scope)]
            if panel.curves
        ]
        tables = [
            by_k(f"{target.title}, {axis.title.lower()}", known, scope.batches)
            for target, outcomes in by_target.items()
            for axis in AXES
            if len(known := _on_axis(axis, outcomes, scope)) > 1
        ]
        figures = {"sigma": panels} if panels else {}
        return Report({"points": points}, "\n\n".join(parts) + "\n", tables, figures, max(1, len(panels)))

    def _section(self, target: Target, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> str:
        parts = [f"## {target.heading} ({max(map(len, outcomes.values())):,} texts)"]
        for axis in AXES:
            rows = [
                [f"`{configuration}`", *_shares(item)]
                for configuration, item in _on_axis(axis, outcomes, scope).items()
            ]
            if len(rows) > 1:
                parts += [f"### {target.title}: {axis.title.lower()}", axis.note]
                parts += [markdown.table(["method", *(f"T-{k}" for k in KS)], rows)]
        return "\n\n".join([*parts, rerun.section(self.name, target, rerun.repeat(self.name, target, outcomes, scope))])


_READING = """\
Delta Accuracy with its 95 % interval: the share of correctly classified texts whose prediction changes when the k \
highest
words are masked by the model's own mask token, or else its unknown token. All rows of a table are on the same texts \
and differ
in one setting."""


def _on_axis(axis: Axis, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> dict[Configuration, Outcomes]:
    configurations = [parse(text).with_seed(scope.seed) for text in axis.configurations]
    return {configuration: outcomes[configuration] for configuration in configurations if configuration in outcomes}


def _is_sweep(outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> bool:
    """Return whether any axis has two configurations; records of the paper's tables give single ones."""
    return any(len(_on_axis(axis, outcomes, scope)) > 1 for axis in AXES)


def _shares(outcomes: Outcomes) -> Iterator[str]:
    for k in KS:
        summary = summary_of_share(outcomes.flips[:, 0, k - 1])
        yield f"{summary.mean:.3f} ({summary.low:.3f} to {summary.high:.3f})"


def _noise(target: Target, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> Panel:
    curves = []
    for axis in AXES[:2]:
        known = _on_axis(axis, outcomes, scope)
        for k in (1, 10) if known else ():
            summaries = [summary_of_share(item.flips[:, 0, k - 1]) for item in known.values()]
            sigmas = tuple(float(dict(configuration.settings)["sigma"]) for configuration in known)
            means, lows, highs = (
                tuple(getattr(summary, part) for summary in summaries) for part in ("mean", "low", "high")
            )
            curves.append(Curve(f"{axis.title.partition(', ')[2]}, k = {k}", sigmas, means, lows, highs))
    return Panel(target.title, "sigma", "Delta Accuracy", tuple(curves), log_x=True)


def _points(target: Target, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> Iterator[dict[str, Any]]:
    for configuration, outcome in outcomes.items():
        axes = [axis.title for axis in AXES if configuration in _on_axis(axis, outcomes, scope)]
        for index, operator in enumerate(outcome.header["operators"]):
            for k in KS:
                summary = share(outcome.flips[:, index, k - 1], scope.batches)
                cell = {"target": target.name, "spec": str(configuration), "axes": axes, "operator": operator, "k": k}
                yield cell | markdown.plain(summary)


SWEEPS = Sweeps()

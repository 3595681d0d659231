"""Faithfulness of every explainer on every target under every masking operator, with paired comparisons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase.methods import METHODS, Configuration, parse
from mase_paper.experiments import markdown, mean_comparisons, other_metrics, rerun
from mase_paper.experiments.batches import share
from mase_paper.experiments.experiment import Report, Scope, collected
from mase_paper.experiments.paired_comparisons import (
    KS,
    PairedComparison,
    behind,
    cells,
    compare,
    explainers,
    plain,
    summary,
    summary_table,
)
from mase_paper.experiments.result_tables import by_operator, panels
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.testbeds import PAPER, Target
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS

__all__ = ["ABLATION", "FAITHFULNESS", "RATIONALE", "Faithfulness"]
_TOP = 10  # words whose overlap between two seeds is reported
# Integrated gradients from every other reference that some model has; their default is zero. The margin, the link of
# `mase`, is a choice that rivals may make as well; their default is the probability.
_MORE = (
    *(f"integrated-gradients+reference={name}" for name in ("mask", "unk", "pad")),
    *(
        f"{method}+link=margin"
        for method in (
            *("lime", "lime-paper", "glime", "kernel-shap", "leverage-shap", "partition-shap", "occlusion"),
            "sobol-indices",
        )
    ),
    "mase+link=probability",
)
# The default method with one part changed, then the rest of the family and the nearest rivals with its link.
_VARIANTS = (
    *(f"mase+estimator={name}" for name in ("empirical-bayes", "least-squares", "ridge")),
    *(f"mase+estimator=least-squares+n_samples={n}" for n in (100, 200, 500)),
    *(f"mase+link={link}" for link in ("probability", "log-probability")),
    *(f"mase+n_samples={n}" for n in (100, 200, 500, 2000)),
    *(
        f"mase+design=focused({part})"
        for part in (
            *("rounds=1", "rounds=3", "rounds=10", "n_draws=0", "complement=0.0", "complement=0.5"),
            *("sparse=0.0", "sparse=1.0", "n_top=8", "n_top=25", "softness=1.0", "softness=4.0"),
            *("p_high=0.7", "p_high=0.95", "p_low=0.3", "effect=kept"),
        )
    ),
    "mase+reference=pad", "mase-mask",
    *(f"{method}{link}" for method in ("kernel-shap", "lime") for link in ("", "+link=margin")),
    "integrated-gradients", "integrated-gradients+reference=unk", "integrated-gradients+reference=unk+link=margin",
    "mase-mask+link=margin", "mase-mask+estimator=lasso+link=margin",
    *(f"mase-nlgp+{settings}link=margin" for settings in ("", "sigma=1.0+", "center=0.5+sigma=0.5+reference=auto+")),
    "mase-path+link=margin", "mase-path+link=margin+reference=auto", "mase-nlgp", "mase-paper", "occlusion",
)  # fmt: skip
_READING = """\
**Bold** above: the higher of the two figures, both where they are equal. The best rival of a cell is the best of \
those that
explained all of these texts. Below, a method that explained fewer has their number beside it; with few of them only \
a large
lead leaves out 0.

`{subject}` against each other explainer on the same correctly classified texts. Each cell: the other one's Delta \
Accuracy
at k, and below it the difference ({subject} minus the other) with its paired 95 % interval (Newcombe's \
square-and-add on the
texts that both explained). **Bold** below: the other one is ahead, its interval leaves out 0. No correction is made \
for the
number of comparisons: of those between equals, one in forty is expected to look lost, and one in forty won. The \
settings of
`mase` were chosen on validation texts, by this metric among others; the other explainers have those of their packages \
or papers.

The ceiling is a search over the metric itself (greedy, and a beam of 5), which no explainer may do: the smallest \
set of words
that it finds whose masking changes the prediction. Such a search is no bound: an explainer may flip a text that it \
does not,
and reach more than 100 %. Shares are on the texts of the search; the JSON has those of all explainers."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """All methods on all targets, compared in pairs with one of them: the first of `--methods`, or `mase`.

    Attributes
    ----------
    name, title
        Of the command and of the page.
    methods
        The configurations and the upper bounds.
    reseeded
        Methods that are explained a second time with another seed, on as many texts as the upper bounds.
    """

    name: str
    title: str
    methods: tuple[str, ...]
    reseeded: tuple[str, ...] = ()

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every target, and the upper bounds on fewer texts."""
        configurations = scope.chosen_configurations([parse(text) for text in self.methods])
        second = [replace(item, seed=item.seed + 1) for item in configurations if item.method in self.reseeded]
        works = []
        for target in scope.chosen_targets(tuple(PAPER)):
            n_texts = scope.texts(target.n_study)
            few = min(n_texts, target.n_search)
            for configuration in configurations:
                n = few if configuration.method in UPPER_BOUNDS else n_texts
                works.append(Work(target, configuration, n))
            works += [
                Work(target, configuration, few) for configuration in second if configuration not in configurations
            ]
        return works

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the paired comparisons, the upper bounds, other metrics and the cost."""
        by_target = collected(self.works(scope), records)
        subject = next(
            (name for outcomes in by_target.values() for name in explainers(outcomes)), Configuration("mase")
        )
        pairs = [pair for target, outcomes in by_target.items() for pair in compare(target, outcomes, subject)]
        metrics = {
            target: list(other_metrics.rows(target, explainers(outcomes), subject))
            for target, outcomes in by_target.items()
        }
        means = [
            row for target, outcomes in by_target.items() for row in mean_comparisons.leads(target, outcomes, subject)
        ]
        parts = [f"# {self.title.format(subject=subject)}", summary(pairs, subject)]
        parts += [summary_table(by_target, subject), _READING.format(subject=subject)]
        parts += [mean_comparisons.table(means, tuple(by_target), subject)]
        parts += [other_metrics.summary([row for some in metrics.values() for row in some], subject), behind(pairs)]
        parts += [f"![Delta Accuracy: means with intervals]({self.name}-means.svg)"]
        parts += [
            self._section(target, outcomes, subject, pairs, metrics[target], scope)
            for target, outcomes in by_target.items()
        ]
        data = {
            "subject": str(subject),
            "cells": [cell for target, outcomes in by_target.items() for cell in _cells(target, outcomes, scope)],
            "duels": [plain(pair) for pair in pairs],
            "means": means,
            "ceilings": [row for target, outcomes in by_target.items() for row in _upper_bounds(target, outcomes)],
            "stability": [row for target, outcomes in by_target.items() for row in _stability(target, outcomes)],
            "other_metrics": [row for rows in metrics.values() for row in rows],
        }
        explained = {target: explainers(outcomes) for target, outcomes in by_target.items()}
        tables = {target: by_operator(target, outcomes, scope.batches, KS) for target, outcomes in explained.items()}
        dots = [panel for target, some in tables.items() if some for panel in panels(target, some[0])]
        every = [table for some in tables.values() for table in some]
        return Report(data, "\n\n".join(part for part in parts if part) + "\n", every, dots=dots)

    def _section(
        self,
        target: Target,
        outcomes: Mapping[Configuration, Outcomes],
        subject: Configuration,
        pairs: Sequence[PairedComparison],
        metrics: Sequence[Mapping[str, Any]],
        scope: Scope,
    ) -> str:
        explained = explainers(outcomes)
        if not explained:
            return f"## {target.heading}\n\n(no records of explainers yet)"
        split = next(iter(explained.values())).header["data"]["split"]
        parts = [f"## {target.heading} ({max(map(len, explained.values())):,} texts of the {split} split)"]
        for index, operator in enumerate(next(iter(outcomes.values())).header["operators"]):
            here = [pair for pair in pairs if pair.target == target.name and pair.operator == operator]
            parts += [f"### {target.title}, masked by {markdown.operator(operator)}"]
            parts += [markdown.table(["method", *(f"T-{k}" for k in KS)], cells(explained, index, here))]
            bounds = [row for row in _upper_bounds(target, outcomes) if row["operator"] == operator]
            parts += [_upper_bound_table(bounds, subject)] if bounds else []
        parts += [f"### {target.title}, other metrics", other_metrics.table(metrics, subject)]
        overlaps = [
            [f"`{row['spec']}`", str(row["n"]), f"{row['jaccard']:.2f}"] for row in _stability(target, outcomes)
        ]
        if overlaps:
            parts += [f"### {target.title}, overlap of the top {_TOP} words between two seeds (Jaccard)"]
            parts += [markdown.table(["method", "texts", "overlap"], overlaps)]
        parts += [f"### {target.title}, cost of one explanation", markdown.costs(explained)]
        return "\n\n".join([*parts, self._commands(target, outcomes, subject, scope)])

    def _commands(
        self, target: Target, outcomes: Mapping[Configuration, Outcomes], subject: Configuration, scope: Scope
    ) -> str:
        """Return the commands that repeat a target's part of the report, and those for the subject alone."""
        explained = explainers(outcomes)
        runs = explained | {name: outcome for name, outcome in outcomes.items() if name.method in UPPER_BOUNDS}
        row = {name: item for name, item in explained.items() if name == subject}
        return rerun.section(self.name, target, *(rerun.repeat(self.name, target, some, scope) for some in (runs, row)))


def _stability(target: Target, outcomes: Mapping[Configuration, Outcomes]) -> Iterator[dict[str, Any]]:
    """Yield the mean overlap (Jaccard) of the top words of two seeds, for each explainer that has them."""
    for configuration, first in explainers(outcomes).items():
        second = outcomes.get(replace(configuration, seed=configuration.seed + 1))
        if second is None:
            continue
        here, there = first.common(second)
        if not len(here):
            continue
        pairs = [(first.top_words[i][:_TOP], second.top_words[j][:_TOP]) for i, j in zip(here, there, strict=True)]
        overlap = sum(len({*a} & {*b}) / len({*a} | {*b}) for a, b in pairs) / len(pairs)
        row = {"target": target.name, "spec": str(configuration), "top": _TOP, "n": len(pairs)}
        yield row | {"jaccard": round(overlap, 4)}


def _upper_bounds(target: Target, outcomes: Mapping[Configuration, Outcomes]) -> Iterator[dict[str, Any]]:
    """Yield the Delta Accuracy of each upper bound by operator and k, with every explainer's share of it."""
    for configuration, bound in outcomes.items():
        if configuration.method not in UPPER_BOUNDS:
            continue
        for index, operator in enumerate(bound.header["operators"]):
            for k in KS:
                row = {"target": target.name, "ceiling": str(configuration), "operator": operator, "k": k}
                mean = round(float(bound.flips[:, index, k - 1].mean()), 4)
                yield row | {"n": len(bound), "delta_accuracy": mean, "shares": _shares(outcomes, bound, index, k)}


def _shares(outcomes: Mapping[Configuration, Outcomes], bound: Outcomes, index: int, k: int) -> dict[str, float]:
    """Return the share of an upper bound that each explainer reaches on the same texts."""
    shares = {}
    for configuration, outcome in explainers(outcomes).items():
        here, there = outcome.common(bound)
        reached = bound.flips[there, index, k - 1].mean() if len(here) else 0.0
        if reached > 0:
            shares[str(configuration)] = round(float(outcome.flips[here, index, k - 1].mean() / reached), 4)
    return shares


def _upper_bound_table(rows: Sequence[Mapping[str, Any]], subject: Configuration) -> str:
    names = list(dict.fromkeys(row["ceiling"] for row in rows))
    by_k = {(row["ceiling"], row["k"]): row for row in rows}
    lines = [
        [f"`{name}` ({by_k[name, KS[0]]['n']} texts)", *(f"{by_k[name, k]['delta_accuracy']:.3f}" for k in KS)]
        for name in names
    ]
    for name in names:
        shares = [by_k[name, k]["shares"].get(str(subject)) for k in KS]
        shown = ("" if share is None else f"{share:.0%}" for share in shares)
        lines.append([f"share of `{name}` reached by `{subject}`", *shown])
    return markdown.table(["ceiling", *(f"T-{k}" for k in KS)], lines)


def _cells(target: Target, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> Iterator[dict[str, Any]]:
    for configuration, outcome in outcomes.items():
        for index, operator in enumerate(outcome.header["operators"]):
            for k in KS:
                summary = share(outcome.flips[:, index, k - 1], scope.batches)
                cell = {"target": target.name, "spec": str(configuration), "operator": operator, "k": k}
                yield cell | markdown.plain(summary)


FAITHFULNESS = Faithfulness(
    "faithfulness",
    "Faithfulness: `{subject}` against every other explainer",
    ("mase", *(name for name in METHODS if name != "mase"), *_MORE, *UPPER_BOUNDS),
    reseeded=("mase", "mase-paper", "lime", "kernel-shap"),
)
ABLATION = Faithfulness("ablation", "Ablation: `{subject}` against itself with one part changed", ("mase", *_VARIANTS))
# The page tells sufficiency and insertion, on the records of the other comparison.
RATIONALE = Faithfulness(
    "rationale",
    "Words that suffice: `{subject}` against other explainers",
    (
        *("mase-rationale", "mase", "lime", "lime-paper", "glime", "context-cite", "proxy-spex", "kernel-shap"),
        *("leverage-shap", "partition-shap", "occlusion", "permutation-importance", "greedy-search", "beam-search"),
        "sobol-indices",
        *(method for method in _MORE if method.endswith("link=margin")),
    ),
)

"""Every explainer on every target under every masking operator, one of them against each of the others, pair by pair."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase.methods import METHODS
from mase_paper.experiments import comparisons, markdown, other_metrics, rerun
from mase_paper.experiments.batches import share
from mase_paper.experiments.ceiling import CEILINGS
from mase_paper.experiments.experiment import Report, Scope, collected
from mase_paper.experiments.paper import KS
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.runner import Work
from mase_paper.experiments.specs import Spec, parse
from mase_paper.experiments.testbeds import TARGETS, Target

__all__ = ["ABLATION", "FAITHFULNESS", "Faithfulness"]

_TOP = 10  # words whose overlap between seeds is told
# Integrated gradients from the other references that some model has; zero is their own. The link of `mase`, the margin,
# is a choice that rivals may make as well; their own is the probability.
_MORE = (
    *(f"integrated-gradients+reference={name}" for name in ("mask", "unk", "pad")),
    *(f"{method}+link=margin" for method in ("lime", "kernel-shap", "partition-shap", "occlusion")),
    "mase+link=probability",
)
# Of version 0.1: its `mase` promoted a leading word, and this setting did not.
_UNPROMOTED = "mase+design=focused(n_alone=0)"
# The default method with one part changed, and the rest of the family and the nearest rivals under its link.
_VARIANTS = (
    *(f"mase+link={link}" for link in ("probability", "log-probability")),
    *(f"mase+n_samples={n}" for n in (100, 200, 500, 2000)),
    *(f"mase+design=focused(rounds={n})" for n in (1, 3, 10)),
    *(f"mase+design=focused(n_top={n})" for n in (8, 10, 25)),
    *(f"mase+design=focused(p_high={high};p_low={low})" for high, low in ((0.7, 0.1), (0.7, 0.3), (0.9, 0.3), (0.95, 0.05))),
    _UNPROMOTED, "mase+design=focused(softness=2)",
    "mase+estimator=ridge", "mase+reference=pad", "mase-mask",
    *(f"{method}{link}" for method in ("kernel-shap", "lime") for link in ("", "+link=margin")),
    "integrated-gradients", "integrated-gradients+reference=unk", "integrated-gradients+reference=unk+link=margin",
    "mase-mask+link=margin", "mase-mask+estimator=lasso+link=margin",
    *(f"mase-nlgp+{settings}link=margin" for settings in ("", "sigma=1.0+", "center=0.5+sigma=0.5+reference=auto+")),
    "mase-path+link=margin", "mase-path+link=margin+reference=auto", "mase-nlgp", "mase-paper", "occlusion",
)  # fmt: skip
_READING = """\
**Bold** above: the higher of the two figures, both where they are equal. The best rival of a cell is the best of those that
explained all of these texts. Below, a method that explained fewer has their number beside it; with few of them only a large
lead leaves out 0.

`{subject}` against each other explainer on the same correctly classified texts. Each cell: the other one's Delta Accuracy
at k, and below it the difference ({subject} minus the other) with its paired 95 % interval (Newcombe's square-and-add on the
texts that both explained). **Bold** below: the other one is ahead, its interval leaves out 0. No correction is made for the
number of comparisons: of those between equals, one in forty is expected to look lost, and one in forty won. The settings of
`mase` were chosen on validation texts by this metric at these k; the other explainers have their packages' or papers'
settings.

The ceiling is a search over the metric itself (greedy, and a beam of 5), which no explainer may do: the smallest set of words
that it finds whose masking changes the prediction. Such a search is no bound: an explainer may flip a text that it does not,
and reach more than 100 %. Shares are on the texts of the search; the JSON has those of all explainers."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """All methods on all targets; the first of `--methods`, or `mase`, is the one that is compared with the others.

    Those `reseeded` are explained a second time with another seed, on as many texts as the ceilings search. Those
    `retired` are settings of an earlier version: their records are reported, and nothing is run.
    """

    name: str
    title: str
    own: tuple[str, ...]
    reseeded: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()

    def works(self, scope: Scope) -> list[Work]:
        """Return every method on every target, and the ceilings on fewer texts."""
        specs, found = scope.chosen_specs([parse(text) for text in self.own]), []
        for target in scope.chosen_targets(tuple(TARGETS)):
            n_texts = scope.texts(target.n_study)
            few = min(n_texts, target.n_search)
            found += [
                Work(target, spec, few if spec.method in CEILINGS else n_texts, str(spec) in self.retired)
                for spec in specs
            ]
            again = [replace(spec, seed=spec.seed + 1) for spec in specs if spec.method in self.reseeded]
            found += [Work(target, spec, few) for spec in again if spec not in specs]
        return found

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the duels, the ceilings, other metrics and the cost."""
        found = collected(self.works(scope), records)
        subject = next((spec for outcomes in found.values() for spec in comparisons.explainers(outcomes)), Spec("mase"))
        pairs = [duel for target, outcomes in found.items() for duel in comparisons.held(target, outcomes, subject)]
        parts = [f"# {self.title.format(subject=subject)}", comparisons.summary(pairs, subject)]
        parts += [comparisons.glance(found, subject), _READING.format(subject=subject)]
        others = {
            target: list(other_metrics.rows(target, comparisons.explainers(outcomes), subject))
            for target, outcomes in found.items()
        }
        parts += [self._section(target, found[target], subject, pairs, others[target], scope) for target in found]
        data = {
            "subject": str(subject),
            "cells": [cell for target, outcomes in found.items() for cell in _cells(target, outcomes, scope)],
            "duels": [comparisons.plain(duel) for duel in pairs],
            "ceilings": [row for target, outcomes in found.items() for row in _ceilings(target, outcomes)],
            "stability": [row for target, outcomes in found.items() for row in _stability(target, outcomes)],
            "other_metrics": [row for own in others.values() for row in own],
        }
        return Report(data, "\n\n".join(part for part in parts if part) + "\n")

    def _section(
        self,
        target: Target,
        outcomes: Mapping[Spec, Outcomes],
        subject: Spec,
        pairs: list[comparisons.Duel],
        others: list[dict[str, Any]],
        scope: Scope,
    ) -> str:
        explainers = comparisons.explainers(outcomes)
        if not explainers:
            return f"## {target.introduced}\n\n(no records of explainers yet)"
        split = next(iter(explainers.values())).header["data"]["split"]
        parts = [f"## {target.introduced} ({max(map(len, explainers.values())):,} texts of the {split} split)"]
        for index, operator in enumerate(next(iter(outcomes.values())).header["operators"]):
            own = [duel for duel in pairs if duel.target == target.name and duel.operator == operator]
            parts += [f"### {target.title}, masked by {markdown.operator(operator)}"]
            parts += [markdown.table(["method", *(f"T-{k}" for k in KS)], comparisons.cells(explainers, index, own))]
            shares = [row for row in _ceilings(target, outcomes) if row["operator"] == operator]
            parts += [_ceiling_table(shares, subject)] if shares else []
        parts += [f"### {target.title}, other metrics (not tuned on)", other_metrics.table(others, subject)]
        stable = [[f"`{row['spec']}`", str(row["n"]), f"{row['jaccard']:.2f}"] for row in _stability(target, outcomes)]
        if stable:
            parts += [f"### {target.title}, overlap of the top {_TOP} words between two seeds (Jaccard)"]
            parts += [markdown.table(["method", "texts", "overlap"], stable)]
        parts += [f"### {target.title}, cost of one explanation", markdown.costs(explainers)]
        made = explainers | {spec: one for spec, one in outcomes.items() if spec.method in CEILINGS}
        made = {spec: one for spec, one in made.items() if str(spec) not in self.retired}
        row = {spec: one for spec, one in explainers.items() if spec == subject}
        repeats = [rerun.repeat(self.name, target, some, scope) for some in (made, row)]
        return "\n\n".join([*parts, rerun.section(self.name, target, *repeats)])


def _stability(target: Target, outcomes: Mapping[Spec, Outcomes]) -> Iterator[dict[str, Any]]:
    """Yield for each explainer with a second seed the mean overlap (Jaccard) of the top words under both."""
    for spec, one in comparisons.explainers(outcomes).items():
        again = replace(spec, seed=spec.seed + 1)
        if again in outcomes:
            here, there = one.common(outcomes[again])
            if not len(here):
                continue
            pairs = [(one.tops[i][:_TOP], outcomes[again].tops[j][:_TOP]) for i, j in zip(here, there, strict=True)]
            overlap = sum(len({*a} & {*b}) / len({*a} | {*b}) for a, b in pairs) / len(pairs)
            yield {"target": target.name, "spec": str(spec), "top": _TOP, "n": len(pairs), "jaccard": round(overlap, 4)}


def _ceilings(target: Target, outcomes: Mapping[Spec, Outcomes]) -> Iterator[dict[str, Any]]:
    """Yield for each ceiling, operator and k what it reaches, and every explainer's share of it on the same texts."""
    for ceiling, top in ((spec, one) for spec, one in outcomes.items() if spec.method in CEILINGS):
        for index, operator in enumerate(top.header["operators"]):
            for k in KS:
                shares = {}
                for spec, one in comparisons.explainers(outcomes).items():
                    here, there = one.common(top)
                    reached = top.flips[there, index, k - 1].mean() if len(here) else 0.0
                    if reached > 0:
                        shares[str(spec)] = round(float(one.flips[here, index, k - 1].mean() / reached), 4)
                mean = round(float(top.flips[:, index, k - 1].mean()), 4)
                row = {"target": target.name, "ceiling": str(ceiling), "operator": operator, "k": k, "n": len(top)}
                yield row | {"delta_accuracy": mean, "shares": shares}


def _ceiling_table(rows: list[dict[str, Any]], subject: Spec) -> str:
    names = list(dict.fromkeys(row["ceiling"] for row in rows))
    by_k = {(row["ceiling"], row["k"]): row for row in rows}
    lines = [
        [f"`{name}` ({by_k[name, KS[0]]['n']} texts)", *(f"{by_k[name, k]['delta_accuracy']:.3f}" for k in KS)]
        for name in names
    ]
    for name in names:
        shares = [by_k[name, k]["shares"].get(str(subject)) for k in KS]
        lines.append(
            [f"share of `{name}` reached by `{subject}`", *("" if one is None else f"{one:.0%}" for one in shares)]
        )
    return markdown.table(["ceiling", *(f"T-{k}" for k in KS)], lines)


def _cells(target: Target, outcomes: Mapping[Spec, Outcomes], scope: Scope) -> Iterator[dict[str, Any]]:
    for spec, one in outcomes.items():
        for index, operator in enumerate(one.header["operators"]):
            for k in KS:
                summary = share(one.flips[:, index, k - 1], scope.batches)
                yield {"target": target.name, "spec": str(spec), "operator": operator, "k": k} | markdown.plain(summary)


FAITHFULNESS = Faithfulness(
    "faithfulness",
    "Faithfulness: `{subject}` against every other explainer",
    ("mase", *(name for name in METHODS if name != "mase"), *_MORE, *CEILINGS),
    reseeded=("mase", "mase-paper", "lime", "kernel-shap"),
)
ABLATION = Faithfulness(
    "ablation",
    "Ablation: `{subject}` against itself with one part changed",
    ("mase", *_VARIANTS),
    retired=(_UNPROMOTED,),
)

"""The tables and the page of `growth.py`."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from growth_models import EPOCHS, GROWN, MIDDLE, WIDTHS, Grown
from growth_page import PAGE, wrapped
from growth_picture import N_WORDS, Story

from mase.arrays import Floats
from mase.metrics.agreement import jaccard, spearman
from mase.metrics.intervals import Difference, Summary, paired_mean, summary_of_mean, wilson

__all__ = ["KS", "METHODS", "OURS", "Key", "page"]

OURS, RIVAL = METHODS = ("mase", "kernel-shap+link=margin")
KS, TOP = range(1, 16), 5
SIZES = {32: "quarter", 128: "bundled size", 256: "twice"}
MEASURES: Mapping[str, Callable[[Floats, Floats], float]] = {
    "rank": spearman,
    "top": lambda first, second: jaccard(first, second, TOP),
}


class Key(NamedTuple):
    """What is explained: a model after an epoch, by a method with a seed of its samples, on a text of the split."""

    model: str
    epoch: int
    method: str
    seed: int
    row: int = -1


@dataclass(frozen=True)
class Explanations:
    """The records of all explanations, the epoch of each model, and the texts."""

    by_key: Mapping[Key, Mapping[str, Any]]
    kept: Mapping[Grown, int]
    rows: Sequence[int]

    def scores(self, grown: Grown, method: str, seed: int, row: int) -> Floats:
        """Return the scores `(w,)` of a text by a model as it was kept."""
        return np.array(self.by_key[Key(grown.name, self.kept[grown], method, seed, row)]["scores"])

    def repeated(self, width: int, method: str, measure: str) -> Floats:
        """Return the agreement with another seed of the samples `(n,)`, a mean over the trainings."""
        return self._means(method, measure, [(grown, grown) for grown in of_width(width)], [(0, 1)])

    def across(self, widths: tuple[int, int], method: str, measure: str) -> Floats:
        """Return the agreement of models of two widths, or of one, `(n,)`; all seeds differ."""
        first, second = (of_width(width) for width in widths)
        pairs = [(one, other) for one in first for other in second if one.seed != other.seed]
        return self._means(method, measure, pairs, [(0, 1), (1, 0)])

    def delta(self, width: int, method: str) -> Floats:
        """Return Delta Accuracy `(n,)`, a mean over k, trainings and seeds of the samples."""
        keys = [(grown, seed) for grown in of_width(width) for seed in (0, 1)]
        found = [
            [
                self.by_key[Key(grown.name, self.kept[grown], method, seed, row)]["delta_accuracy"]
                for grown, seed in keys
            ]
            for row in self.rows
        ]
        return np.mean(found, axis=1)

    def agreement_with_last(self, epoch: int, measure: str) -> Floats:
        """Return the agreement of the middle model after an epoch with that after the last one `(n,)`."""
        pairs = (
            [self.by_key[Key(MIDDLE.name, *of, row)]["scores"] for of in ((epoch, OURS, 0), (EPOCHS, OURS, 1))]
            for row in self.rows
        )
        return np.array([MEASURES[measure](*map(np.array, pair)) for pair in pairs])

    def _means(
        self, method: str, measure: str, pairs: Sequence[tuple[Grown, Grown]], seeds: Sequence[tuple[int, int]]
    ) -> Floats:
        """Return means over pairs of models and pairs of seeds of their samples `(n,)`."""
        agree = MEASURES[measure]
        found = [
            [
                agree(self.scores(one, method, first, row), self.scores(other, method, second, row))
                for one, other in pairs
                for first, second in seeds
            ]
            for row in self.rows
        ]
        return np.mean(found, axis=1)


def of_width(width: int) -> list[Grown]:
    """Return the trainings of a width."""
    return [grown for grown in GROWN if grown.width == width]


def told(summary: Summary | Difference) -> str:
    """Return a mean with its interval, with a sign if it is a difference."""
    sign = "+" if isinstance(summary, Difference) else ""
    return f"{summary.mean:{sign}.3f} ({summary.low:{sign}.3f} to {summary.high:{sign}.3f})"


def mean(values: Floats) -> str:
    """Return the mean over texts with its interval."""
    return told(summary_of_mean(values))


def ahead(first: Floats, second: Floats) -> str:
    """Return by how much the first is above the second on the same texts, with its interval."""
    return told(paired_mean(first, second))


def row(*cells: object) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def models(trained: Mapping[Grown, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of the trained models."""
    yield "| size (width) | parameters | training seed | epoch kept | validation accuracy | test accuracy | CPU time |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for grown, found in sorted(trained.items(), key=lambda item: (item[0].width, item[0].seed)):
        shares = []
        for part in ("validation", "test"):
            share, n = found[f"{part}_accuracy"], found[f"n_{part}"]
            low, high = wilson(round(share * n), n)
            shares.append(f"{share:.3f} ({low:.3f} to {high:.3f})")
        size, seconds = f"{SIZES[grown.width]} ({grown.width})", f"{found['cpu_seconds']:.0f} s"
        yield row(size, f"{found['parameters']:,}", grown.seed, found["best_epoch"], *shares, seconds)


def stability(found: Explanations) -> Iterator[str]:
    """Yield the agreement of two runs with other samples, by size, and the differences between sizes."""
    yield f"| size | measure | `{OURS}` | `{RIVAL}` | `{OURS}` ahead by |"
    yield "|---|---|--:|--:|--:|"
    named = {"rank": "rank correlation", "top": f"top {TOP}"}
    for measure, name in named.items():
        for width, size in SIZES.items():
            both = [found.repeated(width, method, measure) for method in METHODS]
            yield row(size, name, *map(mean, both), ahead(*both))
        for width in (WIDTHS[0], WIDTHS[-1]):
            changes = (
                (found.repeated(width, method, measure), found.repeated(MIDDLE.width, method, measure))
                for method in METHODS
            )
            yield row(f"{SIZES[width]} minus bundled size", name, *(ahead(*pair) for pair in changes), "")


def across(found: Explanations, measure: str) -> Iterator[str]:
    """Yield the agreement of models, and how far another size is behind another seed of the same sizes."""
    yield f"| models | `{OURS}` | `{RIVAL}` | `{OURS}` ahead by |"
    yield "|---|--:|--:|--:|"
    twice_trained = [width for width in WIDTHS if len(of_width(width)) > 1]
    for width in twice_trained:
        both = [found.across((width, width), method, measure) for method in METHODS]
        yield row(f"{SIZES[width]}: another training seed", *map(mean, both), ahead(*both))
        again = [found.repeated(width, method, measure) for method in METHODS]
        changes = (ahead(*pair) for pair in zip(both, again, strict=True))
        yield row(f"{SIZES[width]}: another training seed, minus two runs", *changes, "")
    for widths in combinations(WIDTHS, 2):
        name = " and ".join(SIZES[width] for width in widths)
        both = [found.across(widths, method, measure) for method in METHODS]
        yield row(name, *map(mean, both), ahead(*both))
        same = [
            np.mean([found.across((width, width), method, measure) for width in widths if width in twice_trained], 0)
            for method in METHODS
        ]
        yield row(f"{name}, minus another training seed", *(ahead(*pair) for pair in zip(both, same, strict=True)), "")


def faithfulness(found: Explanations) -> Iterator[str]:
    """Yield Delta Accuracy by size."""
    yield f"| size | `{OURS}` | `{RIVAL}` | `{OURS}` ahead by |"
    yield "|---|--:|--:|--:|"
    for width, size in SIZES.items():
        both = [found.delta(width, method) for method in METHODS]
        yield row(size, *map(mean, both), ahead(*both))


def epochs(found: Explanations, trained: Mapping[str, Any]) -> Iterator[str]:
    """Yield the agreement of the scores after each epoch with those after the last one."""
    yield f"| epoch | training loss | validation accuracy | probability | rank correlation | behind | top {TOP} |"
    yield "|--:|--:|--:|--:|--:|--:|--:|"
    last = found.agreement_with_last(EPOCHS, "rank")
    for one in trained["epochs"]:
        number = one["number"]
        ranks, tops = (found.agreement_with_last(number, measure) for measure in MEASURES)
        chances = [found.by_key[Key(MIDDLE.name, number, OURS, 0, at)]["probability"] for at in found.rows]
        cells = (mean(np.array(chances)), mean(ranks), "" if number == EPOCHS else ahead(last, ranks), mean(tops))
        yield row(number, f"{one['loss']:.3f}", f"{one['validation_accuracy']:.3f}", *cells)


def page(
    trained: Mapping[Grown, Mapping[str, Any]],
    found: Explanations,
    topics: Mapping[str, int],
    stories: Sequence[Story],
) -> str:
    """Return the page."""
    of_middle = trained[MIDDLE]
    values = {
        "epochs": EPOCHS, "n": len(found.rows), "top": TOP, "n_words": N_WORDS, "rival": RIVAL, "ks": f"1 ... {KS[-1]}",
        "minutes": f"{sum(one['cpu_seconds'] for one in trained.values()) / 60:.0f}",
        "topics": ", ".join(f"{count} *{name}*" for name, count in sorted(topics.items(), key=lambda one: -one[1])),
        "stories": " and ".join(f"*{story.label}* ({story.id})" for story in stories),
        **{name: f"{of_middle[name]:,}" for name in ("n_training", "n_validation", "n_test")},
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in ("torch", "numpy"))]
        ),
    }  # fmt: skip
    tables = {
        "models": models(trained),
        "stability": stability(found),
        "rank": across(found, "rank"),
        "overlap": across(found, "top"),
        "faithfulness": faithfulness(found),
        "by_epoch": epochs(found, of_middle),
    }
    filled = PAGE.format(**values, **{name: "\n".join(lines) for name, lines in tables.items()})
    return "\n\n".join(map(wrapped, filled.strip().split("\n\n"))) + "\n"

"""The tables and the pages of `growth.py`."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from growth_family import Family, Grown
from growth_models import EPOCHS, MIDDLE
from growth_page import PAGES, wrapped
from growth_picture import N_WORDS, Story

from mase.arrays import Floats
from mase.metrics.agreement import jaccard, spearman
from mase.metrics.intervals import Difference, Summary, paired_mean, summary_of_mean, wilson

__all__ = ["KS", "METHODS", "OURS", "Explanations", "Key", "in_float32", "over_epochs", "page"]

OURS, RIVAL = METHODS = ("mase", "kernel-shap+link=margin")
KS, TOP = range(1, 16), 5
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
    """The records of all explanations, the models with the epoch of each, and the texts."""

    by_key: Mapping[Key, Mapping[str, Any]]
    family: Family
    kept: Mapping[Grown, int]
    rows: Sequence[int]

    def scores(self, grown: Grown, method: str, seed: int, row: int) -> Floats:
        """Return the scores `(w,)` of a text by a model as it was kept."""
        return np.array(self.by_key[Key(grown.name, self.kept[grown], method, seed, row)]["scores"])

    def repeated(self, size: int, method: str, measure: str) -> Floats:
        """Return the agreement with another seed of the samples `(n,)`, a mean over the trainings."""
        return self._means(method, measure, [(grown, grown) for grown in self.family.of_size(size)], [(0, 1)])

    def across(self, sizes: tuple[int, int], method: str, measure: str) -> Floats:
        """Return the agreement of models of two sizes, or of one, `(n,)`; all seeds differ, if there are several."""
        first, second = map(self.family.of_size, sizes)
        pairs = [(one, other) for one in first for other in second]
        apart = [(one, other) for one, other in pairs if one.seed != other.seed]
        return self._means(method, measure, apart or pairs, [(0, 1), (1, 0)])

    def delta(self, size: int, method: str) -> Floats:
        """Return Delta Accuracy `(n,)`, a mean over k, trainings and seeds of the samples."""
        keys = [(grown, seed) for grown in self.family.of_size(size) for seed in (0, 1)]
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


def models(trained: Mapping[Grown, Mapping[str, Any]], sizes: Mapping[int, str]) -> Iterator[str]:
    """Yield the table of the trained models."""
    yield "| size | parameters | training seed | epoch kept | validation accuracy | test accuracy |"
    yield "|---|--:|--:|--:|--:|--:|"
    for grown, found in sorted(trained.items(), key=lambda item: (item[0].size, item[0].seed)):
        shares = []
        for part in ("validation", "test"):
            share, n = found[f"{part}_accuracy"], found[f"n_{part}"]
            low, high = wilson(round(share * n), n)
            shares.append(f"{share:.3f} ({low:.3f} to {high:.3f})")
        yield row(sizes[grown.size], f"{found['parameters']:,}", grown.seed, found["best_epoch"], *shares)


def stability(found: Explanations) -> Iterator[str]:
    """Yield the agreement of two runs with other samples, by size, and the differences between sizes."""
    yield f"| size | measure | `{OURS}` | `{RIVAL}` | `{OURS}` ahead by |"
    yield "|---|---|--:|--:|--:|"
    named, sizes, bundled = {"rank": "rank correlation", "top": f"top {TOP}"}, found.family.sizes, found.family.bundled
    for measure, name in named.items():
        again = {size: [found.repeated(size, method, measure) for method in METHODS] for size in sizes}
        for size, both in again.items():
            yield row(sizes[size], name, *map(mean, both), ahead(*both))
        for size, both in again.items():
            if size != bundled:
                changes = (ahead(*pair) for pair in zip(both, again[bundled], strict=True))
                yield row(f"{sizes[size]} minus {sizes[bundled]}", name, *changes, "")


def across(found: Explanations, measure: str) -> Iterator[str]:
    """Yield the agreement of models, and how far another size is behind another seed of the same sizes."""
    yield f"| models | `{OURS}` | `{RIVAL}` | `{OURS}` ahead by |"
    yield "|---|--:|--:|--:|"
    sizes = found.family.sizes
    again = {size: [found.repeated(size, method, measure) for method in METHODS] for size in sizes}
    same, most = again, "two runs"  # what the agreement of two sizes is compared with
    if all(len(found.family.of_size(size)) > 1 for size in sizes):
        most = "another training seed"
        same = {size: [found.across((size, size), method, measure) for method in METHODS] for size in sizes}
        for size, both in same.items():
            yield row(f"{sizes[size]}: {most}", *map(mean, both), ahead(*both))
            changes = (ahead(*pair) for pair in zip(both, again[size], strict=True))
            yield row(f"{sizes[size]}: {most}, minus two runs", *changes, "")
    for pair in combinations(sizes, 2):
        name = " and ".join(sizes[size] for size in pair)
        both = [found.across(pair, method, measure) for method in METHODS]
        yield row(name, *map(mean, both), ahead(*both))
        expected = np.mean([same[size] for size in pair], 0)
        yield row(f"{name}, minus {most}", *(ahead(*one) for one in zip(both, expected, strict=True)), "")


def faithfulness(found: Explanations) -> Iterator[str]:
    """Yield Delta Accuracy by size."""
    yield f"| size | `{OURS}` | `{RIVAL}` | `{OURS}` ahead by |"
    yield "|---|--:|--:|--:|"
    for size, name in found.family.sizes.items():
        both = [found.delta(size, method) for method in METHODS]
        yield row(name, *map(mean, both), ahead(*both))


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


def over_epochs(
    found: Explanations, trained: Mapping[Grown, Mapping[str, Any]], stories: Sequence[Story]
) -> dict[str, str]:
    """Return what the page says of the models after each epoch."""
    return {
        "minutes": f"{sum(one['cpu_seconds'] for one in trained.values()) / 60:.0f}",
        "by_epoch": "\n".join(epochs(found, trained[MIDDLE])),
        "stories": " and ".join(f"*{story.label}* ({story.id})" for story in stories),
        "epochs": str(EPOCHS),
        "n_words": str(N_WORDS),
    }


def in_float32(found: Explanations, exact: Mapping[Key, Mapping[str, Any]]) -> dict[str, str]:
    """Return what the page says of explanations that were repeated in full precision, with the same samples."""
    agreed = []
    for method in METHODS:
        pairs = [[np.array(of[key]["scores"]) for of in (exact, found.by_key)] for key in exact if key.method == method]
        ranks, tops = (np.mean([agree(*pair) for pair in pairs]) for agree in MEASURES.values())
        agreed.append(f"{ranks:.3f} and {tops:.3f} (`{method}`)")
    names = {grown.name for grown in found.family.trainings}
    all_of_them = [one for key, one in found.by_key.items() if key.model in names and key.row in found.rows]
    return {
        "n_all": str(len(all_of_them)),
        "n_full": str(sum(one["precision"] == "float32" for one in all_of_them)),
        "n_exact": str(len({key.row for key in exact})),
        "exact": " and ".join(agreed),
    }


def page(
    trained: Mapping[Grown, Mapping[str, Any]],
    found: Explanations,
    topics: Mapping[str, int],
    more: Mapping[str, str],
) -> str:
    """Return the page."""
    of_bundled = trained[found.family.of_size(found.family.bundled)[0]]
    values = {
        "n": len(found.rows), "top": TOP, "rival": RIVAL, "ks": f"1 ... {KS[-1]}",
        "topics": ", ".join(f"{count} *{name}*" for name, count in sorted(topics.items(), key=lambda one: -one[1])),
        **{name: f"{of_bundled[name]:,}" for name in ("n_training", "n_validation", "n_test")},
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in ("torch", "numpy"))]
        ),
    }  # fmt: skip
    tables = {
        "models": models(trained, found.family.sizes),
        "stability": stability(found),
        "rank": across(found, "rank"),
        "overlap": across(found, "top"),
        "faithfulness": faithfulness(found),
    }
    filled = PAGES[found.family.page].format(**values, **more, **{name: "\n".join(tables[name]) for name in tables})
    return "\n\n".join(map(wrapped, filled.strip().split("\n\n"))) + "\n"

"""Measure what a class loses whose scores are solved from rows that were chosen for another class.

`explainer(text, target="all")` chooses its rows for the class that leads. Here the predicted class of validation texts
is explained on its own, with two seeds, and again from the rows of another class that leads: the second most probable
one, and an improbable one. RECORDS gets a line of JSON per text and leading class; an interrupted run continues where
it stopped. The table goes to `experiments/all_classes/all_classes.md`; `--report-only` makes it again.

    python experiments/all_classes.py DATA_DIR RECORDS
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.attribution import Attribution
from mase.datasets import load as load_split
from mase.metrics.delta_accuracy import flips
from mase.metrics.masking import Masker, masker, with_cache
from mase.models import load
from mase.models.runtime import configure
from mase.statistics import Mean
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import choose

# Target, data set, texts, and the ranks by probability of the classes that lead in its place.
PARTS = (("lstm-reuters", "reuters", 40, (1, 9)), ("lstm-imdb", "imdb", 20, (1,)))
KS = tuple(range(1, 16))
TOP = 5
RANKS = {1: "the second most probable", 9: "the tenth most probable"}


def compared(explainer: mase.Explainer, again: mase.Explainer, text: str, ranks: tuple[int, ...]) -> Iterator[dict]:
    """Yield how the predicted class fares when it leads, with another seed, and when another class leads."""
    own, other_seed = explainer(text), again(text)
    masked = with_cache(masker(explainer.model, text))
    target = own.prediction.index
    for rank in ranks:
        leader = own.prediction.ranked[rank]
        shared = explainer(text, target=[leader, target]).of(own.target)
        yield {
            "rank": rank,
            "n_words": len(own.words),
            "error_ratio": rms(shared) / rms(own),
            "r2": own.r2,
            "r2_shared": shared.r2,
            "same_top_other_seed": overlap(own, other_seed),
            "same_top_shared": overlap(own, shared),
            "delta_accuracy": delta_accuracy(masked, own, target),
            "delta_accuracy_other_seed": delta_accuracy(masked, other_seed, target),
            "delta_accuracy_shared": delta_accuracy(masked, shared, target),
        }


def rms(found: Attribution) -> float:
    """Return the root mean square of the standard errors."""
    return float(np.sqrt((found.standard_errors**2).mean()))


def overlap(one: Attribution, other: Attribution) -> float:
    """Return the share of the five words of highest score of one that are among the five of the other."""
    k = min(TOP, len(one.words))
    return len(set(one.order[:k].tolist()) & set(other.order[:k].tolist())) / k


def delta_accuracy(masked: Masker, found: Attribution, target: int) -> float:
    """Return the share of k = 1..15 at which the prediction flips without the k words of highest score."""
    return float(flips(masked, found.order, target, KS).mean())


def measure(part: tuple[str, str, int, tuple[int, ...]], data_dir: str, records: Path) -> None:
    """Write the comparisons of a part that its file lacks."""
    name, dataset, n_texts, ranks = part
    model, split = load(name), load_split(dataset, "validation", data_dir)
    explainers = [mase.Explainer(model, n_samples=1000, seed=seed, evidence=0) for seed in (0, 1)]
    with continued(records / f"{name}.jsonl", made_with(model, split)) as file:
        for chosen in islice(choose(model, split, 0), len(file.known) // len(ranks), n_texts):
            file.append(compared(*explainers, chosen.text, ranks))


def report(records: Path, folder: Path) -> None:
    """Write the table as Markdown."""
    lines = [INTRODUCTION, ""]
    lines += ["| target, class that leads | texts | errors | same top 5 | with another seed | Delta Accuracy | lost |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    for name, _, _, ranks in PARTS:
        found = read_lines(records / f"{name}.jsonl")
        for rank in ranks:
            lines.append(row(f"`{name}`, {RANKS[rank]}", [one for one in found if one["rank"] == rank]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all_classes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def row(name: str, found: list[dict[str, Any]]) -> str:
    """Return a row of the table: means over texts, and 95 % intervals of what is lost."""
    errors = np.exp(mean([np.log(one["error_ratio"]) for one in found]))
    lost = [one["delta_accuracy"] - one["delta_accuracy_shared"] for one in found]
    cells = (
        f"{len(found)}",
        "x {:.2f} ({:.2f} to {:.2f})".format(*errors),
        "{:.2f}".format(*mean([one["same_top_shared"] for one in found])),
        "{:.2f}".format(*mean([one["same_top_other_seed"] for one in found])),
        "{:.3f}".format(*mean([one["delta_accuracy"] for one in found])),
        "{:+.3f} ({:+.3f} to {:+.3f})".format(*mean(lost)),
    )
    return f"| {name} | {' | '.join(cells)} |"


def mean(values: list[float]) -> tuple[float, float, float]:
    """Return the mean of some values, and its 95 % interval."""
    array = np.array(values)
    found = Mean.of(*(np.array([one]) for one in (float(len(array)), array.sum(), (array**2).sum())))
    low, high = found.interval()
    return float(found.value[0]), float(low[0]), float(high[0])


INTRODUCTION = """\
# What a class loses that does not lead

Made by `experiments/all_classes.py`. With `target="all"` the rows are chosen for the class that leads, and the other
classes are solved from the same rows. Here the predicted class of validation texts is explained on its own, and from
the rows of another class that leads; 1,000 samples, method `mase`. *Errors* is the root mean square of the standard
errors, relative to those of the class on its own (geometric mean, 95 % interval). *Same top 5* is the share of the five
highest-scoring words that the class has on its own, too; the next column is the same for the class on its own with
another seed. *Delta Accuracy* is that of the class on its own, on average over k = 1..15, and *lost* what it loses from
the rows of the other class (paired, 95 % interval)."""


def main() -> None:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("records", type=Path)
    parser.add_argument("--report-only", action="store_true", help="make the table from the records that are there")
    args = parser.parse_args()
    configure(1)
    args.records.mkdir(parents=True, exist_ok=True)
    for part in () if args.report_only else PARTS:
        measure(part, args.data_dir, args.records)
    report(args.records, Path(__file__).parent / "all_classes")


if __name__ == "__main__":
    main()

"""Measure what explanations cover that a rule stopped. The table goes to `experiments/stopping/stopping.md`.

Validation texts are explained with stopping rules. The long-run value of a score is its mean over other seeds that ask
all rows; its own error is counted.

    python experiments/stopping.py DATA_DIR
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.datasets import load as load_split
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

NAMES = ("lstm-imdb", "lstm-reuters")
RULES: tuple[dict[str, Any], ...] = ({}, {"tolerance": 0.1}, {"tolerance": 0.2}, {"stable_top": 3})
N_SAMPLES, SEEDS, LONG_RUN = 1000, range(6), range(100, 120)
WORDS = range(12, 150)
# Settings were chosen on some of the first texts (`coverage.py`).
SKIPPED = 80
TOP = 5


@dataclass(frozen=True, slots=True)
class Covered:
    """One stopped explanation: the shares of all scores, and of the highest, that cover their long-run values.

    `same` is the share of the highest words that are the highest of the long run, and `n_queries` the cost.
    """

    every: float
    top: float
    same: float
    n_queries: int


def covered(model: Model, text: str) -> Iterator[list[Covered]]:
    """Yield what explanations of a text cover, by rule."""
    runs = np.array([mase.Explainer(model, n_samples=N_SAMPLES, seed=seed)(text).scores for seed in LONG_RUN])
    truth, error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / len(runs) ** 0.5
    highest = np.argsort(-truth)[:TOP]
    for rule in RULES:
        explanations = [mase.Explainer(model, n_samples=N_SAMPLES, seed=seed, **rule)(text) for seed in SEEDS]
        yield [
            Covered(
                float((inside := abs(found.scores - truth) <= 1.96 * np.hypot(found.standard_errors, error)).mean()),
                float(inside[highest].mean()),
                len(set(highest) & set(found.order[:TOP].tolist())) / TOP,
                found.fit.n_queries,
            )
            for found in explanations
        ]


def row(name: str, by_text: list[list[Covered]]) -> str:
    """Return a row of the table: means over texts and seeds, and the lowest mean of a text."""
    means = [[np.mean([getattr(one, key) for one in found]) for key in Covered.__slots__] for found in by_text]
    every, top, same, n_queries = np.mean(means, axis=0)
    worst = np.min(means, axis=0)[1]
    return f"| {name} | {n_queries:,.0f} | {every:.2f} | {top:.2f} | {worst:.2f} | {same:.2f} |"


INTRODUCTION = f"""\
# What explanations cover that a rule stopped

Made by `experiments/stopping.py`: method `mase`, at most {N_SAMPLES:,} samples, validation texts of {WORDS.start} to
{WORDS.stop} words after the first {SKIPPED}, {len(SEEDS)} seeds. *Covered* is the share of the scores whose 95 %
interval contains the long-run value, the mean over {len(LONG_RUN)} other seeds that ask all rows (its error is
counted); then the same for the {TOP} words that are highest in the long run, and the lowest of a text. *Same* is the
share of these words among the {TOP} highest of the explanation.

| target (texts), rule | evaluations | covered | of the highest | worst text | same |
|---|--:|--:|--:|--:|--:|"""


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--n-texts", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    lines = [INTRODUCTION]
    for name in NAMES:
        model, target = load(name), TARGETS[name]
        split = load_split(target.dataset, "validation", args.data_dir)
        long_enough = (one.text for one in choose(model, split, 0) if len(one.text.split()) >= WORDS.start)
        texts = (text for text in islice(long_enough, SKIPPED, None) if len(text.split()) in WORDS)
        by_text = [list(covered(model, text)) for text in islice(texts, args.n_texts)]
        for index, rule in enumerate(RULES):
            named = ", ".join(f"`{key}={value}`" for key, value in rule.items()) or "none"
            found = [text[index] for text in by_text]
            lines.append(row(f"{target.title} ({len(by_text)}), {named}", found))
            print(lines[-1], flush=True)  # noqa: T201
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "stopping.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

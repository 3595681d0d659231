"""Why scores differ between seeds: by the rows, and by the mask rates. `experiments/coverage/rounds.md` has the table.

The mask rates of later rounds depend on a ranking, and that on the rows so far. Here the ranking of one explanation is
kept, and the rows are drawn anew. The variance between such explanations is what the standard errors should know; that
between the means of different rankings comes on top.

    python experiments/coverage_rounds.py DATA_DIR
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from coverage import BEFORE, method_of

import mase
from mase.arrays import Floats
from mase.datasets import load as load_split
from mase.method import Method
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase.regression.design import Design
from mase.regression.designed import Regression
from mase.regression.problem import Distribution, Sample
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

NAMES = ("lstm-reuters",)
FEWEST_WORDS, TOP = 12, 5
N_RANKINGS, N_REDRAWN = 10, 8


@dataclass
class Kept:
    """A design in rounds that keeps the coefficients it is given, or goes by those that another one kept."""

    design: Design
    by: Sequence[Floats] | None = None
    kept: list[Floats] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.design.rounds

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of the design."""
        return self.design.distribution(scale)

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows by the coefficients that were kept, or by gamma."""
        if gamma is None:
            return self.design.draw(rng, n, distribution)
        self.kept.append(gamma)
        given = gamma if self.by is None else self.by[len(self.kept) - 1]
        return self.design.draw(rng, n, distribution, given)


def explained(model: Model, method: Method, text: str, seed: int, by: Sequence[Floats] | None) -> tuple[Floats, ...]:
    """Return scores and errors `(p,)`, and the coefficients that each round went by."""
    assert isinstance(method.strategy, Regression)
    design = Kept(method.strategy.design, by)
    method = replace(method, strategy=replace(method.strategy, design=design), n_samples="auto")
    found = mase.Explainer(model, method=method, seed=seed, evidence=0)(text)
    return found.scores, found.standard_errors, *design.kept


def shares(model: Model, method: Method, text: str) -> Floats:
    """Return HC3's, the rows' and the rankings' variance `(3, p)` of each score over that across seeds, highest first.

    The variance of rankings is that of the means of the redrawn scores, less what the rows add to it.
    """
    first = [explained(model, method, text, seed, None) for seed in range(N_RANKINGS)]
    again = np.array(
        [
            [explained(model, method, text, 1000 * seed + index, by)[0] for index in range(1, N_REDRAWN + 1)]
            for seed, (_, _, *by) in enumerate(first, start=1)
        ]
    )
    scores, errors = (np.array([one[index] for one in first]) for index in range(2))
    rows = again.var(axis=1, ddof=1).mean(axis=0)
    rankings = again.mean(axis=1).var(axis=0, ddof=1) - rows / N_REDRAWN
    order = np.argsort(-again.mean(axis=(0, 1)))
    order = order[scores.std(axis=0)[order] > 0]
    return np.stack([(errors**2).mean(axis=0), rows, rankings, scores.var(axis=0, ddof=1)])[:, order]


def lines(name: str, by_text: Sequence[Floats]) -> Iterator[str]:
    """Yield the rows of a target: sums over the highest words, and over the others, as shares of the rows' variance."""
    for words, chosen in (("highest", slice(TOP)), ("others", slice(TOP, None))):
        sums = np.array([one[:, chosen].sum(axis=1) for one in by_text])
        hc3, _, rankings, all_seeds = np.mean(sums / sums[:, 1:2], axis=0)
        yield f"| {TARGETS[name].title} ({len(by_text)}), {words} | {hc3:.2f} | 1 | {rankings:+.2f} | {all_seeds:.2f} |"


INTRODUCTION = f"""\
# Why scores differ between seeds

Made by `experiments/coverage_rounds.py`: validation texts, {N_RANKINGS} seeds and as many samples as
`n_samples="auto"` gives. The coefficients by which each of these explanations chose its mask rates are kept, and the
rows drawn anew, {N_REDRAWN} times each. *Rows* is the variance of a score between explanations with the same rates, and
the unit of the other columns: the square of the standard error (HC3), the variance of what different rates estimate,
and the variance across seeds. The last one is not quite the sum of both, as the rates depend on some of the rows.
Variances are summed over the {TOP} highest words, and over the others.

| target (texts), words | HC3 | rows | rates | across seeds |
|---|--:|--:|--:|--:|"""


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--method", default=BEFORE, help="by default, that of mase until 2026-11-23")
    parser.add_argument("--n-texts", type=int, default=6)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "coverage")
    args = parser.parse_args()
    configure(1)
    told = [INTRODUCTION]
    for name in NAMES:
        model, method = load(name), method_of(args.method)
        split = load_split(TARGETS[name].dataset, "validation", args.data_dir)
        texts = (one.text for one in choose(model, split, 0) if len(one.text.split()) >= FEWEST_WORDS)
        told += lines(name, [shares(model, method, text) for text in islice(texts, args.n_texts)])
        print("\n".join(told[-2:]), flush=True)  # noqa: T201
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "rounds.md").write_text("\n".join(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

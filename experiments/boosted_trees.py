"""Choose the settings of the estimator `boosted-trees` on validation texts of the LSTMs.

    python experiments/boosted_trees.py DATA_DIR

writes `experiments/boosted_trees/boosted_trees.md`. The rows are those of `proxy-spex`. The settings are the eight that
the package shapiq compares by cross-validation for every text anew; here they are compared once, over all texts. The
error of the scores is relative to those of many more rows. It is also told for shapiq's last step, which keeps the
Fourier coefficients that make up 95 % of their energy and fits those again by ridge regression.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, ClassVar

import lightgbm
import numpy as np
from sklearn.linear_model import RidgeCV

import mase
from mase.arrays import Floats
from mase.datasets import load as load_split
from mase.estimators.boosted_trees import BoostedTrees
from mase.estimators.least_squares import LeastSquares
from mase.methods import resolve
from mase.models import load
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

N, N_MANY, FOLDS, ENERGY = 1000, 20_000, 5, 0.95
SETTINGS = list(product((3, 5), (500, 1000), (0.01, 0.1)))
PAGE = Path(__file__).parent / "boosted_trees" / "boosted_trees.md"


@dataclass(frozen=True)
class Kept:
    """Least squares that keeps its problems."""

    problems: list[Problem] = field(default_factory=list)
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return the estimate of least squares."""
        self.problems.append(problem)
        return LeastSquares().fit(problem)


def rows(model: Any, text: str, n: int, seed: int) -> Problem:
    """Return the problem of n rows of a text."""
    kept = Kept()
    method = resolve("proxy-spex", estimator=kept, n_samples=n)
    mase.Explainer(model, method=method, units="wordpunct", seed=seed, evidence=0)(text)
    return kept.problems[0]


def grown(problem: Problem, depth: int, trees: int, rate: float) -> lightgbm.Booster:
    """Return the trees."""
    settings = {"max_depth": depth, "learning_rate": rate, "num_threads": 1, "verbose": -1}
    return lightgbm.train(settings, lightgbm.Dataset(problem.z, problem.y, params=settings), trees)


def held_out(problem: Problem, *setting: Any) -> float:
    """Return the R2 of the trees on rows that were left out."""
    fold, left = np.arange(problem.n) % FOLDS, np.empty(problem.n)
    for out in (fold == number for number in range(FOLDS)):
        left[out] = problem.y[out] - grown(problem.rows(~out), *setting).predict(problem.z[out])
    return float(1 - (left**2).mean() / problem.y.var())


def spectrum(node: Mapping[str, Any]) -> dict[frozenset[int], float]:
    """Return the Fourier coefficients of a tree."""
    if "leaf_value" in node:
        return {frozenset(): node["leaf_value"]}
    found: dict[frozenset[int], float] = defaultdict(float)
    for side, sign in (("left_child", 1), ("right_child", -1)):
        for words, value in spectrum(node[side]).items():
            found[words] += value / 2
            found[words | {node["split_feature"]}] += sign * value / 2
    return found


def refined(problem: Problem, *setting: Any) -> Floats:
    """Return the scores `(p,)` after shapiq's last step."""
    found: dict[frozenset[int], float] = defaultdict(float)
    for tree in grown(problem, *setting).dump_model()["tree_info"]:
        for words, value in spectrum(tree["tree_structure"]).items():
            found[words] += value
    found.pop(frozenset())
    kept = sorted(found, key=lambda words: -abs(found[words]))
    energy = np.cumsum([found[words] ** 2 for words in kept])
    kept = kept[: int(np.argmin(energy < ENERGY * energy[-1])) + 1]
    waves = np.stack([(-2 * problem.z[:, list(words)]).prod(axis=1) for words in kept], axis=1)
    fitted = RidgeCV(alphas=np.logspace(-6, 6, 100)).fit(waves, problem.y).coef_
    values = dict(zip(kept, fitted, strict=True))
    return np.array([-2 * values.get(frozenset({word}), 0.0) for word in range(problem.p)])


def error(gamma: Floats, true: Floats) -> float:
    """Return the relative error of scores `(p,)`."""
    return float(np.linalg.norm(gamma - true) / np.linalg.norm(true))


def table(target: str, args: argparse.Namespace) -> list[str]:
    """Return the lines of a target."""
    model, found = load(target), defaultdict(list)
    split = load_split(TARGETS[target].dataset, "validation", args.data_dir)
    chosen: Counter[Any] = Counter()
    linear = []
    for one in islice(choose(model, split, 0), args.n_texts):
        problem, many = rows(model, one.text, N, 0), rows(model, one.text, N_MANY, 1)
        true = LeastSquares().fit(many).gamma
        linear.append(error(LeastSquares().fit(problem).gamma, true))
        for setting in SETTINGS:
            short = refined(problem, *setting) if setting[0] == min(SETTINGS)[0] else np.full(problem.p, np.nan)
            zeros = float((short == 0).mean()) if np.isfinite(short).all() else np.nan
            ours = error(BoostedTrees(*setting).fit(problem).gamma, true)
            found[setting].append((held_out(problem, *setting), ours, error(short, true), zeros))
        chosen[max(SETTINGS, key=lambda setting: found[setting][-1][0])] += 1
    plain = f"Texts: {args.n_texts}. Error of least squares: {np.mean(linear):.3f}."
    lines = [f"## {TARGETS[target].title}", "", plain]
    lines += ["", "| depth | trees | rate | texts on which it is best | held-out R² | error | error, refined | zeros |"]
    lines += ["|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for setting in SETTINGS:
        means = np.mean(found[setting], axis=0)
        cells = " | ".join("" if np.isnan(value) else f"{value:.3f}" for value in means)
        lines.append(f"| {' | '.join(map(str, setting))} | {chosen[setting]} | {cells} |")
    return [*lines, ""]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Choose the settings of boosted-trees.")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--n-texts", type=int, default=2)
    parser.add_argument("--targets", nargs="+", default=["lstm-imdb", "lstm-reuters"])
    args = parser.parse_args()
    intro = (
        f"`python experiments/boosted_trees.py DATA_DIR` wrote this page: trees on {N:,} rows of `proxy-spex` of\n"
        f"validation texts. Held-out R² is that of the trees in {FOLDS} folds. Errors are relative to the scores of\n"
        f"{N_MANY:,} rows. *Refined* is shapiq's last step, and *zeros* the share of words that it gives a score of 0."
    )
    lines = ["# Settings of boosted trees", "", intro, ""]
    for target in args.targets:
        lines += table(target, args)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

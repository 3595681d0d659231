"""How much of an error is left to the estimator: the same rows, solved by several. See `experiments/estimators/`.

The ranking of one explanation of a validation text is kept, and the rows are drawn anew with its mask rates. So all
estimators have the same long-run values: those of least squares on the rows of all other draws, whose own error is
subtracted.

    python experiments/estimators.py DATA_DIR --models confirmation-models
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
from coverage_rounds import Kept

import mase
from mase.arrays import Floats
from mase.estimators import ESTIMATORS
from mase.estimators.kernel_ridge import KernelRidge
from mase.estimators.least_squares import LeastSquares
from mase.method import Method
from mase.methods import resolve
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase.regression.designed import Regression
from mase.regression.estimate import Estimate
from mase.regression.laws import Laws
from mase.regression.problem import Problem
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import FRESH, PAPER, TARGETS, Target

NAMES = ("lstm-imdb", "lstm-reuters", *FRESH)
OTHERS = ("ridge", "empirical-bayes", "kernel-ridge")
FEWEST_WORDS, TOP, N_DRAWN = 12, 5, 12


@dataclass
class Recorded:
    """Least squares that keeps the problem it was given last."""

    problems: list[Problem] = field(default_factory=list)
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return the estimate of least squares."""
        self.problems[:] = [problem]
        return LeastSquares().fit(problem)


def problems(model: Model, method: Method, text: str) -> Iterator[Problem]:
    """Yield problems whose rows have the mask rates of one explanation."""
    assert isinstance(method.strategy, Regression)
    design = Kept(method.strategy.design)
    first = replace(method, strategy=replace(method.strategy, design=design), n_samples="auto")
    mase.Explainer(model, method=first, seed=0, evidence=0)(text)
    for seed in range(1, N_DRAWN + 1):
        recorded = Recorded()
        strategy = Regression(Kept(method.strategy.design, design.kept), recorded)
        mase.Explainer(model, method=replace(first, strategy=strategy), seed=seed, evidence=0)(text)
        yield replace(recorded.problems[0], aim=None)


def joined(several: list[Problem]) -> Problem:
    """Return the problem of the rows of several problems with the same laws."""
    z, y, weights = (np.concatenate([getattr(one, name) for one in several]) for name in ("z", "y", "weights"))
    laws = [one.laws for one in several if one.laws is not None]
    shares = np.concatenate([one.shares for one in laws], axis=1)
    return replace(several[0], z=z, y=y, weights=weights, laws=Laws(shares, laws[0].rates))


def solved(name: str, problem: Problem) -> Floats:
    """Return the coefficients of an estimator `(p,)`."""
    return np.asarray(ESTIMATORS.build(name).fit(problem).gamma)


def errors(model: Model, method: Method, text: str) -> dict[str, Floats]:
    """Return the mean squared error of each estimator, of the highest words and of the others, and those of LS."""
    drawn = list(problems(model, method, text))
    own = np.stack([LeastSquares().fit(one).gamma for one in drawn])
    rest = np.stack([LeastSquares().fit(joined(drawn[:i] + drawn[i + 1 :])).gamma for i in range(len(drawn))])
    noise = own.var(axis=0, ddof=1)
    order = np.argsort(-rest.mean(axis=0))
    order = order[noise[order] > 0]
    found = {"least-squares": own, "rough": np.stack([KernelRidge().rough(one).gamma for one in drawn])}
    found |= {name: np.stack([solved(name, one) for one in drawn]) for name in OTHERS}
    squares = {name: ((one - rest) ** 2).mean(axis=0) - noise / (len(drawn) - 1) for name, one in found.items()}
    return {name: np.array([one[order[:TOP]].sum(), one[order[TOP:]].sum()]) for name, one in squares.items()}


def row(target: Target, by_text: list[Mapping[str, Floats]]) -> str:
    """Return the row of a target: means over texts of the errors over those of least squares."""
    cells = []
    for name in (*OTHERS[:-1], "rough", OTHERS[-1]):
        ratios = np.array([one[name] / one["least-squares"] for one in by_text])
        cells.append(", ".join(f"{mean:.2f}" for mean in ratios.mean(axis=0)))
    return f"| {target.title} ({len(by_text)}) | {' | '.join(cells)} |"


INTRODUCTION = f"""\
# The same rows, solved by several estimators

Made by `experiments/estimators.py`: validation texts of at least {FEWEST_WORDS} words, and as many samples as
`n_samples="auto"` gives. The mask rates of one explanation with `mase` are kept, and the rows drawn anew, {N_DRAWN}
times. Each figure is a mean squared error over that of least squares on the same rows: of the {TOP} highest words, and
of the others, a mean over texts. A half means that least squares needs twice the samples. *Rough* is
the ridge regression of words by which rounds are planned.

| target (texts) | ridge | empirical Bayes | rough | kernel ridge |
|---|--:|--:|--:|--:|"""


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"))
    parser.add_argument("--targets", nargs="+", default=NAMES, choices=[*PAPER, *FRESH])
    parser.add_argument("--n-texts", type=int, default=6)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    told, method = [INTRODUCTION], resolve("mase")
    for name in args.targets:
        target = TARGETS[name]
        model, split = target.load(args.models), target.split("validation", args.data_dir)
        texts = (one.text for one in choose(model, split, 0) if len(one.text.split()) >= FEWEST_WORDS)
        told.append(row(target, [errors(model, method, text) for text in islice(texts, args.n_texts)]))
        print(told[-1], flush=True)  # noqa: T201
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "estimators.md").write_text("\n".join(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Compare R2 and the held-out R2 with the R2 of fresh rows. The table goes to `experiments/held_out/held_out.md`.

Validation texts are explained. Then the model is asked about fresh rows that are drawn under the laws of the others,
and the scores predict its answers. The fresh rows of the first law alone are fair coins in `mase`, `mase-mask` and
`mase-cite`. Further rows mask a tenth of the words.

    python experiments/held_out.py DATA_DIR
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from mase.arrays import Bools, Floats
from mase.bound_text import BoundText
from mase.datasets import load as load_split
from mase.designs.placement import single
from mase.document import Document
from mase.measure import measure
from mase.methods import resolve, with_reference
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase.regression.design import Design, DrawingDesign
from mase.regression.designed import Regression
from mase.regression.oracle import Oracle
from mase.regression.precision import AUTO
from mase.regression.problem import Distribution, Sample
from mase.regression.rounds import shares
from mase.regression.strategy import Solution
from mase.target import Question
from mase.units import splitter
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

NAMES = ("lstm-imdb", "lstm-reuters")
SETTINGS = (
    ("mase", 1000), ("mase", 300), ("mase-mask", 1000), ("mase-cite", 128), ("lime", 1000), ("lime-paper", 1000),
    ("kernel-shap", 1000),
)  # fmt: skip
FEWEST_WORDS = 12  # All subsets of fewer words are asked, and no rows are left out.
NEAR, N_NEAR = 0.1, 500
POOR = 0.5

Fresh = tuple[Bools, Sample]


@dataclass(frozen=True)
class Recorded:
    """A design that records the coefficients and the number of rows of each round, to draw rows like them again.

    It has no laws that follow from the scores, and no draws. Rows of a design with these are drawn by their laws.
    """

    inner: Design
    drawn: list[tuple[int, Floats | None]] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.inner.rounds

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each round."""
        return shares(self.inner)

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of the inner design."""
        return self.inner.distribution(scale)

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return rows of the inner design."""
        self.drawn.append((n, gamma))
        return self.inner.draw(rng, n, distribution, gamma)

    def again(self, rng: np.random.Generator, distribution: Distribution) -> Iterator[Sample]:
        """Yield fresh rows of each round, as many as were drawn."""
        for n, gamma in self.drawn:
            yield self.inner.draw(rng, n, distribution, gamma)


@dataclass(frozen=True)
class Predicted:
    """Responses to rows `(n,)`, what the scores predict for them, and the weights of the rows."""

    responses: Floats
    predictions: Floats
    weights: Floats

    @property
    def left(self) -> float:
        """The weighted squares of the errors."""
        return float(self.weights @ (self.responses - self.predictions) ** 2)

    @property
    def total(self) -> float:
        """The weighted squares of the responses about their mean, for n degrees of freedom."""
        n, mean = len(self.responses), np.average(self.responses, weights=self.weights)
        return float(self.weights @ (self.responses - mean) ** 2) * n / (n - 1)


@dataclass(frozen=True)
class Found:
    """R2 of one explanation: as it is told, and on fresh rows.

    `pooled` is of the fresh rows of all laws together, `within` of the same rows within laws, `first` of those of the
    first law, and `near` of rows near the text.
    """

    r2: float
    held_out: float
    pooled: float
    within: float
    first: float
    near: float


def explained(laws: list[Predicted]) -> float:
    """Return R2 within laws."""
    return 1 - sum(one.left for one in laws) / sum(one.total for one in laws)


def together(laws: list[Predicted]) -> Predicted:
    """Return all rows as if they were of one law."""
    columns = ([getattr(one, name) for one in laws] for name in ("responses", "predictions", "weights"))
    return Predicted(*map(np.concatenate, columns))


def fresh(design: Design, fitted: Sample, rng: np.random.Generator, distribution: Distribution) -> Iterator[Fresh]:
    """Yield the fitted rows of each intercept, and as many fresh ones."""
    groups = None if fitted.laws is None else fitted.laws.groups
    if isinstance(design, Recorded):
        for number, sample in enumerate(design.again(rng, distribution)):
            yield np.ones(len(fitted.coordinates), dtype=bool) if groups is None else groups == number, sample
    elif groups is not None and fitted.laws is not None:
        for law, rates in enumerate(fitted.laws.rates):
            kept = (rng.random((np.count_nonzero(groups == law), len(rates))) < rates).astype(np.float64)
            yield groups == law, single(kept - distribution.center, distribution)


def predicted(oracle: Oracle, solution: Solution, like: Bools, sample: Sample) -> Predicted:
    """Ask the model about rows, and return what it answers beside the predictions of the regression.

    The constant is that of the fitted rows that they are `like` `(n,)`.
    """
    assert solution.answered is not None
    fitted, gamma = solution.answered.sample, solution.estimate.gamma[oracle.active]
    left = oracle.respond(solution.answered.scores) - fitted.deviations @ gamma
    like = like & (np.arange(len(like)) >= _free(fitted).start)
    constant = np.average(left[like], weights=fitted.weights[like])
    rows = _free(sample)
    responses = oracle.responses(sample.coordinates)[rows]
    return Predicted(responses, constant + sample.deviations[rows] @ gamma, sample.weights[rows])


def _free(sample: Sample) -> slice:
    """Return the rows that are not fitted exactly."""
    return slice(sample.n_exact * (2 if sample.paired else 1), None)


def found(model: Model, text: str, method: str, n: int) -> Found | None:
    """Explain a text and ask about fresh rows; None for a short text, or one without R2."""
    regression = resolve(method).strategy
    assert isinstance(regression, Regression)
    design = regression.design if isinstance(regression.design, DrawingDesign) else Recorded(regression.design)
    link = "margin" if method == "mase-cite" else None  # the other link is for language models
    chosen = resolve(method, n_samples=n, design=design, estimator=regression.estimator, link=link)
    chosen = with_reference(chosen, model.references[0])
    bound = BoundText.of(model, chosen, Document.of(text), Question(), splitter("word"), seed=0)
    if len(bound.words.spans) < FEWEST_WORDS:
        return None
    solution = measure(bound.probe, chosen, bound.targets[0], np.random.default_rng(0))
    if solution.r2 is None or solution.r2_held_out is None:
        return None
    moving = bound.probe.scale > 0
    oracle = Oracle.of(bound.probe, method, chosen.link, bound.targets[0], moving, binary=True, options=AUTO)
    rng, distribution = np.random.default_rng(1), regression.design.distribution(oracle.scale)
    assert solution.answered is not None
    fitted = solution.answered.sample
    laws = [predicted(oracle, solution, *one) for one in fresh(design, fitted, rng, distribution)]
    kept = (rng.random((N_NEAR, oracle.size)) >= NEAR).astype(np.float64)
    near = single(kept - distribution.center, distribution)
    return Found(
        solution.r2,
        solution.r2_held_out,
        explained([together(laws)]),
        explained(laws),
        explained(laws[:1]),
        explained([predicted(oracle, solution, np.ones(len(fitted.coordinates), dtype=bool), near)]),
    )


def row(name: str, of_texts: list[Found]) -> str:
    """Return a row of the table: medians over texts, and the difference of the held-out R2 to that of fresh rows."""
    columns = {name: np.array([getattr(one, name) for one in of_texts]) for name in Found.__dataclass_fields__}
    off = columns["held_out"] - columns["within"]
    width = 1.96 * off.std(ddof=1) / len(off) ** 0.5
    cells = [
        f"{len(of_texts)}",
        *(f"{np.median(columns[name]):.2f}" for name in ("r2", "pooled", "held_out", "within", "first", "near")),
        f"{off.mean():+.3f} ± {width:.3f}",
        f"{np.abs(off).mean():.3f}",
        *(f"{(columns[name] < POOR).mean():.2f}" for name in ("r2", "held_out", "within")),
    ]
    return f"| {name} | {' | '.join(cells)} |"


INTRODUCTION = f"""\
# R², and R² of rows that the fit has not seen

Made by `experiments/held_out.py`: validation texts of at least {FEWEST_WORDS} words, seed 0. The first columns are
medians over the texts. *R²* and *held out* are what an explanation tells. The others are measured: the model is asked
about as many fresh rows, drawn as the others were, and the regression predicts its answers. *Fresh, pooled* is R² of
these rows over all rounds, *fresh* within the parts of the rows that have an intercept of their own (the laws of
`mase`, else the rounds), and *first* of the first part alone: fair coins for the methods whose names begin with `mase`.
*Near* is R² of {N_NEAR} other rows, with every word masked with probability {NEAR}. *Off* is *held out* minus *fresh*:
the mean with its 95 % interval, and the mean of the absolute values. The last columns are the shares of texts with an
R² below {POOR}.

Where nearly all rows get the same answer, the variance is that of a few rows, and R² of two samples can differ by any
amount: of one text of LSTM-Reuters under `mase-mask`, it is -0.04 held out and -14 on fresh rows.

| target, method, samples | texts | R² | fresh, pooled | held out | fresh | first | near | off | absolute \
| R² < {POOR} \
| held out < {POOR} | fresh < {POOR} |
|---|{"--:|" * 12}"""


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--n-texts", type=int, default=40)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    lines = [INTRODUCTION]
    for name in NAMES:
        model, target = load(name), TARGETS[name]
        split = load_split(target.dataset, "validation", args.data_dir)
        texts = [one.text for one in islice(choose(model, split, 0), args.n_texts)]
        for method, n in SETTINGS:
            of_texts = [one for text in texts if (one := found(model, text, method, n)) is not None]
            lines.append(row(f"{target.title}, `{method}`, {n:,}", of_texts))
            print(lines[-1], flush=True)  # noqa: T201
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "held_out.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

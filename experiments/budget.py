"""Choose how many samples the default method takes for a text of p units: the rule behind `n_samples="auto"`.

Validation texts that a classifier predicts correctly are explained with every number of samples of a grid. Delta
Accuracy of a text is the share of k = 1 ... 15 at which the prediction flips without its k best units. Every text goes
to RECORDS as a line of JSON as soon as it is done, so that an interrupted run continues where it stopped. Targets may
run side by side, each in a process of its own.

    python experiments/budget.py DATA_DIR lstm-reuters

writes the records of one target. Without a target, the rule is fitted to the records of all and written to docs/:

    python experiments/budget.py DATA_DIR
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np

import mase
from mase.arrays import Floats
from mase.datasets import load as load_split
from mase.metrics.delta_accuracy import flips
from mase.metrics.masking import masker, with_cache
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.testbeds import TARGETS

METHOD, FULL = "mase", 1000
# A transformer takes forty times as long as an LSTM, so that it is asked at fewer points of the grid.
GRIDS = {
    "lstm-imdb": (90, 130, 180, 250, 350, 500, 700, FULL),
    "lstm-reuters": (90, 130, 180, 250, 350, 500, 700, FULL),
    "bert-imdb": (150, 250, 450, FULL),
    "bert-reuters": (150, 250, 450, FULL),
}
KS = range(1, 16)
N_TEXTS = {"lstm-imdb": 600, "lstm-reuters": 600, "bert-imdb": 120, "bert-reuters": 120}
# The rules that are tried: clip(a + b p, low, 1000).
INTERCEPTS = range(0, 301, 20)
SLOPES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
LOWEST = (90, 130)
LOSS = 0.01
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "decisions" / "2026-11-23-budget.md"


@dataclass(frozen=True)
class Trial:
    """One text, explained with every number of samples of the grid.

    Attributes
    ----------
    row
        Row of the text in its split.
    n_units
        Number p of its units.
    flipped
        For each number of samples, for which of the k = 1 ... 15 the prediction flips, as a string of zeros and ones.
    n_queries
        Evaluations of the model.
    seconds
        Time of each explanation.
    """

    row: int
    n_units: int
    flipped: dict[int, str]
    n_queries: dict[int, int]
    seconds: dict[int, float]

    @classmethod
    def of(cls, line: str) -> "Trial":
        """Return the trial of a line of JSON."""
        plain = json.loads(line)
        for name in ("flipped", "n_queries", "seconds"):
            plain[name] = {int(n): value for n, value in plain[name].items()}
        return cls(**plain)

    @property
    def curve(self) -> Floats:
        """Delta Accuracy `(g,)` at the numbers of samples of the grid."""
        return np.array([some.count("1") / len(KS) for some in self.flipped.values()])

    def at(self, n_samples: int) -> float:
        """Return Delta Accuracy with so many samples, between two of the grid by linear interpolation in log n."""
        return float(np.interp(np.log(n_samples), np.log(list(self.flipped)), self.curve))


def trial(model: Model, chosen: Chosen, grid: tuple[int, ...]) -> Trial:
    """Explain one text with every number of samples."""
    bound = with_cache(masker(model, chosen.text))
    found = {n: mase.Explainer(model, method=METHOD, n_samples=n)(chosen.text, target=chosen.target) for n in grid}
    flipped = {n: flips(bound, one.order, chosen.target, KS) for n, one in found.items()}
    return Trial(
        row=chosen.row,
        n_units=len(found[FULL].units),
        flipped={n: "".join("01"[flip] for flip in some.tolist()) for n, some in flipped.items()},
        n_queries={n: one.fit.n_queries for n, one in found.items()},
        seconds={n: round(one.fit.seconds, 3) for n, one in found.items()},
    )


def explain(target: str, data_dir: str, path: Path, n_texts: int) -> None:
    """Write the trials of a target that its file lacks."""
    done = {one.row for one in trials(path)}
    model = load(target)
    split = load_split(TARGETS[target].dataset, "validation", data_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for chosen in islice(choose(model, split, 0), n_texts):
            if chosen.row not in done:
                file.write(json.dumps(asdict(trial(model, chosen, GRIDS[target]))) + "\n")
                file.flush()


def trials(path: Path) -> list[Trial]:
    """Return the trials of a file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [Trial.of(line) for line in lines]


@dataclass(frozen=True)
class Rule:
    """clip(intercept + slope p, lowest, 1000) samples for p units."""

    intercept: int
    slope: float
    lowest: int

    def __call__(self, n_units: int) -> int:
        """Return the number of samples for p units."""
        return int(np.clip(self.intercept + self.slope * n_units, self.lowest, FULL))

    def losses(self, some: list[Trial]) -> Floats:
        """Return for each text by how much Delta Accuracy is lower than with 1,000 samples."""
        return np.array([one.at(FULL) - one.at(self(one.n_units)) for one in some])

    def mean(self, some: list[Trial]) -> float:
        """Return the mean number of samples."""
        return float(np.mean([self(one.n_units) for one in some]))


def rules() -> Iterator[Rule]:
    """Yield the rules that are tried."""
    for intercept, slope, lowest in product(INTERCEPTS, SLOPES, LOWEST):
        yield Rule(intercept, slope, lowest)


def fitted(by_target: dict[str, list[Trial]]) -> Rule:
    """Return the rule that takes the fewest samples and loses at most .01 on each target."""
    allowed = [rule for rule in rules() if all(rule.losses(some).mean() <= LOSS for some in by_target.values())]
    return min(allowed, key=lambda rule: np.mean([rule.mean(some) for some in by_target.values()]))


def main() -> None:
    """Explain the texts of a target, or fit the rule and write its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--records", type=Path, default=ROOT / "mase-results" / "budget")
    parser.add_argument("--n-texts", type=int, help="as many texts as the page has, unless it is given")
    args = parser.parse_args()
    configure(1)
    if args.target is not None:
        n_texts = args.n_texts or N_TEXTS[args.target]
        explain(args.target, args.data_dir, args.records / f"{args.target}.jsonl", n_texts)


if __name__ == "__main__":
    main()

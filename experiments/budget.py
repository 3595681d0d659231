"""Choose how many samples the default method takes for a text of p units: the rule behind `n_samples="auto"`.

Validation texts that a classifier predicts correctly are explained with every number of samples of a grid. Delta
Accuracy of a text is the share of k = 1 ... 15 at which the prediction flips without its k best units. Every text goes
to RECORDS as a line of JSON as soon as it is done, so that an interrupted run continues where it stopped. Targets may
run side by side, each in a process of its own:

    python experiments/budget.py DATA_DIR lstm-reuters

Without a target, the rule is fitted to the records of all, and `docs/samples.md` is written. Once `mase.budget` has the
rule, the texts of the records are explained by it, which the page then compares with 1,000 samples:

    python experiments/budget.py DATA_DIR
    python experiments/budget.py DATA_DIR lstm-reuters --check
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.budget import AUTO, DEFAULT, NSamples
from mase.datasets import load as load_split
from mase.metrics.delta_accuracy import flips
from mase.metrics.intervals import paired_mean
from mase.metrics.masking import masker, with_cache
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.testbeds import PAPER

METHOD, KS = "mase", range(1, 16)
N_TEXTS = {"lstm-imdb": 600, "lstm-reuters": 600, "bert-imdb": 120, "bert-reuters": 120}
# A transformer takes forty times as long as an LSTM, so that it is asked at fewer points of the grid.
LSTM_GRID, BERT_GRID = (90, 130, 180, 250, 350, 500, 700, DEFAULT.most), (150, 250, 450, DEFAULT.most)
# The rules that are tried: min(base + per_unit p, 1000).
BASES, SLOPES = range(0, DEFAULT.most + 1, 50), range(0, 9)
LOSS = 0.01
# A classifier with fewer texts is shown, but does not decide: the interval of its loss is wider than the loss allowed.
ENOUGH = 100
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "samples.md"


@dataclass(frozen=True)
class Trial:
    """One text, explained with several numbers of samples.

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
    def of(cls, record: Mapping[str, Any]) -> "Trial":
        """Return the trial of a record."""
        by_n = {
            name: {int(n): value for n, value in record[name].items()} for name in ("flipped", "n_queries", "seconds")
        }
        return cls(row=record["row"], n_units=record["n_units"], **by_n)

    def at(self, n_samples: int) -> float:
        """Return Delta Accuracy with so many samples, between two of the grid by linear interpolation in log n."""
        shares = [flips.count("1") / len(KS) for flips in self.flipped.values()]
        return float(np.interp(np.log(n_samples), np.log(list(self.flipped)), shares))


def trial(model: Model, chosen: Chosen, grid: Sequence[NSamples]) -> Trial:
    """Explain one text with several numbers of samples."""
    bound = with_cache(masker(model, chosen.text))
    every = [
        mase.Explainer(model, method=METHOD, n_samples=n, evidence=0)(chosen.text, target=chosen.target) for n in grid
    ]
    found = {int(one.method["n_samples"]): one for one in every}
    flipped = {n: flips(bound, one.order, chosen.target, KS).tolist() for n, one in found.items()}
    return Trial(
        row=chosen.row,
        n_units=len(every[0].units),
        flipped={n: "".join("01"[flip] for flip in some) for n, some in flipped.items()},
        n_queries={n: one.fit.n_queries for n, one in found.items()},
        seconds={n: round(one.fit.seconds, 3) for n, one in found.items()},
    )


def explain(target: str, data_dir: str, records: Path, n_texts: int, *, check: bool) -> None:
    """Write the trials of a target that its file lacks; a check is of texts that were explained before."""
    known = {one.row for one in trials(path_of(records, target))}
    grid: Sequence[NSamples] = [AUTO] if check else LSTM_GRID if target.startswith("lstm") else BERT_GRID
    model = load(target)
    split = load_split(PAPER[target].dataset, "validation", data_dir)
    with continued(path_of(records, target, check=check), made_with(model, split)) as file:
        done = {one["row"] for one in file.known}
        for chosen in islice(choose(model, split, 0), n_texts):
            if chosen.row not in done and (chosen.row in known or not check):
                file.append([asdict(trial(model, chosen, grid))])


def path_of(records: Path, target: str, *, check: bool = False) -> Path:
    """Return the file of the trials of a target."""
    return records / f"{target}{'-check' if check else ''}.jsonl"


def trials(path: Path) -> list[Trial]:
    """Return the trials of a file."""
    return list(map(Trial.of, read_lines(path)))


@dataclass(frozen=True)
class Rule:
    """min(base + per_unit p, 1000) samples for p units."""

    base: int
    per_unit: int

    def __call__(self, n_units: int) -> int:
        """Return the number of samples for p units."""
        return max(2, min(self.base + self.per_unit * n_units, DEFAULT.most))

    def __str__(self) -> str:
        return f"min({self.base} + {self.per_unit} p, {DEFAULT.most:,})"

    def loss(self, some: Sequence[Trial]) -> float:
        """Return by how much Delta Accuracy is lower than with 1,000 samples."""
        return float(np.mean([one.at(DEFAULT.most) - one.at(self(one.n_units)) for one in some]))

    def mean(self, some: Sequence[Trial]) -> float:
        """Return the mean number of samples."""
        return float(np.mean([self(one.n_units) for one in some]))


def fitted(by_target: Mapping[str, Sequence[Trial]]) -> Rule:
    """Return the rule that takes the fewest samples, on average over the targets, and loses at most .01 on each."""
    deciding = [some for some in by_target.values() if len(some) >= ENOUGH]
    rules = [Rule(base, per_unit) for base, per_unit in product(BASES, SLOPES)]
    by_cost = sorted(rules, key=lambda rule: float(np.mean([rule.mean(some) for some in deciding])))
    return next(rule for rule in by_cost if all(rule.loss(some) <= LOSS for some in deciding))


def difference(first: Sequence[float], second: Sequence[float]) -> str:
    """Return a paired difference with its 95 % interval."""
    found = paired_mean(first, second)
    return f"{found.mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def grid_table(by_target: Mapping[str, Sequence[Trial]]) -> Iterator[str]:
    """Yield the table of all numbers of samples of the grid."""
    yield "| texts | p | samples | Delta Accuracy | minus that of 1,000 | seconds, median |"
    yield "|---|---:|---:|---:|---:|---:|"
    for target, some in by_target.items():
        full = [one.at(DEFAULT.most) for one in some]
        for n in some[0].flipped:
            here = [one.at(n) for one in some]
            name = f"{PAPER[target].title}, {len(some)} | {np.mean([one.n_units for one in some]):.0f}"
            seconds = float(np.median([one.seconds[n] for one in some]))
            least = difference(here, full) if n != DEFAULT.most else ""
            yield f"| {name} | {n:,} | {np.mean(here):.4f} | {least} | {seconds:.2f} |"


def check_table(by_target: Mapping[str, Sequence[Trial]], checks: Mapping[str, Sequence[Trial]]) -> Iterator[str]:
    """Yield the table of the rule: fitted, and as measured where the check was run."""
    yield "| texts | samples, mean | evaluations, mean | Delta Accuracy | minus that of 1,000 |"
    yield "|---|---:|---:|---:|---:|"
    for target, checked in checks.items():
        known = {one.row: one for one in by_target[target]}
        pairs = [(one, known[one.row]) for one in checked if one.row in known]
        if not pairs:
            continue
        n_samples = [next(iter(one.flipped)) for one, _ in pairs]
        here = [one.at(n) for (one, _), n in zip(pairs, n_samples, strict=True)]
        n_queries = [one.n_queries[n] for (one, _), n in zip(pairs, n_samples, strict=True)]
        least = difference(here, [full.at(DEFAULT.most) for _, full in pairs])
        numbers = f"{np.mean(n_samples):.0f} | {np.mean(n_queries):.0f} | {np.mean(here):.4f} | {least}"
        yield f"| {PAPER[target].title}, {len(pairs)} | {numbers} |"


def report(records: Path) -> None:
    """Fit the rule and write the page."""
    by_target = {target: some for target in PAPER if (some := trials(path_of(records, target)))}
    checks = {target: trials(path_of(records, target, check=True)) for target in by_target}
    rule = Rule(DEFAULT.base, DEFAULT.per_unit)
    means = [
        f"- {PAPER[target].title}, {len(some)} texts: {rule.mean(some):.0f} samples, {rule.loss(some):.4f}"
        for target, some in by_target.items()
    ]
    lines = [
        INTRODUCTION.format(rule=rule, fitted=fitted(by_target), enough=ENOUGH, means="\n".join(means)),
        *(["## The rule, measured", "", *check_table(by_target, checks), ""] if any(checks.values()) else []),
        "## Every number of samples",
        "",
        *grid_table(by_target),
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


INTRODUCTION = """\
# How many samples

With `n_samples="auto"`, the default of the method `mase`, a text of p units gets

    {rule}

samples, or all 2^p subsets of its units if they are fewer: the scores are then exact. With a stopping rule, which
decides itself, it is at most 1,000. Other methods keep the number that belongs to their definition; `mase methods NAME`
shows it.

The rule was chosen with `estimator="least-squares"`, on 600 validation texts of each LSTM. Of
all rules with multiples of 50 and whole numbers per unit, it was the one with the fewest samples that lost at most .01
Delta Accuracy against 1,000 samples. Delta Accuracy is here the mean over k = 1 ... 15 of the share of predictions that
flip without the k best units, masked by the model's own token.

The tables are of the present default, for which the rule was not chosen again. There `{fitted}` would
have been enough for the classifiers with at least {enough} texts. The rule above was kept because more samples make the
intervals narrower, and what they cover was measured with it. What it takes on average, and loses by interpolation
between the numbers of samples of the last table:

{means}

With least squares it lost .0041 on BERT-IMDB (42 texts) and .0064 on BERT-Reuters (52 texts), which are six-layer
MiniLMs; with later defaults they have not been asked. `experiments/budget.py` made this page; its first lines say
how to repeat it. Intervals are of 95 %, by a bootstrap over texts. Times were taken on a
machine with two busy cores, one thread each; use them only to compare rows of one classifier.
"""


def main() -> None:
    """Explain the texts of a target, or fit the rule and write its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(PAPER), help="whose texts are explained")
    parser.add_argument("--check", action="store_true", help="explain them by the rule of mase.budget")
    parser.add_argument("--records", type=Path, default=ROOT / "mase-results" / "budget")
    parser.add_argument("--n-texts", type=int, help="another number of texts")
    args = parser.parse_args()
    configure(1)
    if args.target is None:
        report(args.records)
    else:
        n_texts = args.n_texts or N_TEXTS[args.target]
        explain(args.target, args.data_dir, args.records, n_texts, check=args.check)


if __name__ == "__main__":
    main()

"""What the 95 % intervals of `mase` contain of the scores that endless rows would find.

Validation texts of at least 12 words are explained with `n_samples="auto"` and two seeds. The score of endless rows is
that of least squares on 8,000 fresh rows of the mask rates that the mean of two runs with 1,000 samples implies, whose
own error is counted. The page goes to `experiments/endless/endless.md`, with a line of JSON for each text and seed
beside it. An interrupted run continues where it stopped:

    python experiments/endless.py DATA_DIR lstm-imdb --n-texts 12
    python experiments/endless.py DATA_DIR tfidf-imdb-rating --models MODELS --n-texts 12
    python experiments/endless.py DATA_DIR

Without a target the page is written.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.arrays import Floats
from mase.designs.adaptive import Focused
from mase.methods import resolve
from mase.models.base import Model
from mase.solve.distributions import Mixture
from mase.solve.oracle import Oracle
from mase.solve.regression import Regression
from mase.solve.strategy import Solution
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

FEWEST_WORDS, MOST_WORDS, TOP, Z, N_SEEDS, N_LONG, FIRST = 12, 120, 5, 1.96, 2, 1_000, 100
EFFECTS = ("removed", "kept")
HERE = Path(__file__).with_suffix("")


class Stop(Exception):
    """Ends an explanation before it begins."""


def oracle_of(model: Model, text: str) -> Oracle:
    """Return the oracle that `mase` asks about a text."""
    kept: list[Oracle] = []

    class Kept(Regression):
        def run(self, oracle: Oracle, *_: Any) -> Solution:
            kept.append(oracle)
            raise Stop

    strategy = resolve("mase").strategy
    assert isinstance(strategy, Regression)
    method = replace(resolve("mase"), strategy=Kept(strategy.design, strategy.estimator))
    with suppress(Stop):
        mase.Explainer(model, method=method, n_samples=20)(text)
    return kept[0]


def fresh(oracle: Oracle, mixture: Mixture, n: int, seed: int) -> tuple[Floats, Floats]:
    """Return the scores of least squares on n rows of the mask rates, with an intercept for each, and their errors."""
    rng, shares = np.random.default_rng(seed), mixture.shares.mean(axis=1)
    component = np.repeat(np.arange(len(shares)), np.round(shares * n).astype(np.int64))
    rows = (rng.random((len(component), oracle.size)) < mixture.rates[component]).astype(np.float64)
    y, z = oracle.again().responses(rows).copy(), rows.copy()
    for one in range(len(shares)):
        own = component == one
        z[own] -= z[own].mean(axis=0)
        y[own] -= y[own].mean()
    row_weights = z @ np.linalg.inv(z.T @ z)
    gamma = y @ row_weights
    return gamma, np.sqrt(np.square(row_weights * (y - z @ gamma)[:, None]).sum(axis=0))


def records(model: Model, text: str, n_rows: int) -> Iterator[dict[str, Any]]:
    """Yield what each seed finds for a text, beside the scores of endless rows."""
    oracle = oracle_of(model, text)
    if oracle.size < FEWEST_WORDS:
        return
    long_runs = [mase.Explainer(model, n_samples=N_LONG, seed=FIRST + seed)(text) for seed in range(2)]
    truth = {}
    for effect in EFFECTS:
        scores = np.mean([scores_of(found, effect, oracle)[0] for found in long_runs], axis=0)
        truth[effect] = fresh(oracle, Focused(effect=effect).target_mixture(scores[None])[0], n_rows, seed=7)
    for seed in range(N_SEEDS):
        found = mase.Explainer(model, seed=seed)(text)
        record: dict[str, Any] = {"seed": seed, "n_queries": found.fit.n_queries, "r2": found.r2_held_out}
        for effect in EFFECTS:
            scores, errors = scores_of(found, effect, oracle)
            exact, exact_errors = truth[effect]
            inside = np.abs(scores - exact) <= Z * np.hypot(errors, exact_errors)
            top, of_truth = (np.argsort(-np.abs(one), kind="stable")[:TOP] for one in (scores, exact))
            width = float(np.mean(errors[top]) * 2 * Z / max(float(np.mean(np.abs(scores[top]))), 1e-12))
            record[effect] = [float(inside[some].mean()) for some in (top, of_truth)] + [float(inside.mean()), width]
        yield record


def scores_of(found: mase.Attribution, effect: str, oracle: Oracle) -> tuple[Floats, Floats]:
    """Return the scores of an effect and their total errors `(p,)`, without words that the model does not know."""
    own = found if effect == EFFECTS[0] else found.effect(effect)
    return own.scores[oracle.active], own.total_errors[oracle.active]


INTRODUCTION = f"""\
# What intervals contain of the scores of endless rows

Validation texts of {FEWEST_WORDS} to {MOST_WORDS} words, `n_samples="auto"`, {N_SEEDS} seeds. Each figure is the share
of 95 % intervals (total errors) that contain the score of endless rows, which is that of least squares on fresh rows of
the mask rates that the mean of two runs with {N_LONG:,} samples implies; its own error is counted. The intervals are
those of the {TOP} words of largest absolute score by the estimate, of those by endless rows, and of all words. *Width*
is that of the first over their mean absolute score. Left: where the held-out R² is at least .5; right: the other texts.
`experiments/endless.py` made this page.
"""


def row(target: str, effect: str, some: Sequence[Mapping[str, Any]]) -> str:
    """Return a row of the table."""
    cells = []
    for good in (True, False):
        own = [one for one in some if ((one["r2"] or 0) >= 0.5) == good]
        values = np.mean([one[effect] for one in own], axis=0) if own else []
        cells += [str(len(own)), *(f"{value:.3f}" for value in values)] if own else ["0", "", "", "", ""]
    return f"| {TARGETS[target].title}, {effect} | {' | '.join(cells)} |"


def page() -> str:
    """Return the page of all records."""
    head = "| | texts x seeds | by the estimate | by endless rows | all words | width "
    lines = [INTRODUCTION, f"{head}| below .5 | by the estimate | by endless rows | all words | width |"]
    lines.append("|---|" + "--:|" * 10)
    for target in TARGETS:
        path = HERE / f"{target}.jsonl"
        if path.exists():
            some = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            lines += [row(target, effect, some) for effect in EFFECTS]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS))
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"))
    parser.add_argument("--n-texts", type=int, default=12)
    parser.add_argument("--n-rows", type=int, default=8_000)
    args = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    if args.target is not None:
        target = TARGETS[args.target]
        model, split, path = (
            target.load(args.models),
            target.split("validation", args.data_dir),
            HERE / f"{args.target}.jsonl",
        )
        known = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        done = {json.loads(line)["row"] for line in known}
        texts = (one for one in choose(model, split, 0) if FEWEST_WORDS <= len(one.text.split()) <= MOST_WORDS)
        for number, chosen in enumerate(texts):
            if number == args.n_texts:
                break
            if chosen.row not in done:
                found = [{"row": chosen.row} | one for one in records(model, chosen.text, args.n_rows)]
                with path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(one) + "\n" for one in found)
    (HERE / "endless.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Number of model evaluations that an explanation needs, compared with the paper's estimator (`mase-paper`, N = 1000).

Two questions per target, on validation texts that it classifies correctly:

- equal error: at which N is `mase-nlgp`, which has the same estimand (NLGP, sigma = 0.1), as close to its long-run
  value as `mase-paper`?
- equal Delta Accuracy: at which N does `mase`, the default, flip as many predictions as `mase-paper`, for every k?

`make bench` runs it. It needs the data sets (see `mase_paper.datasets`): MASE_DATA or --data-dir names their folder.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from itertools import islice, repeat
from typing import Any

import numpy as np
import torch

import mase
from mase.defaults import Precision
from mase.metrics import evaluate
from mase.metrics.evaluation import Evaluation
from mase_paper.datasets import load as load_split
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import PAPER
from timing import provenance, write

LITERAL = 1000
UNITS = "wordpunct"  # punctuation is a word of its own, as in the paper
ERROR_GRID = (50, 75, 100, 150, 200, 300, 500, 1000)
ACCURACY_GRID = (50, 100, 200, 1000)
# Texts for Delta Accuracy, texts for the error, rows of the long-run value, seeds and precision: a BERT costs a hundred
# times an LSTM. Half precision is used where a trial shows that its noise is small (a tenth of the signal at most).
SIZES: dict[str, tuple[int, int, int, int, Precision]] = {
    "lstm": (100, 10, 20_000, 3, "float32"),
    "bert": (8, 1, 4_000, 2, "bfloat16"),
}


def relative_errors(
    model: Any, method: str, n: int, seeds: int, precision: Precision, truths: dict[str, np.ndarray]
) -> float:
    """Return the root mean square, over texts and seeds, of |scores - truth| / |truth| with n evaluations."""
    squares = []
    for seed in range(1, seeds + 1):
        explainer = mase.Explainer(
            model, method=method, units=UNITS, n_samples=n, seed=seed, precision=precision, evidence=0
        )
        for text, truth in truths.items():
            squares.append(np.sum((explainer(text).scores - truth) ** 2) / np.sum(truth**2))
    return float(np.sqrt(np.mean(squares)))


def evaluations_for(error: float, grid: Sequence[int], errors: Sequence[float]) -> float | None:
    """Return the N at which errors on a grid fall to `error` (log-linear interpolation), or None if they do not."""
    for index, found in enumerate(errors):
        if found <= error:
            if index == 0:
                return float(grid[0])
            share = np.log(errors[index - 1] / error) / np.log(errors[index - 1] / found)
            return float(grid[index - 1] * (grid[index] / grid[index - 1]) ** share)
    return None


def equal_error(model: Any, texts: Sequence[str], n_long: int, seeds: int, precision: Precision) -> dict[str, Any]:
    """Return the errors of both estimators, and the N at which ours reaches that of `mase-paper`."""
    long_run = mase.Explainer(model, method="mase-nlgp", units=UNITS, n_samples=n_long, precision=precision, evidence=0)
    truths = {text: long_run(text).scores for text in texts}
    literal = relative_errors(model, "mase-paper", LITERAL, seeds, precision, truths)
    ours = [relative_errors(model, "mase-nlgp", n, seeds, precision, truths) for n in ERROR_GRID]
    needed = evaluations_for(literal, ERROR_GRID, ours)
    return {
        "texts": len(texts),
        "seeds": seeds,
        "precision": precision,
        "long run": n_long,
        "mase-paper": {str(LITERAL): literal},
        "mase-nlgp": {str(n): error for n, error in zip(ERROR_GRID, ours, strict=True)},
        "evaluations needed": needed,
        "times fewer": None if needed is None else LITERAL / needed,
    }


def equal_accuracy(model: Any, texts: Sequence[str], precision: Precision) -> dict[str, Any]:
    """Return Delta Accuracy of `mase` at several N and of `mase-paper`, and the smallest N that is not worse."""
    literal = replace(mase.METHODS["mase-paper"], n_samples=LITERAL)
    ours = {n: replace(mase.METHODS["mase"], name=f"mase, N = {n}", n_samples=n) for n in ACCURACY_GRID}
    found = evaluate(model, texts, [*ours.values(), literal], precision=precision, units=UNITS)
    reached = next((n for n, method in ours.items() if _no_worse(found, method.name, literal.name)), None)
    return {
        "texts": len(texts),
        "precision": precision,
        "columns": [column.name for _, column in found.columns],
        "shares": {name: [asdict(one) for one in found.summaries(name) if one is not None] for name in found.methods},
        "differences": {
            method.name: [asdict(one) for one in found.differences(method.name, literal.name) if one is not None]
            for method in ours.values()
        },
        "queries": {name: found.cost(name)["n_queries"] for name in found.methods},
        "evaluations needed": reached,
        "times fewer": None if reached is None else LITERAL / reached,
    }


def _no_worse(found: Evaluation, first: str, second: str) -> bool:
    return bool(np.all(found.values(first).mean(axis=0) >= found.values(second).mean(axis=0)))


def compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return both comparisons on one target."""
    n_texts, n_error, n_long, seeds, precision = SIZES[name.partition("-")[0]]
    model = mase.models.load(name)
    split = load_split(PAPER[name].dataset, "validation", options.data_dir)
    texts = [chosen.text for chosen in islice(choose(model, split, 0), options.n_texts or n_texts)]
    error = equal_error(model, texts[: options.error_texts or n_error], n_long, options.seeds or seeds, precision)
    return {"equal error": error, "equal Delta Accuracy": equal_accuracy(model, texts, precision)}


def table(targets: dict[str, Any]) -> str:
    """Return the figures in Markdown."""
    lines = [
        f"Against `mase-paper` at N = {LITERAL}, on validation texts; small samples: the JSON has intervals.",
        "Half precision adds its trial of 32 evaluations to N.",
        "",
        "| target (texts) | same error | N of `mase-nlgp` | times fewer | same Delta Accuracy: N of `mase` "
        "| times fewer |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in targets.items():
        error, accuracy = found["equal error"], found["equal Delta Accuracy"]
        cells = [f"{error['mase-paper'][str(LITERAL)]:.3f}"]
        for one in (error, accuracy):
            cells += [_shown(one["evaluations needed"], ".0f"), _shown(one["times fewer"], ".1f")]
        made = f"{error['texts']} x {error['seeds']} seeds; {accuracy['texts']}; {error['precision']}"
        lines.append(f"| {name} ({made}) | {' | '.join(cells)} |")
    for name, found in targets.items():
        accuracy = found["equal Delta Accuracy"]
        lines += ["", f"**{name}**, {accuracy['texts']} texts: Delta Accuracy", ""]
        lines += [
            f"| method | evaluations | {' | '.join(accuracy['columns'])} |",
            "|---" * (2 + len(accuracy["columns"])) + "|",
        ]
        for method, shares in accuracy["shares"].items():
            means = " | ".join(f"{one['mean']:.3f}" for one in shares)
            lines.append(f"| {method} | {accuracy['queries'][method]:.0f} | {means} |")
    return "\n".join(lines) + "\n"


def _shown(value: float | None, digits: str) -> str:
    return "not reached" if value is None else format(value, digits)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=",".join(PAPER), help="names, separated by commas (default: all four)")
    parser.add_argument("--n-texts", type=int, help="texts for Delta Accuracy (default: 100 on LSTMs, 8 on BERT)")
    parser.add_argument("--error-texts", type=int, help="texts for the error (default: 10 on LSTMs, 1 on BERT)")
    parser.add_argument("--seeds", type=int, help="seeds for the error (default: 3 on LSTMs, 2 on BERT)")
    parser.add_argument("--data-dir", help="folder of the data sets")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names, targets = options.targets.split(","), {}
    # Evaluations are counted, not timed: two targets at once.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for name, found in zip(names, pool.map(compared, names, repeat(options)), strict=True):
            targets[name] = found
            print(name, "done", file=sys.stderr)
    result = provenance(f"python benchmarks/evaluations.py --targets {options.targets}", 1) | {
        "n_samples": LITERAL,
        "targets": targets,
    }
    write("evaluations", result, table(targets))


if __name__ == "__main__":
    main()

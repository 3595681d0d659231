"""What the intervals of `mase-cite` cover on a real model: prompts of few sentences, of which all subsets are known.

`compare.py` keeps every row that it evaluates. Where these are all subsets of the sentences of a prompt, the method can
be repeated with many seeds without the model. Coverage is the share of 95 % intervals that hold the score that all
subsets give. Prompts with no more subsets than evaluations are left out: their scores are exact. `coverage.md` gets the
table.

    python experiments/citing/coverage.py
"""

import collections.abc
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import compress
from pathlib import Path

import numpy as np
from scipy.special import expit

import mase
from mase.arrays import Floats
from mase.designs.placement import subsets
from mase.models import Callable

sys.path.insert(0, str(Path(__file__).parents[1]))
from lookup import METHOD, Z, told

RECORDS = Path(__file__).parents[2] / "build" / "citing" / "report"
PAGE = Path(__file__).with_suffix(".md")
MOST_UNITS, N_SEEDS = 8, 30
# Numbers of evaluations: some, and those of the default for p units.
BUDGETS: Mapping[str, collections.abc.Callable[[int], int]] = {
    "16": lambda _: 16,
    "32": lambda _: 32,
    "32 + p, the default": lambda p: 32 + p,
    "64": lambda _: 64,
}


def prompts() -> Iterator[tuple[Floats, Floats]]:
    """Yield all subsets `(2^p, p)` of each prompt and the log-odds of its answer `(2^p,)`."""
    for path in sorted(RECORDS.glob("*-sentence-*.rows.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        p, known = len(rows[0]["kept"]), {row["kept"]: sum(row["log_p"]) for row in rows}
        if p <= MOST_UNITS and len(known) == 2**p:
            kept = subsets(p).astype(np.float64)
            log_p = np.array([known["".join(str(int(one)) for one in row)] for row in kept])
            yield kept, log_p - np.log(-np.expm1(log_p))


def repeated(kept: Floats, responses: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """Return the scores and errors `(seeds, p)` of the method with n evaluations, and the scores of all subsets `(p,)`.

    The text has a word for each sentence, and the answers to its subsets are known.
    """
    words = [f"w{index}" for index in range(kept.shape[1])]
    known = dict(zip((" ".join(compress(words, row)) for row in kept), expit(responses), strict=True))
    answers = Callable(
        lambda texts: [[1 - known[" ".join(text.split())], known[" ".join(text.split())]] for text in texts],
        ["no", "yes"],
    )

    def explained(n_samples: int, seed: int) -> mase.Attribution:
        return mase.explain(
            " ".join(words),
            answers,
            target="yes",
            method=METHOD,
            link="logit",
            reference="delete",
            n_samples=n_samples,
            seed=seed,
        )

    found = [explained(n, seed) for seed in range(N_SEEDS)]
    whole = explained(2 ** len(words) + 1, 0)
    assert whole.responses[0].exact
    return np.array([one.scores for one in found]), np.array([one.standard_errors for one in found]), whole.scores


def row(budget: str) -> tuple[int, str]:
    """Return the number of prompts, and the row of a budget."""
    covered, strongest, wide = [], [], []
    for kept, responses in prompts():
        n = BUDGETS[budget](kept.shape[1])
        if n >= len(kept):
            continue
        scores, errors, long_run = repeated(kept, responses, n)
        held = np.abs(scores - long_run) <= Z * errors
        covered.append(float(held.mean()))
        strongest.append(float(held[:, np.argmax(long_run)].mean()))
        wide.append(float(np.sqrt(np.mean(errors**2) / np.mean((scores - long_run) ** 2))))
    n = len(covered)
    return n, f"| {budget} | {n} | {told(covered)} | {told(strongest)} | {min(covered):.2f} | {np.median(wide):.2f} |"


def main() -> None:
    """Measure, and write the page."""
    found = [row(budget) for budget in BUDGETS]
    lines = [
        "# What the intervals of mase-cite cover on SmolLM2-135M-Instruct",
        "",
        f"Made by `experiments/citing/coverage.py` from {found[0][0]} prompts with at most {MOST_UNITS} sentences, "
        f"{N_SEEDS} seeds each.",
        "Coverage is the share of 95 % intervals that hold the score that all subsets give, with a 95 % interval over",
        "prompts, for all sentences and for the strongest one. *Error* is the standard error that is shown, relative",
        "to the root mean square of the true errors, as a median over prompts. Prompts with no more subsets than",
        "evaluations are left out: their scores are exact.",
        "",
        "| evaluations | prompts | coverage | of the strongest | worst prompt | error |",
        "|---|---:|---:|---:|---:|---:|",
        *(line for _, line in found),
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

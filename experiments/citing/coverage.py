"""What the intervals of `mase-cite` cover on a real model: prompts of few sentences, of which all subsets are known.

The model is asked once about each subset of the sentences of the prompts of `compare.py`, whose rows in `build/citing/`
serve both. Then the method is repeated with many seeds. Coverage is the share of 95 % intervals that hold the score
that all subsets give. Prompts with no more subsets than evaluations are left out: their scores are exact. `coverage.md`
gets the table.

    python experiments/citing/coverage.py MODEL_FOLDER
"""

import argparse
import collections.abc
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice
from pathlib import Path

import numpy as np
from scoring import LanguageModel, Scorer, log_odds
from tasks import TASKS, cases

import mase
from mase.arrays import Bools, Floats
from mase.designs.placement import subsets
from mase.models import Callable

sys.path.insert(0, str(Path(__file__).parents[1]))
from lookup import METHOD, Z, told

RECORDS = Path(__file__).parents[2] / "build" / "citing" / "report"
PAGE = Path(__file__).with_suffix(".md")
MOST_UNITS, N_SEEDS = 8, 30
N_PROMPTS = 20  # of each task, as in the rounds of `compare.py`
# Numbers of evaluations: some, and those of the default for p units.
BUDGETS: Mapping[str, collections.abc.Callable[[int], int]] = {
    "16": lambda _: 16,
    "32": lambda _: 32,
    "32 + p, the default": lambda p: 32 + p,
    "64": lambda _: 64,
}


def asked(folder: Path) -> Iterator[tuple[Bools, Floats]]:
    """Yield all subsets `(2^p, p)` of the sentences of each prompt, and the log-odds of its answer `(2^p,)`."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    model = LanguageModel.load(folder)
    for task in TASKS:
        for case in islice(cases(task, "report", "sentence", model.tokenizer), N_PROMPTS):
            if len(case.spans) <= MOST_UNITS:
                kept = subsets(len(case.spans)) > 0
                yield kept, log_odds(Scorer(model, case, RECORDS / f"{case.name}.rows.jsonl").log_probabilities(kept))


def repeated(kept: Bools, responses: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """Return the scores and errors `(seeds, p)` of the method with n evaluations, and the scores of all subsets `(p,)`.

    The text has a word for each sentence, and the answers to its subsets are known.
    """
    words = [f"w{index}" for index in range(kept.shape[1])]
    known = dict(zip((" ".join(compress(words, row)) for row in kept), responses.tolist(), strict=True))

    def predict(texts: Sequence[str]) -> Floats:
        yes = np.array([known[" ".join(text.split())] for text in texts])
        return np.column_stack([np.zeros(len(yes)), yes])

    # As logits, because probabilities below 1e-9 are raised to that.
    answers = Callable(predict, ["no", "yes"], outputs="logits")

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
            evidence=0,
        )

    found = [explained(n, seed) for seed in range(N_SEEDS)]
    whole = explained(2 ** len(words) + 1, 0)
    assert whole.responses[0].exact
    return np.array([one.scores for one in found]), np.array([one.standard_errors for one in found]), whole.scores


def row(budget: str, known: Sequence[tuple[Bools, Floats]]) -> str:
    """Return the row of a budget."""
    covered, strongest, wide = [], [], []
    for kept, responses in known:
        n = BUDGETS[budget](kept.shape[1])
        if n >= len(kept):
            continue
        scores, errors, whole = repeated(kept, responses, n)
        held = np.abs(scores - whole) <= Z * errors
        covered.append(float(held.mean()))
        strongest.append(float(held[:, np.argmax(whole)].mean()))
        wide.append(float(np.sqrt(np.mean(errors**2) / np.mean((scores - whole) ** 2))))
    told_of = f"{told(covered)} | {told(strongest)} | {min(covered):.2f} | {np.median(wide):.2f}"
    return f"| {budget} | {len(covered)} | {told_of} |"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of the language model")
    known = list(asked(parser.parse_args().model))
    lines = [
        "# What the intervals of mase-cite cover on SmolLM2-135M-Instruct",
        "",
        f"Made by `experiments/citing/coverage.py` from {len(known)} prompts with at most {MOST_UNITS} sentences, "
        f"{N_SEEDS} seeds each.",
        "Coverage is the share of 95 % intervals that hold the score that all subsets give, with a 95 % interval over",
        "prompts, for all sentences and for the strongest one. *Error* is the standard error that is shown, relative",
        "to the root mean square of the true errors, as a median over prompts. Prompts with no more subsets than",
        "evaluations are left out: their scores are exact.",
        "",
        "| evaluations | prompts | coverage | of the strongest | worst prompt | error |",
        "|---|---:|---:|---:|---:|---:|",
        *(row(budget, known) for budget in BUDGETS),
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Compare methods that explain answers of a language model, at equal evaluations of the same model.

    python experiments/citing/compare.py MODEL_FOLDER --split report

runs the methods of `rivals.METHODS`. Every row that is evaluated is kept in build/citing/, as is every explanation, so
that a second call goes on where the first one was stopped. The order of the prompts makes any part of a run balanced.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rivals import METHODS, TooFewError, scores_of
from scipy.stats import spearmanr
from scoring import Asked, LanguageModel, Planned, Scorer, log_odds
from tasks import TASKS, Case, Unit, cases

from mase.arrays import Bools, Floats
from mase.files import write_text
from mase.rng import generator

__all__ = ["BUDGETS", "KS", "measured", "prompts"]

BUDGETS, KS, N_HELD_OUT, SEED = (16, 32, 64, 128), (1, 3, 5), 64, 0
# Rounds of one prompt of each task, in the order in which they are explained.
ROUNDS: tuple[tuple[Unit, int], ...] = (("sentence", 16), ("word", 10), ("sentence", 4))
# Methods whose rows depend on earlier answers. The rows of all others are evaluated at once, which is faster.
ADAPTIVE = ("shap, Partition", "mase-cite")
ROOT = Path(__file__).parents[2]
Record = dict[str, Any]


def prompts(split: Any, tokenizer: Any) -> Iterator[Case]:
    """Yield the prompts in the order in which they are explained: first one of each task, and so on."""
    found = {(task, units): cases(task, split, units, tokenizer) for task in TASKS for units in ("sentence", "word")}
    for units, n_rounds in ROUNDS:
        for _ in range(n_rounds):
            for task in TASKS:
                yield from islice(found[task, units], 1)


def held_out(case: Case) -> Bools:
    """Return the masks `(64, p)` that explanations are tested on: different ones, each unit kept with probability 1/2.

    They are drawn without a look at the rows of any method.
    """
    rng, masks = generator(SEED, case.name), {}
    while len(masks) < N_HELD_OUT:
        kept = rng.random(len(case.spans)) < 0.5
        masks[kept.tobytes()] = kept
    return np.array(list(masks.values()))


def without_best(scores: Floats, k: int) -> Bools:
    """Return the mask `(p,)` without the k units of the highest scores; ties by position."""
    kept = np.ones(len(scores), dtype=bool)
    kept[np.argsort(-scores, kind="stable")[:k]] = False
    return kept


def explained(scorer: Scorer | Planned, method: str, n: int) -> Record:
    """Return the scores of a method with at most n evaluations, or why there are none."""
    asked = Asked(scorer)
    try:
        scores = scores_of(method, asked, n)
    except TooFewError as error:
        return {"method": method, "n": n, "reason": str(error)}
    if asked.n > n:
        raise RuntimeError(f"{method} asked for {asked.n} rows, expected at most {n}")
    if not np.isfinite(scores).all():
        return {"method": method, "n": n, "reason": "its scores are not finite"}
    return {"method": method, "n": n, "asked": asked.n, "scores": scores.tolist()}


def measured(scorer: Scorer, records: Sequence[Record]) -> None:
    """Add the measures to the records of explanations.

    `drops` are the falls of the answer's log-probability without the best k units, and `datamodel` is Spearman's
    correlation of the log-odds at the held-out masks with the sums of the scores of the units that are kept.
    """
    found = [record for record in records if "scores" in record and "drops" not in record]
    tests = held_out(scorer.case)
    rows = [without_best(np.array(record["scores"]), k) for record in found for k in KS]
    whole = np.ones((1, scorer.n_units), dtype=bool)
    logs = scorer.log_probabilities(np.concatenate([whole, tests, *(row[None] for row in rows)]))
    total, expected = logs.sum(axis=1), log_odds(logs[1 : 1 + len(tests)])
    drops = (total[0] - total[1 + len(tests) :]).reshape(-1, len(KS))
    for record, falls in zip(found, drops, strict=True):
        record["drops"] = dict(zip(map(str, KS), falls.tolist(), strict=True))
        predicted = tests @ np.array(record["scores"])
        same = np.ptp(predicted) < 1e-12  # a constant predicts no order
        record["datamodel"] = 0.0 if same else float(spearmanr(predicted, expected).statistic)


def run(case: Case, model: LanguageModel, folder: Path, methods: Sequence[str]) -> None:
    """Explain one prompt with the methods that have not explained it, and write the records of all."""
    scorer = Scorer(model, case, folder / f"{case.name}.rows.jsonl")
    file = folder / f"{case.name}.json"
    before = json.loads(file.read_text(encoding="utf-8"))["records"] if file.exists() else []
    done = {(record["method"], record["n"]) for record in before}
    todo = [(method, n) for method in methods for n in BUDGETS[::-1] if (method, n) not in done]
    if not todo:
        return
    planned = Planned(scorer)
    for method, n in todo:
        if method not in ADAPTIVE:
            explained(planned, method, n)
    scorer.log_probabilities(np.array([*planned.masks.values(), *held_out(case)]))
    new = [explained(scorer, method, n) for method, n in todo]
    measured(scorer, new)
    facts = {"task": case.task, "units": case.units, "id": case.id, "p": len(case.spans), "t": len(scorer.answer)}
    write_text(file, json.dumps(facts | {"records": before + new}))
    print(case.name, facts["p"], "units,", scorer.n_known, "rows", flush=True)  # noqa: T201


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of the language model")
    parser.add_argument("--split", choices=("validation", "report"), default="report")
    parser.add_argument("--method", action="append", help="only this method; may be given several times")
    options = parser.parse_args()
    folder = ROOT / "build" / "citing" / options.split
    folder.mkdir(parents=True, exist_ok=True)
    model = LanguageModel.load(options.model)
    for case in prompts(options.split, model.tokenizer):
        run(case, model, folder, options.method or list(METHODS))


if __name__ == "__main__":
    main()

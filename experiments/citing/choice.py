"""Compare candidates for the method `mase-cite` on validation prompts, from the training splits of Reuters and IMDB.

    python experiments/citing/choice.py MODEL_FOLDER

Every row that is evaluated is kept in build/citing/choice/, so that a second call goes on where the first one was
stopped. experiments/citing/choice.md has the means over all prompts that are done. `compare.py` has the measures.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import rivals
from compare import BUDGETS, KS, ROOT, Record, explained, measured
from rivals import by_mase, context_cite
from scipy.stats import t as student
from scoring import Asked, LanguageModel, Scorer
from tasks import TASKS, Case, cases

from mase.arrays import Floats
from mase.files import write_text
from mase.methods import resolve

FOLDER, PAGE = ROOT / "build" / "citing" / "choice", Path(__file__).with_suffix(".md")
# The first is what the others are compared with.
CANDIDATES: dict[str, Callable[[Asked, int], Floats]] = {
    "context-cite": context_cite,
    "hadamard, ridge": by_mase(resolve("mase-cite", design="hadamard", estimator="ridge")),
    "hadamard, empirical-bayes": by_mase(resolve("mase-cite", design="hadamard", estimator="empirical-bayes")),
    "close-up, empirical-bayes": by_mase(resolve("mase-cite", estimator="empirical-bayes")),
    "close-up, gaussian-process": by_mase(resolve("mase-cite")),
}
FEWEST = 5  # prompts of an interval
MEASURES = ("datamodel", *(f"drop {k}" for k in KS))


def prompts(tokenizer: Any, n_rounds: int) -> Iterator[Case]:
    """Yield validation prompts, one of each task and kind of unit in each round."""
    found = [cases(task, "validation", units, tokenizer) for units in ("word", "sentence") for task in TASKS]
    for _ in range(n_rounds):
        for some in found:
            yield from islice(some, 1)


def explain(case: Case, model: LanguageModel) -> None:
    """Explain one prompt with all candidates, unless that is done."""
    file = FOLDER / f"{case.name}.json"
    if file.exists():
        return
    scorer = Scorer(model, case, FOLDER / f"{case.name}.rows.jsonl")
    records = [explained(scorer, name, n) for n in BUDGETS[::-1] for name in CANDIDATES]
    measured(scorer, records)
    write_text(file, json.dumps({"task": case.task, "units": case.units, "records": records}))
    print(case.name, len(case.spans), "units,", scorer.n_known, "rows", flush=True)  # noqa: T201


def values(record: Record) -> list[float]:
    """Return the measures of a record."""
    return [record["datamodel"], *record["drops"].values()]


def page() -> str:
    """Return the means over the prompts, and the differences from the first candidate with 95 % intervals."""
    found: dict[tuple[str, int, str], list[list[float]]] = defaultdict(list)
    for file in sorted(FOLDER.glob("*.json")):
        of_prompt = json.loads(file.read_text(encoding="utf-8"))
        for record in of_prompt["records"]:
            found[of_prompt["units"], record["n"], record["method"]].append(values(record))
    lines = [
        "# Candidates for mase-cite, on validation prompts\n",
        "Means over prompts, and in brackets, from five prompts on, the differences from context-cite with 95 % "
        "intervals.\n"
        "`datamodel` is the linear datamodelling score, and `drop k` is the fall of the log-probability of the answer\n"
        "without the best k units. `python experiments/citing/choice.py MODEL_FOLDER` wrote this page.",
    ]
    first = next(iter(CANDIDATES))
    for units in ("word", "sentence"):
        n_prompts = len(found[units, BUDGETS[0], first])
        if not n_prompts:
            continue
        lines += [f"\n## {units.capitalize()}s, prompts: {n_prompts}\n", f"| rows | method | {' | '.join(MEASURES)} |"]
        lines.append("|---" * (2 + len(MEASURES)) + "|")
        for n in BUDGETS:
            base = np.array(found[units, n, first])
            for name in CANDIDATES:
                some = np.array(found[units, n, name])
                cells = [_cell(one, other) for one, other in zip(some.T, base.T, strict=True)]
                lines.append(f"| {n} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(some: Floats, base: Floats) -> str:
    change, n = some - base, len(some)
    if n < FEWEST or not change.any():
        return f"{some.mean():.2f}"
    half = float(student.ppf(0.975, n - 1)) * change.std(ddof=1) / n**0.5
    return f"{some.mean():.2f} ({change.mean():+.2f} ± {half:.2f})"


def main() -> None:
    """Explain the prompts and write the page after each of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of the language model")
    parser.add_argument("--rounds", type=int, default=4, help="prompts of each task and kind of unit")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    rivals.METHODS.update(CANDIDATES)
    model = LanguageModel.load(options.model)
    for case in prompts(model.tokenizer, options.rounds):
        explain(case, model)
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

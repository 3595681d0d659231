"""How many places of an explanation are called certain, and how many of them another seed finds, too.

Validation texts of at least 12 words are explained by `mase` with `n_samples="auto"` and two seeds, each of which is
compared with the other one. A place that is called certain holds if its word is among as many strongest of the other
seed, with the same sign. The page goes to `experiments/places/places.md`:

    python experiments/places.py DATA_DIR --models MODELS --n-texts 20
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.models.base import Model
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

FEWEST_WORDS, MOST_WORDS, SKIPPED, GOOD = 12, 120, 30, 0.8
HERE = Path(__file__).with_suffix("")

INTRODUCTION = f"""\
# How many places are certain

Validation texts of {FEWEST_WORDS} to {MOST_WORDS} words, `n_samples="auto"`, two seeds, each compared with the other
one (`experiments/places.py`). *Certain* is the mean number of places that the verdict calls certain, *hold* the share
of these whose word is among as many strongest of the other seed, with the same sign, *sets* the share of explanations
with a certain place whose places all hold, *none* the share of explanations without one. The last three columns are of
those whose held-out R² is at least {GOOD}.

| | explanations | evaluations | certain | hold | sets | none | of them R² ≥ {GOOD} | certain | none |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def pairs(model: Model, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what each explanation says of its places, and how many of these hold."""
    for text in texts:
        found = [mase.Explainer(model, seed=seed)(text) for seed in range(2)]
        for one, other in permutations(found):
            certain = one.verdict.certain
            first, second = (np.argsort(-np.abs(each.scores), kind="stable")[:certain] for each in (one, other))
            held = np.isin(first, second) & (np.sign(one.scores[first]) == np.sign(other.scores[first]))
            yield {
                "certain": certain,
                "held": int(held.sum()),
                "r2": one.r2_held_out,
                "n_queries": one.fit.n_queries,
            }


def row(title: str, some: Sequence[Mapping[str, Any]]) -> str:
    """Return a row of the table."""
    good = [one for one in some if (one["r2"] or 0.0) >= GOOD]
    told = [one for one in some if one["certain"]]
    cells = [
        f"{len(some)}",
        f"{np.mean([one['n_queries'] for one in some]):.0f}",
        f"{np.mean([one['certain'] for one in some]):.2f}",
        f"{sum(one['held'] for one in some) / max(1, sum(one['certain'] for one in some)):.3f}",
        f"{np.mean([one['held'] == one['certain'] for one in told]) if told else np.nan:.3f}",
        f"{np.mean([one['certain'] == 0 for one in some]):.2f}",
        f"{len(good)}",
        f"{np.mean([one['certain'] for one in good]):.2f}" if good else "",
        f"{np.mean([one['certain'] == 0 for one in good]):.2f}" if good else "",
    ]
    return f"| {title} | {' | '.join(cells)} |"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"))
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--n-texts", type=int, default=20)
    args = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    path = HERE / "places.json"
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in args.targets:
        target = TARGETS[name]
        model, split = target.load(args.models), target.split("validation", args.data_dir)
        long_enough = (
            one.text for one in choose(model, split, 0) if FEWEST_WORDS <= len(one.text.split()) <= MOST_WORDS
        )
        found[name] = list(pairs(model, list(islice(long_enough, SKIPPED, SKIPPED + args.n_texts))))
        path.write_text(json.dumps(found) + "\n", encoding="utf-8")
    rows = [row(TARGETS[name].title, found[name]) for name in TARGETS if name in found]
    rows.append(row("all", [one for some in found.values() for one in some]))
    (HERE / "places.md").write_text(INTRODUCTION + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

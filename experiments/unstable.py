"""Count how often the note `unstable` is right. The table is printed in `docs/decisions/2026-11-22-unstable.md`.

Validation texts are explained with two seeds. The seeds agree if the words that both list have at least four fifths of
the strength (the sum of absolute scores) of one list. The note should appear if they do not agree.

    python experiments/unstable.py DATA_DIR lstm-reuters --skip 80 --n-texts 80
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

import mase
from mase.arrays import Floats
from mase.attribution import LISTED
from mase.budget import AUTO, NSamples
from mase.datasets import load as load_split
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.testbeds import PAPER

SETTINGS: tuple[tuple[str, NSamples], ...] = (
    ("mase", 1000),
    ("mase", AUTO),
    ("mase", 250),
    ("lime", 1000),
    ("kernel-shap", 1000),
    ("mase-paper", 1000),
)
THRESHOLDS = (0.75, 0.8, 0.85, 0.9)
AGREED = 0.8


@dataclass(frozen=True)
class Agreement:
    """The agreement of the halves of one sample, and of another seed with it."""

    split_half: float
    repeated: float


def listed(scores: Floats) -> set[int]:
    """Return the words that a screen lists; half of the words in a short text."""
    return set(np.argsort(-np.abs(scores), kind="stable")[: min(LISTED, len(scores) // 2)].tolist())


def agreements(model: Model, text: str, method: str, n_samples: NSamples) -> Iterator[Agreement]:
    """Yield the agreement of each of two seeds with the other; nothing for texts that are too short for halves."""
    runs = []
    for seed in (0, 1):
        found = mase.Explainer(model, method=method, units="wordpunct", n_samples=n_samples, seed=seed, evidence=0)(
            text
        )
        halves = found.fit.split_half
        if halves is None:
            return
        runs.append((found, halves))
    for (one, halves), (other, _) in (runs, runs[::-1]):
        strength, mine = np.abs(one.scores), listed(one.scores)
        shared = strength[list(mine & listed(other.scores))].sum() / strength[list(mine)].sum()
        yield Agreement(halves, float(shared))


def counted(fires: list[bool], agreed: list[bool]) -> str:
    """Return the false alarms among explanations that agree, and the misses among those that do not."""
    alarms = sum(fire and agree for fire, agree in zip(fires, agreed, strict=True))
    return f"{alarms} + {sum(not fire and not agree for fire, agree in zip(fires, agreed, strict=True))}"


def main() -> None:
    """Print a table of false alarms + misses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", choices=list(PAPER))
    parser.add_argument("--skip", type=int, default=0, help="texts that are left out first")
    parser.add_argument("--n-texts", type=int, default=80)
    args = parser.parse_args()
    configure(1)
    model = load(args.target)
    split = load_split(PAPER[args.target].dataset, "validation", args.data_dir)
    texts: list[Chosen] = list(islice(choose(model, split, 0), args.skip, args.skip + args.n_texts))
    by_setting: dict[str, list[Agreement]] = defaultdict(list)
    for method, n_samples in SETTINGS:
        for chosen in texts:
            shown = f"`{AUTO}`" if n_samples == AUTO else f"{n_samples:,}"
            by_setting[f"`{method}`, N = {shown}"] += agreements(model, chosen.text, method, n_samples)
    by_setting["all"] = [one for many in list(by_setting.values()) for one in many]
    rules = " | ".join(f"below {at:.2f}" for at in THRESHOLDS)
    print(f"| {PAPER[args.target].title} | agree, differ | {rules} |\n|---|---:|{'---:|' * len(THRESHOLDS)}")  # noqa: T201
    for setting, many in by_setting.items():
        agreed = [one.repeated >= AGREED for one in many]
        cells = [counted([one.split_half < at for one in many], agreed) for at in THRESHOLDS]
        print(f"| {setting} | {sum(agreed)}, {len(agreed) - sum(agreed)} | {' | '.join(cells)} |")  # noqa: T201


if __name__ == "__main__":
    main()

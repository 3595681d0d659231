"""What intervals cover where several units say the same. The table goes to `experiments/citing/redundant.md`.

    python experiments/citing/redundant.py

The models are made up: twelve units have small effects of their own, and of some of them any one suffices, as of
passages that hold the same answer. The long-run value of a score is its mean over the other seeds, whose own error is
counted. The last line is of three units that are needed at once, and of one more that changes nothing.
"""

from pathlib import Path

import numpy as np

import mase
from mase.arrays import Bools, Floats
from mase.models import Callable

METHODS, REDUNDANT = ("mase-cite", "mase"), (2, 3, 4, 6)
UNITS, MODELS, SEEDS, TOP, Z = 12, 4, 24, 5, 1.96
WORDS = [f"w{number}x" for number in range(UNITS)]
PAGE = Path(__file__).with_suffix(".md")


def contents(texts: list[str]) -> Bools:
    """Return which words each text has `(n, 12)`."""
    return np.array([[word in text.split() for word in WORDS] for text in texts])


def model_of(number: int, n_redundant: int) -> Callable:
    """Return a model in which any one of some units adds 3, and each unit has a small effect of its own."""
    rng = np.random.default_rng(number)
    own, same = 0.3 * rng.normal(size=UNITS), rng.choice(UNITS, n_redundant, replace=False)

    def values(texts: list[str]) -> Floats:
        kept = contents(texts)
        return np.asarray(kept @ own + 3.0 * kept[:, same].any(axis=1))[:, None]

    return Callable(values, labels=["value"], outputs="values")


def measured(method: str, n_redundant: int) -> str:
    """Return the row of a method and a number of units that say the same."""
    inside, reliable, kept, cost = [], [], [], []
    for number in range(MODELS):
        model = model_of(number, n_redundant)
        found = [mase.Explainer(model, method=method, seed=seed, evidence=0)(" ".join(WORDS)) for seed in range(SEEDS)]
        scores, errors = (np.array([getattr(one, name) for one in found]) for name in ("scores", "standard_errors"))
        n, spread = len(scores), scores.std(axis=0, ddof=1)
        long_run = (scores.sum(axis=0) - scores) / (n - 1)
        inside.append(np.abs(scores - long_run) <= Z * np.hypot(errors, spread / (n - 1) ** 0.5))
        cost += [one.fit.n_queries for one in found]
        for one, other in zip(found[::2], found[1::2], strict=True):
            reliable.append(one.verdict.reliable)
            if one.verdict.reliable:
                kept.append(len(strongest(one) & strongest(other)) >= TOP - 1)
    share = f"{np.mean(kept):.2f} of {len(kept)}" if kept else "none"
    told = (str(n_redundant), f"{np.mean(cost):.0f}", f"{np.mean(inside):.3f}", f"{np.mean(reliable):.2f}", share)
    return f"| `{method}` | {' | '.join(told)} |"


def strongest(found: mase.Attribution) -> set[int]:
    """Return the five units of largest absolute score."""
    return set(np.argsort(-np.abs(found.scores), kind="stable")[:TOP].tolist())


def idle(method: str) -> list[float]:
    """Return the scores of three units that are needed at once, and of one that changes nothing."""
    model = Callable(
        lambda texts: 12.0 * contents(texts)[:, :3].all(axis=1)[:, None], labels=["value"], outputs="values"
    )
    return [
        round(float(score), 2) for score in mase.Explainer(model, method=method, evidence=0)(" ".join(WORDS[:4])).scores
    ]


def main() -> None:
    """Write the page."""
    lines = [
        "# Intervals where several units say the same",
        "",
        f"{MODELS} made-up models of {UNITS} units, {SEEDS} seeds each, with as many evaluations as a method takes by",
        "itself. *Covered* is the share of 95 % intervals that contain the long-run value, *reliable* the share of",
        "results that are called so, and *kept* how many of these have four of their five strongest units in common",
        "with another seed. `experiments/citing/redundant.py` made this page; its first lines say more.",
        "",
        "| method | units that say the same | evaluations | covered | reliable | kept |",
        "|---|--:|--:|--:|--:|--:|",
        *(measured(method, number) for method in METHODS for number in REDUNDANT),
        "",
        "Three units that are needed at once, and one that changes nothing, have these scores, from all subsets:",
        "",
        *(f"- `{method}`: {', '.join(f'{score:.2f}' for score in idle(method))}" for method in METHODS),
        "",
        f"Made with mase {mase.__version__}; the models cost nothing, so no hardware matters.",
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

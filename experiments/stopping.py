"""Measure what explanations cover that a rule stopped. The table goes to `experiments/stopping/stopping.md`.

The validation texts of `coverage.py` are explained with each stopping rule and many seeds. What a score stands for in
the long run is the mean over the other seeds with the same rule; its own error is counted. Rows that several rules ask
of a text with one seed are evaluated once. Every explanation goes to RECORDS as a line of JSON as soon as it is done,
so that an interrupted run continues where it stopped. Targets may run side by side, each in a process of its own:

    python experiments/stopping.py DATA_DIR lstm-reuters --n-texts 20 --n-seeds 200
    python experiments/stopping.py DATA_DIR bert-reuters --n-texts 10 --n-seeds 60 --precision bfloat16

Without a target, the page is written, and what it says of each text goes to `experiments/stopping/texts.jsonl`:

    python experiments/stopping.py DATA_DIR
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from coverage import SKIPPED, TOP, Z, explanation, figures, half_width, texts_of

import mase
from mase.datasets import load as load_split
from mase.models import load
from mase.models.runtime import configure
from mase_paper.experiments.cached_model import CachedModel
from mase_paper.experiments.lines import continued
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.testbeds import TARGETS

N_SAMPLES = 1000
RULES: dict[str, dict[str, Any]] = {
    "none": {},
    "tolerance=0.1": {"tolerance": 0.1},
    "tolerance=0.2": {"tolerance": 0.2},
    "stable_top=3": {"stable_top": 3},
}
HERE = Path(__file__).with_suffix("")
RECORDS = Path(__file__).parents[1] / "build" / "stopping"


def explain(target: str, args: argparse.Namespace) -> None:
    """Write the records of a target that its file lacks: all texts with one seed, and then with the next."""
    model, split = CachedModel(load(target)), load_split(TARGETS[target].dataset, "validation", args.data_dir)
    texts = texts_of(model, split, SKIPPED, args.n_texts)
    with continued(args.records / f"{target}.jsonl", made_with(model, split, args.precision)) as file:
        done = {(one["method"], one["row"], one["seed"]) for one in file.known}
        for seed in range(args.first_seed, args.n_seeds):
            for chosen in texts:
                model.clear()
                for name, rule in RULES.items():
                    if (name, chosen.row, seed) not in done:
                        settings = {"n_samples": N_SAMPLES, "seed": seed, "precision": args.precision}
                        explainer = mase.Explainer(model, **settings, **rule, evidence=0)
                        file.append([{"method": name} | explanation(explainer, chosen)])


def table(target: str, texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of a target: a row for each rule."""
    yield f"## {TARGETS[target].title}"
    yield ""
    yield "| rule | texts | seeds | evaluations | highest | worst text | shown | others | same |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for rule in RULES:
        own = [one for one in texts if one["method"] == rule]
        mean = {key: float(np.mean([one[key] for one in own])) for key in ("top", "shown", "rest", "same", "n_queries")}
        half, worst = half_width([one["top"] for one in own]), min(one["top"] for one in own)
        name = rule if rule == "none" else f"`{rule}`"
        told = f"{mean['top']:.3f} ± {half:.3f} | {worst:.2f} | {mean['shown']:.3f} | {mean['rest']:.3f}"
        seeds, cost = min(one["seeds"] for one in own), f"{mean['n_queries']:.0f}"
        yield f"| {name} | {len(own)} | {seeds} | {cost} | {told} | {mean['same']:.2f} |"
    yield ""


INTRODUCTION = f"""\
# What explanations cover that a rule stopped

Made by `experiments/stopping.py`: method `mase`, at most {N_SAMPLES:,} samples, the validation texts of [the page about
coverage](../coverage/coverage.md). Each figure is the share of the intervals, of {Z} standard errors, that contain the
long-run value of the score: its mean over the other seeds with the same rule, whose own error is counted. *Highest* are
the {TOP} highest words of the long run (± is a 95 % interval over texts, by Student's t), *worst text* is the lowest
share of a text, *shown* are the {TOP} words that each explanation shows as the highest, and *others* are all but the
highest. *Same* is the share of the {TOP} highest words of the long run that an explanation shows as its {TOP} highest.
BERTs are evaluated in bfloat16, as the first lines of the script say.
"""


def report(args: argparse.Namespace) -> None:
    """Write the page, and the figures of each text."""
    lines = [INTRODUCTION]
    for target, texts in figures(HERE / "texts.jsonl", args.records).items():
        lines += table(target, texts) if texts else []
    (HERE / "stopping.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main() -> None:
    """Explain the texts of a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--n-texts", type=int, default=20)
    parser.add_argument("--n-seeds", type=int, default=40, help="seeds are the numbers below this")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--records", type=Path, default=RECORDS)
    args = parser.parse_args()
    configure(1)
    if args.target is None:
        report(args)
    else:
        explain(args.target, args)


if __name__ == "__main__":
    main()

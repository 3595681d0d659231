"""Measure what explanations cover that a rule stopped. The table goes to `experiments/stopping/stopping.md`.

The validation texts of `coverage.py` are explained with each stopping rule and many seeds. What a score stands for in
the long run is the mean over the other seeds with the same rule; its own error is counted. Every explanation goes to
RECORDS as a line of JSON as soon as it is done, so that an interrupted run continues where it stopped. Targets may run
side by side, each in a process of its own:

    python experiments/stopping.py DATA_DIR lstm-reuters --n-texts 20 --n-seeds 40

Without a target, the page is written, and what it says of each text goes to `experiments/stopping/texts.jsonl`:

    python experiments/stopping.py DATA_DIR
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from coverage import DIGITS, FEWEST_WORDS, SKIPPED, TOP, Z, covered, half_width, records

import mase
from mase.datasets import load as load_split
from mase.models import load
from mase.models.runtime import configure
from mase_paper.experiments.selection import choose
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
    model = load(target)
    split = load_split(TARGETS[target].dataset, "validation", args.data_dir)
    long_enough = (one for one in choose(model, split, 0) if len(one.text.split()) >= FEWEST_WORDS)
    texts = list(islice(long_enough, SKIPPED, SKIPPED + args.n_texts))
    path = args.records / f"{target}.jsonl"
    done = {(one["rule"], one["row"], one["seed"]) for one in records(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for seed in range(args.n_seeds):
            for chosen in texts:
                for name, rule in RULES.items():
                    if (name, chosen.row, seed) not in done:
                        found = mase.Explainer(model, n_samples=N_SAMPLES, seed=seed, **rule)(chosen.text)
                        line = {"rule": name, "row": chosen.row, "seed": seed, "n_queries": found.fit.n_queries}
                        numbers = {"scores": found.scores, "errors": found.standard_errors}
                        rounded = {key: np.round(values, DIGITS).tolist() for key, values in numbers.items()}
                        file.write(json.dumps(line | rounded) + "\n")
                        file.flush()


def by_text(some: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what the intervals cover of each rule and text, with the seeds that all of them have."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for one in some:
        groups.setdefault((one["rule"], one["row"]), []).append(one)
    n_seeds = min(len(group) for group in groups.values()) if groups else 0
    for (rule, row), group in groups.items():
        first = sorted(group, key=lambda one: one["seed"])[:n_seeds]
        scores, errors = (np.array([one[name] for one in first]) for name in ("scores", "errors"))
        order = np.argsort(-scores, axis=1)[:, :TOP]
        highest = set(np.argsort(-scores.mean(axis=0))[:TOP].tolist())
        same = float(np.mean([len(highest & set(shown.tolist())) / TOP for shown in order]))
        found = {name: round(value, 4) for name, value in (covered(scores, errors) | {"same": same}).items()}
        cost = float(np.mean([one["n_queries"] for one in first]))
        yield {"rule": rule, "row": row, "seeds": n_seeds, "n_queries": cost, **found}


def table(target: str, texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of a target: a row for each rule."""
    yield f"## {TARGETS[target].title}"
    yield ""
    yield "| rule | texts | seeds | evaluations | highest | worst text | shown | others | same |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for rule in RULES:
        own = [one for one in texts if one["rule"] == rule]
        mean = {key: float(np.mean([one[key] for one in own])) for key in ("top", "shown", "rest", "same", "n_queries")}
        half, worst = half_width([one["top"] for one in own]), min(one["top"] for one in own)
        name = rule if rule == "none" else f"`{rule}`"
        told = f"{mean['top']:.3f} ± {half:.3f} | {worst:.2f} | {mean['shown']:.3f} | {mean['rest']:.3f}"
        yield f"| {name} | {len(own)} | {own[0]['seeds']} | {mean['n_queries']:.0f} | {told} | {mean['same']:.2f} |"
    yield ""


INTRODUCTION = f"""\
# What explanations cover that a rule stopped

Made by `experiments/stopping.py`: method `mase`, at most {N_SAMPLES:,} samples, the validation texts of [the page about
coverage](../coverage/coverage.md). Each figure is the share of the intervals, of {Z} standard errors, that contain the
long-run value of the score: its mean over the other seeds with the same rule, whose own error is counted. *Highest* are
the {TOP} highest words of the long run (± is a 95 % interval over texts, by Student's t), *worst text* is the lowest
share of a text, *shown* are the {TOP} words that each explanation shows as the highest, and *others* are all but the
highest. *Same* is the share of the {TOP} highest words of the long run that an explanation shows as its {TOP} highest.
"""


def report(args: argparse.Namespace) -> None:
    """Write the page, and the figures of each text. Those of targets without records stay."""
    earlier, told, lines = records(HERE / "texts.jsonl"), [], [INTRODUCTION]
    for target in TARGETS:
        now = list(by_text(records(args.records / f"{target}.jsonl")))
        kept = [{key: one[key] for key in one if key != "target"} for one in earlier if one["target"] == target]
        texts = now or kept
        lines += table(target, texts) if texts else []
        told += [json.dumps({"target": target} | one) + "\n" for one in texts]
    HERE.mkdir(exist_ok=True)
    (HERE / "stopping.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    (HERE / "texts.jsonl").write_text("".join(told), encoding="utf-8")


def main() -> None:
    """Explain the texts of a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--n-texts", type=int, default=20)
    parser.add_argument("--n-seeds", type=int, default=40)
    parser.add_argument("--records", type=Path, default=RECORDS)
    args = parser.parse_args()
    configure(1)
    if args.target is None:
        report(args)
    else:
        explain(args.target, args)


if __name__ == "__main__":
    main()

"""What the 95 % intervals of scores cover. The tables go to `experiments/coverage/coverage.md`.

Validation texts are explained with many seeds. What a score stands for in the long run is the mean over the other
seeds, with the same number of samples; its own error is counted. Every explanation goes to RECORDS as a line of JSON as
soon as it is done, so that an interrupted run continues where it stopped, and more seeds or texts extend a shorter run.
Targets may run side by side, each in a process of its own:

    python experiments/coverage.py DATA_DIR lstm-imdb --n-texts 20 --n-seeds 200
    python experiments/coverage.py DATA_DIR lstm-reuters --n-texts 20 --n-seeds 200
    python experiments/coverage.py DATA_DIR bert-imdb --n-texts 40 --precision bfloat16 --device cuda
    python experiments/coverage.py DATA_DIR bert-reuters --n-texts 24 --precision bfloat16 --device cuda

A process can also explain some of the texts (`--skip`) into a folder of its own; the files are joined with `cat`.

Without a target, the page is written, and what it says of each text goes to `experiments/coverage/texts.jsonl`:

    python experiments/coverage.py DATA_DIR

How good the scores of a candidate are is measured by `complement.py`, whose records the page shows too:

    python experiments/complement.py DATA_DIR lstm-reuters --n-texts 150 --records experiments/coverage/records \
        --methods mase greedy-search
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from complement import table as compared
from scipy.special import stdtrit

import mase
from mase.arrays import Floats, Ints
from mase.configuration import parse
from mase.datasets import Split
from mase.datasets import load as load_split
from mase.method import Method
from mase.methods import resolve
from mase.models import load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.testbeds import TARGETS

BEFORE = "mase+design=focused(n_draws=0, softness=4, sparse=0)+estimator=least-squares"
METHODS = ["mase", BEFORE]
# What is added to the name of a method, and the names of scores and errors.
EFFECTS = {"": ("scores", "errors"), ", kept": ("kept", "kept_error")}
FEWEST_WORDS, SKIPPED, TOP, Z, DIGITS = 12, 80, 5, 1.96, 6
HERE = Path(__file__).with_suffix("")
RECORDS = Path(__file__).parents[1] / "build" / "coverage"


def method_of(name: str) -> Method:
    """Return the method of a configuration, with as many samples as the text asks for."""
    configuration = parse(name)
    return replace(resolve(configuration.method, **dict(configuration.settings)), n_samples="auto")


def explain(target: str, args: argparse.Namespace) -> None:
    """Write the records of a target that its file lacks."""
    model = load(target, device=args.device)
    split = load_split(TARGETS[target].dataset, "validation", args.data_dir)
    with continued(args.records / f"{target}.jsonl", made_with(model, split, args.precision)) as file:
        done = {(one["method"], one["row"], one["seed"]) for one in file.known}
        for chosen in texts_of(model, split, args.skip, args.n_texts):
            for name in args.methods:
                for seed in range(args.n_seeds):
                    if (name, chosen.row, seed) not in done:
                        explainer = mase.Explainer(
                            model, method=method_of(name), seed=seed, precision=args.precision, evidence=0
                        )
                        file.append([{"method": name} | explanation(explainer, chosen)])


def texts_of(model: Model, split: Split, skip: int, n_texts: int) -> list[Chosen]:
    """Return texts of a split that have enough words, in the order of all experiments."""
    long_enough = (one for one in choose(model, split, 0) if len(one.text.split()) >= FEWEST_WORDS)
    return list(islice(long_enough, skip, skip + n_texts))


def explanation(explainer: mase.Explainer, chosen: Chosen) -> dict[str, Any]:
    """Explain a text, and return the record of it."""
    return recorded(explainer(chosen.text), chosen, explainer.seed)


def recorded(found: mase.Attribution, chosen: Chosen, seed: int) -> dict[str, Any]:
    """Return the record of one explanation."""
    numbers = {"scores": found.scores, "errors": found.standard_errors, **found.responses[0].effects}
    rounded = {name: np.round(values, DIGITS).tolist() for name, values in numbers.items()}
    return {"row": chosen.row, "seed": seed, "n_queries": found.fit.n_queries, **rounded}


def covered(scores: Floats, errors: Floats) -> dict[str, float]:
    """Return what the intervals of one text cover, from scores and errors `(seeds, p)`.

    The columns are the shares of intervals that contain the long-run value: of the highest words of the long run, of
    those that each explanation shows as the highest, and of all others than the first; and the root mean square of the
    errors over the standard deviation of the scores over seeds, a mean over the highest words and over the others.
    `same` is the share of the highest words of the long run that an explanation shows as its highest.
    """
    n, spread = len(scores), scores.std(axis=0, ddof=1)
    long_run = (scores.sum(axis=0) - scores) / (n - 1)
    rounded = 10.0**-DIGITS  # as the records are
    inside = np.abs(scores - long_run) <= Z * np.hypot(errors, spread / (n - 1) ** 0.5) + rounded
    order, shown = np.argsort(-scores.mean(axis=0)), np.argsort(-scores, axis=1)[:, :TOP]
    top, rest = order[:TOP], order[TOP:]
    moving = spread > rounded  # a word that equals the reference scores 0 with every seed

    def width(words: Ints) -> float:
        some = words[moving[words]]
        return float((np.sqrt((errors[:, some] ** 2).mean(axis=0)) / spread[some]).mean()) if len(some) else np.nan

    return {
        "top": float(inside[:, top].mean()),
        "shown": float(np.take_along_axis(inside, shown, axis=1).mean()),
        "rest": float(inside[:, rest].mean()),
        "same": float(np.isin(shown, top).mean()),
        "width_top": width(top),
        "width_rest": width(rest),
    }


def by_text(some: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what the intervals of each method and text cover; with a single seed there is no long run to cover."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for one in some:
        groups.setdefault((one["method"], one["row"]), []).append(one)
    for (method, row), group in groups.items():
        means = {
            key: float(np.mean([one[key] for one in group])) for key in ("n_queries", "reliable") if key in group[0]
        }
        for effect, names in EFFECTS.items():
            if len(group) > 1 and all(names[0] in one for one in group):
                scores, errors = (np.array([one[name] for one in group]) for name in names)
                found = {name: round(value, 4) for name, value in covered(scores, errors).items()}
                yield {"method": method + effect, "row": row, "seeds": len(group), **means, **found}


def half_width(shares: Sequence[float]) -> float:
    """Return half of the width of the 95 % interval of the mean of shares over texts, by Student's t."""
    return float(stdtrit(len(shares) - 1, 0.975) * np.std(shares, ddof=1) / len(shares) ** 0.5)


def table(target: str, texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of a target: a row for each method."""
    yield f"## {TARGETS[target].title}"
    yield ""
    yield "| method | texts | seeds | evaluations | highest | worst text | shown | others | error, highest | others |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for method in dict.fromkeys(one["method"] for one in texts):
        own = [one for one in texts if one["method"] == method]
        told = [f"{np.mean([one[key] for one in own]):.3f}" for key in ("top", "shown", "rest")]
        wide = [f"{np.mean([one[key] for one in own]):.2f}" for key in ("width_top", "width_rest")]
        half = half_width([one["top"] for one in own])
        top, worst = f"{told[0]} ± {half:.3f}", f"{min(one['top'] for one in own):.2f}"
        cost, seeds = f"{np.mean([one['n_queries'] for one in own]):.0f}", str(min(one["seeds"] for one in own))
        yield f"| {' | '.join([f'`{method}`', str(len(own)), seeds, cost, top, worst, *told[1:], *wide])} |"
    yield ""


INTRODUCTION = f"""\
# What the 95 % intervals cover

Validation texts of at least {FEWEST_WORDS} words, explained with many seeds and as many samples as `n_samples="auto"`
gives. Each figure is the share of the intervals, of {Z} standard errors, that contain the long-run value of the score:
its mean over the other seeds, whose own error is counted. *Highest* are the {TOP} highest words of the long run (± is a
95 % interval over texts, by Student's t), *worst text* is the lowest share of a text, *shown* are the {TOP} words that
each explanation shows as the highest, and *others* are all but the highest. *Error* is the root mean square of the
standard errors over the standard deviation of the scores across seeds. *Kept* is the second effect of the words, from
the same explanations ([what it is](../../docs/reading.md#the-numbers)). *Seeds* are those that every text has at least.
`experiments/coverage.py` made this page; its first lines say how to repeat it. The first {SKIPPED} texts of each target
are left out, because the errors were chosen on some of those, or had been seen to fail there.
"""


FAITHFULNESS = """\
## How good the scores are

Validation texts, one seed. Delta Accuracy is the mean over k = 1 ... 15. Below each figure: by how much `mase` is ahead
on the same texts, with a paired 95 % interval (a bootstrap over texts, widened if they are few); of sufficiency, lower
is better. `mase` is here that of 2026-11-23, before half of the first round [kept few
words](../../docs/decisions/2026-11-24-sparse-rows.md).
"""


def figures(path: Path, of_records: Path, targets: Iterable[str] = TARGETS) -> dict[str, list[dict[str, Any]]]:
    """Return what the intervals cover by target and text, and write it to a file.

    What the file says of targets without records stays.
    """
    found, earlier = {}, read_lines(path)
    for target in targets:
        now = list(by_text(read_lines(of_records / f"{target}.jsonl", same=("model", "data", "precision"))))
        kept = [{key: one[key] for key in one if key != "target"} for one in earlier if one["target"] == target]
        found[target] = now or kept
    path.parent.mkdir(exist_ok=True)
    told = [json.dumps({"target": target} | one) + "\n" for target, texts in found.items() for one in texts]
    path.write_text("".join(told), encoding="utf-8")
    return found


def report(args: argparse.Namespace) -> None:
    """Write the page, and the figures of each text."""
    lines = [INTRODUCTION]
    for target, texts in figures(HERE / "texts.jsonl", args.records).items():
        lines += table(target, texts) if texts else []
    rows = {target: read_lines(HERE / "records" / f"{target}.jsonl") for target in TARGETS}
    lines += [FAITHFULNESS, *(line for target, some in rows.items() if some for line in compared(target, some))]
    (HERE / "coverage.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main() -> None:
    """Explain the texts of a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--n-texts", type=int, default=12)
    parser.add_argument("--skip", type=int, default=SKIPPED, help="texts that are left out, as settings saw them")
    parser.add_argument("--n-seeds", type=int, default=60)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--device", help="where the model runs, for example cuda; the CPU by default")
    parser.add_argument("--records", type=Path, default=RECORDS)
    args = parser.parse_args()
    configure(1)
    if args.target is None:
        report(args)
    else:
        explain(args.target, args)


if __name__ == "__main__":
    main()

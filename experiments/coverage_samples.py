"""What the 95 % intervals of scores cover of the scores that many more samples find: `experiments/coverage/samples.md`.

`coverage.py` asks whether intervals contain the mean score of other seeds with as many samples. Here validation texts
are explained with 6,000 samples, too, and the mean over a few seeds of that is what the intervals should contain. Every
explanation goes to RECORDS as a line of JSON as soon as it is done, so that an interrupted run continues where it
stopped. Targets may run side by side, each in a process of its own:

    python experiments/coverage_samples.py DATA_DIR lstm-imdb
    python experiments/coverage_samples.py DATA_DIR lstm-reuters --n-texts 40
    python experiments/coverage_samples.py DATA_DIR bert-reuters --samples auto --n-texts 5 --n-seeds 10 \
        --precision bfloat16
    python experiments/coverage_samples.py DATA_DIR cnn-reuters-groups --models confirmation-models
    python experiments/coverage_samples.py DATA_DIR tfidf-reuters-groups --models confirmation-models

Without a target, the page is written, and what it says of each text goes to `experiments/coverage/samples.jsonl`:

    python experiments/coverage_samples.py DATA_DIR
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from coverage import DIGITS, SKIPPED, TOP, Z, half_width, recorded, texts_of

import mase
from mase.arrays import Bools, Floats
from mase.budget import AUTO
from mase.methods import resolve
from mase.models.runtime import configure
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.testbeds import TARGETS

# The numbers of samples whose intervals are checked, and that of the scores that they should contain, with the number
# of its seeds, which are none of the others.
ASKED, MANY, N_SEEDS_OF_MANY, FIRST_OF_MANY = (AUTO, 1000), 6000, 4, 1000
# Bands of held-out R^2: the name, the least value, and the bound, which is left out. A text counts as too low if the
# mean score of its highest words is lower by more than this share of the highest score.
FITS = (
    ("below 0.4", -np.inf, 0.4),
    ("0.4 to 0.5", 0.4, 0.5),
    ("0.5 to 0.7", 0.5, 0.7),
    ("0.7 and more", 0.7, np.inf),
)
TOO_LOW = 0.1
EFFECTS = {"score": ("scores", "errors"), "kept": ("kept", "kept_error")}
COLUMNS = (
    "texts",
    "seeds",
    "evaluations",
    "highest",
    "worst text",
    "shown",
    "others",
    "shift",
    "reliable",
    "with care",
)
HERE = Path(__file__).parent / "coverage"
RECORDS = Path(__file__).parents[1] / "build" / "coverage-samples"


def explain(target: str, args: argparse.Namespace) -> None:
    """Write the records of a target that its file lacks."""
    model = TARGETS[target].load(args.models, args.device)
    split = TARGETS[target].split("validation", args.data_dir)
    of_many = range(FIRST_OF_MANY, FIRST_OF_MANY + N_SEEDS_OF_MANY)
    plan = [(MANY, seed) for seed in of_many] + [(n, seed) for n in args.samples for seed in range(args.n_seeds)]
    with continued(args.records / f"{target}.jsonl", made_with(model, split, args.precision)) as file:
        done = {(one["n_samples"], one["row"], one["seed"]) for one in file.known}
        for chosen in texts_of(model, split, args.skip, args.n_texts):
            for n_samples, seed in plan:
                if (n_samples, chosen.row, seed) not in done:
                    method = replace(resolve("mase"), n_samples=n_samples)
                    found = mase.Explainer(model, method=method, seed=seed, precision=args.precision, evidence=0)(
                        chosen.text
                    )
                    told = {"reliable": found.verdict.reliable, "r2_held_out": found.r2_held_out}
                    line = {"n_samples": n_samples} | told
                    file.append([line | recorded(found, chosen, seed)])


def covered(scores: Floats, errors: Floats, many: Floats, reliable: Bools) -> dict[str, float | None]:
    """Return what intervals of one text contain of the mean of scores from many samples `(m, p)`.

    The standard error of that mean counts, too, though a few seeds tell it roughly.

    `scores` and `errors` are `(n, p)`, and `reliable` `(n,)` says which explanations have that verdict. The columns are
    the shares of the highest words of many samples, of those that each explanation shows as the highest, of all others
    than the first, and of the first in reliable explanations; and by how much the mean scores of the highest words are
    above those of many samples, as a share of the highest score.
    """
    long_run, own = many.mean(axis=0), many.std(axis=0, ddof=1) / len(many) ** 0.5
    inside = np.abs(scores - long_run) <= Z * np.hypot(errors, own) + 10.0**-DIGITS
    order, shown = np.argsort(-long_run), np.argsort(-scores, axis=1)[:, :TOP]
    top, rest = order[:TOP], order[TOP:]
    return {
        "top": float(inside[:, top].mean()),
        "shown": float(np.take_along_axis(inside, shown, axis=1).mean()),
        "rest": float(inside[:, rest].mean()),
        "reliable": float(reliable.mean()),
        "top_reliable": float(inside[reliable][:, top].mean()) if reliable.any() else None,
        "shift": float((scores.mean(axis=0) - long_run)[top].mean() / max(np.abs(long_run).max(), 10.0**-DIGITS)),
    }


def by_text(some: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what the intervals of each text, number of samples and effect contain; only of texts with many samples."""
    groups: dict[Any, dict[Any, list[Mapping[str, Any]]]] = {}
    for one in some:
        groups.setdefault(one["row"], {}).setdefault(one["n_samples"], []).append(one)
    for row, group in groups.items():
        many = group.pop(MANY, [])
        if len(many) < N_SEEDS_OF_MANY:
            continue
        for n_samples, found in group.items():
            reliable = np.array([one["reliable"] for one in found])
            cost = float(np.mean([one["n_queries"] for one in found]))
            fit = [one["r2_held_out"] for one in found if one.get("r2_held_out") is not None]
            for effect, names in EFFECTS.items():
                scores, errors = (np.array([one[name] for one in found]) for name in names)
                told = covered(scores, errors, np.array([one[names[0]] for one in many]), reliable)
                line = {"n_samples": n_samples, "effect": effect, "row": row, "seeds": len(found), "n_queries": cost}
                told["r2_held_out"] = float(np.mean(fit)) if fit else None
                yield line | {name: None if value is None else round(value, 4) for name, value in told.items()}


def table(target: str, texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of a target: a row for each number of samples and effect."""
    yield f"## {TARGETS[target].title}"
    yield ""
    yield f"| samples | {' | '.join(COLUMNS)} |"
    yield f"|---|{'--:|' * len(COLUMNS)}"
    for n_samples, effect in dict.fromkeys((one["n_samples"], one["effect"]) for one in texts):
        own = [one for one in texts if (one["n_samples"], one["effect"]) == (n_samples, effect)]
        told = {key: np.array([one[key] for one in own]) for key in own[0] if key not in ("n_samples", "effect")}
        highest, shown, rest, shift = (float(told[key].mean()) for key in ("top", "shown", "rest", "shift"))
        half, worst, share = half_width(told["top"].tolist()), told["top"].min(), told["reliable"]
        of_reliable = share * np.array([one["top_reliable"] or 0.0 for one in own])
        cells = [f"`{n_samples}`{'' if effect == 'score' else ', kept'}", len(own), told["seeds"].min()]
        cells += [f"{told['n_queries'].mean():.0f}", f"{highest:.3f} ± {half:.3f}", f"{worst:.2f}", f"{shown:.3f}"]
        cells += [
            f"{rest:.3f}",
            f"{shift:+.3f}",
            _part(of_reliable, share),
            _part(told["top"] - of_reliable, 1 - share),
        ]
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""


def by_fit(texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of the scores of all targets by the held-out R^2 of each text, for each number of samples."""
    yield "## By how well the scores fit"
    yield ""
    yield "| samples | held-out R² | texts | highest | worst text | shift | too low |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    scores = [one for one in texts if one["effect"] == "score" and one.get("r2_held_out") is not None]
    for n_samples, (name, low, high) in product(ASKED, FITS):
        own = [one for one in scores if one["n_samples"] == n_samples and low <= one["r2_held_out"] < high]
        if own:
            top, shift = (np.array([one[key] for one in own]) for key in ("top", "shift"))
            cells = [f"`{n_samples}`", name, len(own), f"{top.mean():.3f}", f"{top.min():.2f}", f"{shift.mean():+.3f}"]
            yield f"| {' | '.join(map(str, cells))} | {(shift < -TOO_LOW).sum()} |"
    yield ""


def _part(covered: Floats, share: Floats) -> str:
    """Return what a part of the explanations covers, from what it adds to the coverage of each text, and its share."""
    return f"{covered.sum() / share.sum():.3f} ({share.mean():.3f})" if share.any() else "(0.000)"


INTRODUCTION = f"""\
# What the 95 % intervals cover of scores from many more samples

The [other page](coverage.md) asks whether intervals contain what other seeds find with as many samples. Here they
should contain what {MANY:,} samples find: the mean score of {N_SEEDS_OF_MANY} seeds, whose own error is counted.
Validation texts, explained with the method `mase`, with as many samples as `n_samples="auto"` gives or with 1,000.
Each figure is the share of the intervals, of {Z} standard errors, that contain it. *Highest* are the {TOP} highest
words with {MANY:,} samples (± is a 95 % interval over texts, by Student's t), *worst text* is the lowest share of a
text, *shown* are the {TOP} words that each explanation shows as the highest, and *others* are all but the highest.
*Shift* is the mean difference of the scores of the highest words from those with {MANY:,} samples, as a share of the
highest score. *Reliable* is what explanations with that verdict cover of the highest words, and their share; *with
care* is the same of the others. *Kept* is the second effect of the words. The last table has the texts of all models by
their held-out R², the mean over the seeds; *too low* are those whose shift is below -{TOO_LOW}.
`experiments/coverage_samples.py` made this page; its first lines say how to repeat it. The first {SKIPPED} texts of
each target are left out, as they are there. Of the CNN and the TF-IDF model some of the other texts may have served to
choose settings of `mase`, too. The BERT was explained in bfloat16, and the others in float32 (AMD EPYC).
"""


def report(args: argparse.Namespace) -> None:
    """Write the page, and the figures of each text; those of targets without records stay."""
    path, lines = HERE / "samples.jsonl", [INTRODUCTION]
    told: list[dict[str, Any]] = []
    earlier = read_lines(path)
    for target in TARGETS:
        now = list(by_text(read_lines(args.records / f"{target}.jsonl", same=("model", "data", "precision"))))
        texts = now or [{key: one[key] for key in one if key != "target"} for one in earlier if one["target"] == target]
        told += [{"target": target} | one for one in texts]
        lines += table(target, texts) if texts else []
    lines += by_fit(told)
    path.write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
    (HERE / "samples.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main() -> None:
    """Explain the texts of a target, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("target", nargs="?", choices=list(TARGETS), help="whose texts are explained")
    parser.add_argument("--n-texts", type=int, default=20)
    parser.add_argument("--skip", type=int, default=SKIPPED, help="texts that are left out")
    parser.add_argument("--n-seeds", type=int, default=20)
    parser.add_argument(
        "--samples", nargs="+", type=lambda value: value if value == AUTO else int(value), default=ASKED
    )
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"), help="folder of trained models")
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

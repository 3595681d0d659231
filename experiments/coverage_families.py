"""What the 95 % intervals of scores cover on other families of models: `experiments/coverage/families.md`.

The models are those of the confirmation (`make confirmation-models`), and six of scikit-learn on tf-idf weights of
IMDB, which this script trains; some of them jump where a word is masked, and some round their probabilities to a few
values. No setting of `mase` was chosen on the latter. Validation texts are explained with many seeds, as in
`coverage.py`. Every explanation goes to RECORDS as a line of JSON as soon as it is done, so that an interrupted run
continues where it stopped:

    python experiments/coverage_families.py DATA_DIR --models confirmation-models

Without new explanations, the page is written, and what it says of each text goes to `coverage/families.jsonl`:

    python experiments/coverage_families.py DATA_DIR --report-only
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from coverage import FEWEST_WORDS, TOP, Z, figures, half_width, recorded
from sklearn.base import ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier

import mase
from mase.datasets import Split
from mase.datasets import load as load_split
from mase.models.adapters.adapt import adapt
from mase.models.runtime import configure
from mase_paper.experiments.lines import continued
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.testbeds import FRESH

# Name and title of each model of scikit-learn.
FITTED: dict[str, tuple[str, ClassifierMixin]] = {
    "logistic": ("logistic regression on words and pairs of words", LogisticRegression(C=20)),
    "naive-bayes": ("naive Bayes", MultinomialNB()),
    "forest": ("100 random trees", RandomForestClassifier(100, min_samples_leaf=3, random_state=0)),
    "boosting": ("60 boosted trees", GradientBoostingClassifier(n_estimators=60, random_state=0)),
    "neighbours": ("15 nearest neighbours", KNeighborsClassifier(15)),
    "tree": ("one tree of depth 12", DecisionTreeClassifier(max_depth=12, random_state=0)),
}
TITLES = {name: target.title for name, target in FRESH.items()} | {name: title for name, (title, _) in FITTED.items()}
N_TRAINED, N_FEATURES = 6_000, 4_000
MOST_WORDS, SKIPPED = 150, 200
HERE = Path(__file__).parent / "coverage"
RECORDS = Path(__file__).parents[1] / "build" / "families"


def fitted(name: str, data: Split) -> Pipeline:
    """Return a model of scikit-learn, fitted to a random part of the training texts."""
    some = np.random.default_rng(0).permutation(len(data))[:N_TRAINED]
    longest = 2 if name == "logistic" else 1
    weights = TfidfVectorizer(min_df=5, max_features=N_FEATURES, ngram_range=(1, longest))
    pipeline = make_pipeline(weights, FITTED[name][1])
    return pipeline.fit([data.texts[row] for row in some], [data.labels[row] for row in some])


def subjects(data_dir: str, models: Path) -> Iterator[tuple[str, Any, Split]]:
    """Yield the name, the model and the validation texts of each model."""
    for name, target in FRESH.items():
        yield name, target.load(models), target.split("validation", data_dir)
    train, validation = (load_split("imdb", part, data_dir) for part in ("train", "validation"))
    for name in FITTED:
        yield name, adapt(fitted(name, train)), validation


def texts_of(model: Any, split: Split, n: int) -> list[Chosen]:
    """Return n texts that a model classifies correctly and that are neither short nor long."""
    fitting = (one for one in choose(model, split, 0) if FEWEST_WORDS <= len(one.text.split()) <= MOST_WORDS)
    return list(islice(fitting, SKIPPED, SKIPPED + n))


def explain(args: argparse.Namespace) -> None:
    """Write the records that are missing: all texts of all models with one seed, and then with the next."""
    with ExitStack() as files:
        asked = [
            (
                files.enter_context(continued(args.records / f"{name}.jsonl", made_with(model, split))),
                model,
                texts_of(model, split, args.n_texts),
            )
            for name, model, split in subjects(args.data_dir, args.models)
        ]
        done = {file.path: {(one["row"], one["seed"]) for one in file.known} for file, *_ in asked}
        for seed in range(args.n_seeds):
            for file, model, texts in asked:
                for chosen in texts:
                    if (chosen.row, seed) not in done[file.path]:
                        found = mase.Explainer(model, n_samples="auto", seed=seed, evidence=0)(chosen.text)
                        told = {"method": "mase", "reliable": found.verdict.reliable}
                        file.append([told | recorded(found, chosen, seed)])


def line(title: str, own: Sequence[Mapping[str, Any]]) -> str:
    """Return the row of a table for some texts."""
    mean = {key: float(np.mean([one[key] for one in own])) for key in ("top", "shown", "rest", "n_queries", "reliable")}
    half, worst = half_width([one["top"] for one in own]), min(one["top"] for one in own)
    seeds, cost = min(one["seeds"] for one in own), f"{mean['n_queries']:.0f}"
    told = f"{mean['top']:.3f} ± {half:.3f} | {worst:.2f} | {mean['shown']:.3f} | {mean['rest']:.3f}"
    return f"| {title} | {len(own)} | {seeds} | {cost} | {told} | {mean['reliable']:.2f} |"


HEAD = """\
| {} | texts | seeds | evaluations | highest | worst text | shown | others | reliable |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""
INTRODUCTION = f"""\
# What the 95 % intervals cover on other families of models

Made by `experiments/coverage_families.py`, whose first lines say how to repeat it: `mase` with as many samples as
`n_samples="auto"` gives, and validation texts of {FEWEST_WORDS} to {MOST_WORDS} words. The first {SKIPPED}
of each model are left out, because settings were chosen on some texts of the first four models, those of the
confirmation. The other models are of scikit-learn, on tf-idf weights of {N_FEATURES:,} words of IMDB, fitted to
{N_TRAINED:,} training texts. Nothing was chosen on them.

Each figure is the share of the intervals, of {Z} standard errors, that contain the long-run value of the score: its
mean over the other seeds, whose own error is counted. *Highest* are the {TOP} highest words of the long run (± is a
95 % interval over texts, by Student's t), *worst text* is the lowest share of a text, *shown* are the {TOP} words that
each explanation shows as the highest, *others* are all but the highest, and *reliable* is the share of explanations
whose verdict is *reliable*. *Second effects* are what words keep without the rest, from the same explanations ([what
they are](../../docs/reading.md#the-numbers)).
"""


def report(args: argparse.Namespace) -> None:
    """Write the page, and the figures of each text."""
    every_model = figures(HERE / "families.jsonl", args.records, TITLES)
    found = {name: texts for name, texts in every_model.items() if texts}
    lines = [INTRODUCTION]
    for title, method in (("Scores", "mase"), ("Second effects", "mase, kept")):
        lines += [f"## {title}", "", HEAD.format("model")]
        own = {name: [one for one in texts if one["method"] == method] for name, texts in found.items()}
        lines += [line(TITLES[name], texts) for name, texts in own.items()]
        every = [one for texts in own.values() for one in texts]
        mostly = [one for one in every if one["reliable"] > 0.5]
        lines += ["", "By the verdict of most explanations of a text:", "", HEAD.format("verdict")]
        lines += [line("reliable", mostly), line("read with care", [one for one in every if one not in mostly]), ""]
    (HERE / "families.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main() -> None:
    """Explain the texts of all models, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--models", type=Path, default=Path("confirmation-models"), help="of `make confirmation`")
    parser.add_argument("--n-texts", type=int, default=10)
    parser.add_argument("--n-seeds", type=int, default=40)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--report-only", action="store_true", help="write the page without new explanations")
    args = parser.parse_args()
    configure(1)
    if not args.report_only:
        explain(args)
    report(args)


if __name__ == "__main__":
    main()

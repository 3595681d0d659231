"""Measure what happens to scores as a model grows, in size and over the epochs of its training.

LSTMs of Reuters of three sizes and two training seeds are trained with the recipe of the bundled model. Validation
texts that all of them classify correctly are explained by `mase` and by a rival, each with two seeds of its samples.
The middle model is explained after every epoch, too. Models and records go to WORK, so that an interrupted run
continues where it stopped; the page goes to `experiments/growth/growth.md`, the picture beside it.

    python experiments/growth.py DATA_DIR

The same for the bundled transformer and for two with fewer of its layers; the page is
`experiments/growth/transformers.md`:

    python experiments/growth.py DATA_DIR --family transformers
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from complement import method_of
from growth_family import Family, Grown
from growth_models import EPOCHS, LSTMS, MIDDLE
from growth_picture import Story, drawn
from growth_tables import KS, METHODS, OURS, Explanations, Key, in_float32, over_epochs, page
from growth_transformers import BUNDLED, TRANSFORMERS

from mase.choices import Precision
from mase.datasets import Split
from mase.datasets import load as load_split
from mase.document import Document
from mase.explainer import Explainer
from mase.metrics.delta_accuracy import flips
from mase.metrics.masking import masker, with_cache
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase.units import splitter
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.plots import save
from mase_paper.experiments.selection import Chosen, choose

UNITS = "wordpunct"
N_STORIES, FEWEST_WORDS, N_EXACT = 2, 40, 3
FAMILIES: Mapping[str, Family] = {"lstms": LSTMS, "transformers": TRANSFORMERS}


@dataclass
class Records:
    """The records of a file by what was explained."""

    path: Path
    by_key: dict[Key, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_key |= {Key(*one["key"]): one for one in read_lines(self.path)}


def shared(models: Sequence[Model], split: Split, fewest_words: int) -> Iterator[Chosen]:
    """Yield the texts, in the order of `choose`, that have enough words and that all models classify correctly."""
    first, *others = models
    for one in choose(first, split, 0):
        predicted = (model.labels[int(model.predict([one.text])[0].argmax())] for model in others)
        long_enough = len(splitter(UNITS).split(one.text)) >= fewest_words
        if long_enough and all(label == split.labels[one.row] for label in predicted):
            yield one


def explained(model: Model, chosen: Chosen, key: Key, precision: Precision) -> dict[str, Any]:
    """Return the record of an explanation of a text's true class; without Delta Accuracy if it is not predicted."""
    explainer = Explainer(
        model, method=method_of(key.method), units=UNITS, seed=key.seed, precision=precision, evidence=0
    )
    found = explainer(chosen.text, target=chosen.target)
    bound = with_cache(masker(model, Document.of(chosen.text), "auto", splitter(UNITS)))
    right = bound.target == chosen.target
    return {
        "label": model.labels[chosen.target],
        "words": found.words,
        "scores": found.scores.tolist(),
        "errors": found.standard_errors.tolist(),
        "probability": float(bound.text_probabilities[chosen.target]),
        "n_queries": found.fit.n_queries,
        "precision": found.fit.precision,
        "delta_accuracy": float(flips(bound, found.order, chosen.target, KS).mean()) if right else None,
    }


def complete(found: Records, some: Iterable[Key], texts: Sequence[Chosen], of: Family, models: Path) -> None:
    """Add the records of all texts that are missing."""
    by_name, wanted = {grown.name: grown for grown in of.trainings}, tuple(dict.fromkeys(some))
    loaded = {(name, epoch): by_name[name].at(epoch, models) for name, epoch in {one[:2] for one in wanted}}
    with continued(found.path) as file:
        for number, chosen in enumerate(texts, 1):
            for key in (one._replace(row=chosen.row) for one in wanted):
                if key not in found.by_key:
                    record = explained(loaded[key.model, key.epoch], chosen, key, of.precision)
                    found.by_key[key] = {"key": list(key), **record}
                    file.append([found.by_key[key]])
            print(number, flush=True)  # noqa: T201


def asked(kept: Mapping[Grown, int]) -> Iterator[Key]:
    """Yield what is explained of every text: all models twice by both methods, then the epochs of the middle LSTM."""
    for grown, best in kept.items():
        for method in METHODS:
            for seed in (0, 1):
                yield Key(grown.name, best, method, seed)
    if MIDDLE in kept:
        for epoch in range(1, EPOCHS + 1):
            yield Key(MIDDLE.name, epoch, OURS, 0)
        yield Key(MIDDLE.name, EPOCHS, OURS, 1)


def stories(found: Records, texts: Sequence[Chosen]) -> list[Story]:
    """Return the first stories of different topics that are not short, over the epochs."""
    told: list[Story] = []
    for chosen in texts:
        epochs = [found.by_key[Key(MIDDLE.name, epoch, OURS, 0, chosen.row)] for epoch in range(1, EPOCHS + 1)]
        label, words = epochs[-1]["label"], epochs[-1]["words"]
        if len(words) >= FEWEST_WORDS and label not in {story.label for story in told}:
            columns = ([one[name] for one in epochs] for name in ("scores", "errors", "probability"))
            told.append(Story(chosen.id, label, tuple(words), *columns))
    return told[:N_STORIES]


def main() -> None:
    """Train, explain, draw, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--family", choices=list(FAMILIES), default="lstms")
    parser.add_argument("--n-texts", type=int, default=40)
    parser.add_argument("--work", type=Path, default=Path("build/growth"))
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    family, models = FAMILIES[args.family], args.work / "models"
    trained = {grown: grown.trained(models, args.data_dir) for grown in family.trainings}
    kept = {grown: int(told["best_epoch"]) for grown, told in trained.items()}
    split = load_split("reuters", "validation", args.data_dir)
    every = [grown.at(best, models) for grown, best in kept.items()]
    texts = list(islice(shared(every, split, family.fewest_words), args.n_texts))
    done, rows = Records(args.work / "records.jsonl"), [chosen.row for chosen in texts]
    complete(done, asked(kept), texts, family, models)
    found = Explanations(done.by_key, family, kept, rows)
    args.output.mkdir(parents=True, exist_ok=True)
    if family is LSTMS:
        told = stories(done, texts)
        save(drawn(told), args.output / "epochs.svg")
        more = over_epochs(found, trained, told)
    else:
        exact = Records(args.work / "float32.jsonl")
        same = (Key(BUNDLED.name, kept[BUNDLED], method, 0) for method in METHODS)
        complete(exact, same, texts[:N_EXACT], replace(family, precision="float32"), models)
        more = in_float32(found, exact.by_key)
    written = page(trained, found, Counter(split.labels[row] for row in rows), more)
    (args.output / f"{family.page}.md").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()

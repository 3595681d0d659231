"""Measure what happens to scores as a model grows, in size and over the epochs of its training.

LSTMs of Reuters of three sizes and two training seeds are trained with the recipe of the bundled model. Validation
texts that all of them classify correctly are explained by `mase` and by a rival, each with two seeds of its samples.
The middle model is explained after every epoch, too. Models and records go to WORK, so that an interrupted run
continues where it stopped; the page goes to `experiments/growth/growth.md`, the picture beside it.

    python experiments/growth.py DATA_DIR
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from complement import method_of, records
from growth_models import EPOCHS, GROWN, MIDDLE, Grown
from growth_picture import Story, drawn
from growth_tables import KS, METHODS, OURS, Explanations, Key, page

from mase.datasets import Split
from mase.datasets import load as load_split
from mase.document import Document
from mase.explainer import Explainer
from mase.metrics.delta_accuracy import flips
from mase.metrics.masking import masker, with_cache
from mase.models.runtime import configure
from mase.models.torch_module import TorchModule
from mase.units import splitter
from mase_paper.experiments.plots import save
from mase_paper.experiments.selection import Chosen, choose

UNITS = "wordpunct"
N_STORIES, FEWEST_WORDS = 2, 40


@dataclass
class Records:
    """The records of a file by what was explained; new ones are added to its end."""

    path: Path
    by_key: dict[Key, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.by_key |= {Key(*one["key"]): one for one in records(self.path)}

    def add(self, key: Key, record: Mapping[str, Any]) -> None:
        """Write a record."""
        self.by_key[key] = {"key": list(key), **record}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.by_key[key]) + "\n")


def shared(models: Sequence[TorchModule], split: Split, n: int) -> list[Chosen]:
    """Return the first n texts, in the order of `choose`, that all models classify correctly."""
    rows = [{one.row for one in choose(model, split, 0)} for model in models]
    return list(islice((one for one in choose(models[0], split, 0) if all(one.row in own for own in rows)), n))


def explained(model: TorchModule, chosen: Chosen, key: Key) -> dict[str, Any]:
    """Return the record of an explanation of a text's true class; without Delta Accuracy if it is not predicted."""
    explainer = Explainer(model, method=method_of(key.method), units=UNITS, seed=key.seed)
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
        "delta_accuracy": float(flips(bound, found.order, chosen.target, KS).mean()) if right else None,
    }


def asked(kept: Mapping[Grown, int]) -> Iterator[Key]:
    """Yield what is explained of every text: all models twice by both methods, then the epochs of the middle one."""
    for grown, best in kept.items():
        for method in METHODS:
            for seed in (0, 1):
                yield Key(grown.name, best, method, seed)
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
    parser.add_argument("--n-texts", type=int, default=40)
    parser.add_argument("--work", type=Path, default=Path("build/growth"))
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    models = args.work / "models"
    trained = {grown: grown.trained(models, args.data_dir) for grown in GROWN}
    kept = {grown: int(told["best_epoch"]) for grown, told in trained.items()}
    split = load_split("reuters", "validation", args.data_dir)
    texts = shared([grown.at(best, models) for grown, best in kept.items()], split, args.n_texts)
    found, by_name = Records(args.work / "records.jsonl"), {grown.name: grown for grown in GROWN}
    for asked_of in dict.fromkeys(asked(kept)):
        model = by_name[asked_of.model].at(asked_of.epoch, models)
        for chosen in texts:
            key = asked_of._replace(row=chosen.row)
            if key not in found.by_key:
                found.add(key, explained(model, chosen, key))
        print(*asked_of[:-1], flush=True)  # noqa: T201
    args.output.mkdir(parents=True, exist_ok=True)
    told = stories(found, texts)
    save(drawn(told), args.output / "epochs.svg")
    topics = Counter(split.labels[chosen.row] for chosen in texts)
    written = page(trained, Explanations(found.by_key, kept, [chosen.row for chosen in texts]), topics, told)
    (args.output / "growth.md").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()

"""A classifier of pairs for `benchmarks/inputs.py`: do two reviewers both like what they saw?

The pairs are sentences of two reviews of IMDB, each of which `bert-imdb` is sure about on its own. That model is
trained on: once, in about a minute, and kept in the folder `build/`, which git ignores.
"""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

import mase
from mase.models.bundled.bert import base_folder, tokenizer
from mase.units import splitter
from mase_paper.datasets import load

__all__ = ["FOLDER", "LABELS", "Pair", "pairs", "trained"]

FOLDER = Path(__file__).parents[1] / "build" / "inputs"
LABELS = ("not both", "both")
KINDS = (("pos", "pos"), ("pos", "neg"), ("pos", "pos"), ("neg", "pos"), ("pos", "pos"), ("neg", "neg"))
N_PAIRS = {"train": 800, "test": 200}
BATCH, RATE, MASKED, SURE, LENGTHS = 16, 1e-4, 0.15, 0.9, (40, 110)


class Pair(NamedTuple):
    """Two sentences, and whether both are positive."""

    first: str
    second: str
    both: bool


def pairs(split: str) -> list[Pair]:
    """Return the pairs of a split of IMDB, every second one of two positive sentences."""
    path = FOLDER / f"{split}.json"
    if not path.is_file():
        n = N_PAIRS[split]
        by_label: dict[str, list[str]] = {"neg": [], "pos": []}
        for label, sentence in islice(_sure(split), 2 * n):
            by_label[label].append(sentence)
        rng, kinds = random.Random(0), [KINDS[index % len(KINDS)] for index in range(n)]
        made = [(*(rng.choice(by_label[label]) for label in kind), kind == ("pos", "pos")) for kind in kinds]
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made), encoding="utf-8")
    return [Pair(*one) for one in json.loads(path.read_text(encoding="utf-8"))]


def trained() -> tuple[Any, Any, float]:
    """Return the model, its tokenizer and its accuracy on the pairs of the test split."""
    words = tokenizer(base_folder())
    if not (FOLDER / "accuracy.json").is_file():
        model, held_out = _fitted(words), pairs("test")
        model.save_pretrained(FOLDER)
        right = [both == pair.both for both, pair in zip(_predicted(model, words, held_out), held_out, strict=True)]
        (FOLDER / "accuracy.json").write_text(json.dumps(sum(right) / len(right)), encoding="utf-8")
    model = transformers.BertForSequenceClassification.from_pretrained(FOLDER).eval()
    return model, words, json.loads((FOLDER / "accuracy.json").read_text(encoding="utf-8"))


def _sure(split: str) -> Iterator[tuple[str, str]]:
    """Yield labels and sentences of reviews in a random order, one for each review at most."""
    model, reviews = mase.models.load("bert-imdb"), load("imdb", split)
    order = random.Random(0).sample(range(len(reviews)), len(reviews))
    for start in range(0, len(order), 4 * BATCH):
        found = []
        for index in order[start : start + 4 * BATCH]:
            text, label = reviews.texts[index], str(reviews.labels[index])
            spans = splitter("sentence").split(text[:1000])[1:]
            fits = (text[a:b] for a, b in spans if LENGTHS[0] <= b - a <= LENGTHS[1] and "<" not in text[a:b])
            found += [(label, sentence) for sentence in islice(fits, 1)]
        probabilities = model.predict([sentence for _, sentence in found])
        for (label, sentence), row in zip(found, probabilities, strict=True):
            if row[list(model.labels).index(label)] >= SURE:
                yield label, sentence


def _fitted(words: Any) -> Any:
    """Return `bert-imdb`, trained on pairs of which some tokens are masked, with its embeddings as they were."""
    torch.manual_seed(0)
    bundled: Any = mase.models.load("bert-imdb")
    model = bundled.module
    model.config.id2label, model.config.label2id = dict(enumerate(LABELS)), {"not both": 0, "both": 1}
    model.requires_grad_(True)
    model.bert.embeddings.requires_grad_(False)
    for layers in model.bert.encoder.layer[:2]:
        layers.requires_grad_(False)
    known = pairs("train")
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=RATE)
    model.train()
    for start in range(0, len(known), BATCH):
        chosen = known[start : start + BATCH]
        batch = _encoded(words, chosen)
        masked = (torch.rand(batch["input_ids"].shape) < MASKED) & (batch["input_ids"] > words.mask_token_id)
        batch["input_ids"] = batch["input_ids"].masked_fill(masked, words.mask_token_id)
        loss = model(**batch, labels=torch.tensor([int(pair.both) for pair in chosen])).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def _encoded(words: Any, chosen: Sequence[Pair]) -> Any:
    return words([(pair.first, pair.second) for pair in chosen], padding=True, return_tensors="pt")


def _predicted(model: Any, words: Any, chosen: Sequence[Pair]) -> list[bool]:
    with torch.inference_mode():
        batches = (chosen[start : start + BATCH] for start in range(0, len(chosen), BATCH))
        return [bool(label) for batch in batches for label in model(**_encoded(words, batch)).logits.argmax(dim=1)]

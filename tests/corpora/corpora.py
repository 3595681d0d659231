"""Small runs for the tests of summaries: made-up texts and models with known answers, written by the real writer."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

import mase
from mase.sources.rows import Item
from mase_corpora.folder import Folder
from mase_corpora.plan import Asked, Manifest
from mase_corpora.read import Run, open_run
from mase_corpora.schema import TABLES, Rows
from mase_corpora.storage import storage_of

KEPT = ("label", "group")
PART_SIZE = 64


def texts(rng: np.random.Generator, n: int, *, vocabulary: int = 60, longest: int = 12) -> list[str]:
    """Return n texts of up to `longest` words, some words much more frequent than others."""
    share = 1 / np.arange(1, vocabulary + 1)
    lengths = rng.integers(4, longest + 1, n)
    return [" ".join(f"w{i}" for i in rng.choice(vocabulary, size, p=share / share.sum())) for size in lengths]


def hashed(k: int, salt: int):
    """Return a model of k classes that answers at random: probabilities that depend only on the hash of the text."""

    def model(inputs):
        digests = [hashlib.blake2b(text.encode(), salt=salt.to_bytes(8, "big")).digest() for text in inputs]
        logits = np.array([np.frombuffer(digest, np.uint32)[:k] / 2.0**31 for digest in digests])
        exponents = np.exp(3 * logits)
        return exponents / exponents.sum(axis=1, keepdims=True)

    return model


def write(
    folder: Path,
    explainer: mase.Explainer,
    inputs: list[str],
    kept: list[tuple[str | None, ...]] | None = None,
) -> Run:
    """Explain the texts into a run folder."""
    target = Folder(storage_of(folder))
    names = KEPT if kept else ()
    target.create(
        Manifest(
            asked=Asked(
                model={"name": "made-up"}, method={"name": "mase"}, seed=0, target=None, input={}, n_texts=len(inputs),
                part_size=PART_SIZE, kept=names,
            ),
            made_with={}, labels=tuple(explainer.model.labels), created="2026-01-01",
        )
    )  # fmt: skip
    for part, first in enumerate(range(0, len(inputs), PART_SIZE)):
        rows = Rows(names, documents=True, worker="1")
        for row in range(first, min(first + PART_SIZE, len(inputs))):
            item = Item(row, f"id{row}", inputs[row], kept[row] if kept else ())
            try:
                rows.add(item, explainer(inputs[row]), 0.1)
            except mase.MaseError as error:
                rows.add_failure(item, type(error).__name__, str(error), 0.0)
        target.write(part, rows.tables(), {})
    return open_run(folder)


def without_documents(run: Run, folder: Path) -> Run:
    """Write a copy of a run without its texts."""
    target = Folder(storage_of(folder))
    asked = replace(run.manifest.asked, documents=False)
    target.create(replace(run.manifest, asked=asked))
    for part in run.parts:
        tables = {name: run.part(name, part) for name in TABLES}
        texts = tables["texts"]
        nothing = pa.nulls(len(texts), pa.string())
        tables["texts"] = texts.set_column(texts.schema.get_field_index("document"), "document", nothing)
        target.write(part, tables, {})
    return open_run(folder)

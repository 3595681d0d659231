"""Tasks on IMDB and Reuters for which no setting of a method was ever chosen: other labels for the same texts.

A text is cut to its first or last `N_WORDS` words, so that every model of a task reads the same text.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mase.errors import DataError
from mase.models.bundled.files import words
from mase.sources.files import require_pyarrow
from mase.text import Side
from mase_paper.datasets import DATASETS, Split, find

__all__ = ["GROUPS", "N_WORDS", "TASKS", "Task", "relabelled"]
N_WORDS = 100

# Levels of the ratings from 1 to 10; IMDB's table has no review with 5 or 6.
_LEVELS = {1: "1-2", 2: "1-2", 3: "3-4", 4: "3-4", 7: "7-8", 8: "7-8", 9: "9-10", 10: "9-10"}
# The two largest topics, `earn` and `acq`, make up 57 % of the stories and are left out, as is `ship`.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "agriculture": (
        "grain", "sugar", "coffee", "veg-oil", "oilseed", "cocoa", "livestock", "carcass", "cotton", "orange",
        "meal-feed", "wheat", "hog", "rubber",
    ),
    "economy": ("trade", "gnp", "cpi", "bop", "ipi", "jobs", "wpi", "retail", "housing", "lei"),
    "energy": ("crude", "nat-gas", "gas", "heat", "pet-chem"),
    "metals": (
        "gold", "copper", "alum", "iron-steel", "tin", "zinc", "lead", "silver", "strategic-metal",
    ),
    "money": ("money-fx", "interest", "money-supply", "dlr", "reserves"),
}  # fmt: skip

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True)
class Task:
    """A data set with other labels.

    Attributes
    ----------
    name, dataset
        Of the task and of the data set.
    keep
        Which end of a text is kept.
    labels
        Returns the label of each text of a split, or None for a text that the task leaves out.
    """

    name: str
    dataset: str
    keep: Side
    labels: Callable[[Split, Folder], Sequence[str | None]]


def relabelled(split: Split, task: Task, data_dir: Folder = None) -> Split:
    """Return the texts of a split that have a label of a task, cut, in their order."""
    kept = [
        (_cut(text, task.keep), label, name)
        for text, label, name in zip(split.texts, task.labels(split, data_dir), split.ids, strict=True)
        if label is not None
    ]
    if not kept:
        raise DataError(
            f"the {len(split)} texts of the split {split.split!r} of {split.name!r} have no label of the task "
            f"{task.name}, expected some; check the folder of the data set (--data-dir)"
        )
    texts, labels, ids = zip(*kept, strict=True)
    return Split(task.name, split.split, texts, labels, ids, split.sha256)


def _cut(text: str, keep: Side) -> str:
    """Return a text from its first to its `N_WORDS`-th word, or from its `N_WORDS`-th last word on."""
    spans = [span for _, span in words(text)]
    if len(spans) <= N_WORDS:
        return text
    return text[: spans[N_WORDS - 1][1]] if keep == "start" else text[spans[-N_WORDS][0] :]


def _levels(split: Split, data_dir: Folder) -> list[str | None]:
    """Return the levels of the ratings, which a `Split` does not have."""
    pa, parquet = require_pyarrow()
    path = find(DATASETS["imdb"], data_dir)
    try:
        table = parquet.read_table(path, columns=["split", "label", "id", "rating"])
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read ratings from {path} ({error}), expected the official table") from error
    part = "test" if split.split.startswith("test") else "train"
    ratings = {f"{row['label']}/{row['id']}": row["rating"] for row in table.to_pylist() if row["split"] == part}
    return [_LEVELS.get(ratings[name]) for name in split.ids]


def _groups(split: Split, _: Folder) -> list[str | None]:
    group_of = {topic: group for group, topics in GROUPS.items() for topic in topics}
    return [group_of.get(label) for label in split.labels]


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("imdb-rating", "imdb", "end", _levels),
        Task("reuters-groups", "reuters", "start", _groups),
    )
}

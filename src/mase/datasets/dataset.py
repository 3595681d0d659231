"""The description of a data set: its source, how to rebuild it, and a split in memory."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from platformdirs import user_cache_dir

from mase.arrays import Ints
from mase.errors import DataError

__all__ = ["VALIDATION_SHARE", "Dataset", "Row", "Split", "cache_folder", "find", "split_off"]

# The share of the training split on which the bundled models were not trained.
VALIDATION_SHARE = 0.1

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Split:
    """One split of a data set: n texts with their labels.

    `ids` are unique in the split: label and number in the source, as in "pos/1234". `sha256` is the file's checksum.
    """

    name: str
    split: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    sha256: str

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, split: str, rows: Ints) -> "Split":
        """Return the rows `(m,)` as a split with another name."""
        chosen = rows.tolist()
        texts, labels, ids = (tuple(column[row] for row in chosen) for column in (self.texts, self.labels, self.ids))
        return Split(self.name, split, texts, labels, ids, self.sha256)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: the file name of its table, its official archive, and the counts of a correct rebuild.

    `rebuild` turns the open archive into rows. `md5` is the published checksum of the archive, or None.
    """

    name: str
    file: str
    urls: tuple[str, ...]
    md5: str | None
    n_train: int
    n_test: int
    n_labels: int
    rebuild: Callable[[IO[bytes]], list[Row]]


def cache_folder() -> Path:
    """Return the user's cache folder for downloaded data sets."""
    return Path(user_cache_dir("mase"))


def find(dataset: Dataset, data_dir: str | os.PathLike[str] | None) -> Path:
    """Return the path of the data set's table: in `data_dir` if given, else in the folder MASE_DATA or in the cache.

    Raises
    ------
    DataError
        If the table is in none of these folders. If `data_dir` is given, no other folder is searched.
    """
    if data_dir is not None:
        folders = [Path(data_dir)]
    else:
        environment = os.environ.get("MASE_DATA")
        folders = [*([Path(environment)] if environment else []), cache_folder()]
    for folder in folders:
        try:
            if (folder / dataset.file).is_file():
                return folder / dataset.file
        except (OSError, ValueError) as error:
            raise DataError(f"{str(folder)!r:.200} cannot be the path of a folder: {error}") from error
    raise DataError(
        f"no file {dataset.file} in {' or '.join(map(str, folders))}, expected the table of data set {dataset.name!r}; "
        "pass the folder that holds it (data_dir, or the variable MASE_DATA), or download it from its official source "
        f"into the cache with mase.datasets.get({dataset.name!r}), on the command line mase data get {dataset.name}"
    )


def split_off(n: int, share: float) -> tuple[Ints, Ints]:
    """Return the rows `(n - m,)` to train on and the held-out rows `(m,)`: a fixed random share, at least one row."""
    order = np.random.default_rng(0).permutation(n)
    n_held = max(1, int(share * n))
    return np.sort(order[n_held:]), np.sort(order[:n_held])

"""Data sets: read from a Parquet table, or rebuilt from their official archive. One file per data set; no text is shipped."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mase.datasets.dataset import VALIDATION_SHARE, Dataset, Split, cache_folder, find, split_off
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.datasets.download import Progress

__all__ = ["DATASETS", "VALIDATION_SHARE", "Dataset", "Split", "get", "load", "split_off"]

DATASETS = Registry(
    "dataset",
    {
        "imdb": "mase.datasets.imdb:IMDB",
        "reuters": "mase.datasets.reuters:REUTERS",
    },
    "mase.datasets",
)


def load(name: str, split: str, data_dir: str | os.PathLike[str] | None = None) -> Split:
    """Return one split of a data set: "train", "test", or "validation".

    The last is the tenth of "train" that the bundled models were not trained on, and on which settings are chosen.

    Parameters
    ----------
    name, split
        Which data set, and which part of it.
    data_dir
        Folder of the table (`imdb.parquet`, `reuters46.parquet`); by default the one named by the variable MASE_DATA,
        then the cache that `get` fills.

    Raises
    ------
    UnknownNameError
        If there is no such data set.
    DataError
        If its file is missing or unreadable.
    OptionError
        If it has no such split.
    MissingDependencyError
        If pyarrow is not installed.
    """
    from mase.datasets.table import read_split

    path = find(DATASETS[name], data_dir)
    if split != "validation":
        return read_split(path, name, split)
    whole = read_split(path, name, "train")
    return whole.part(split, split_off(len(whole), VALIDATION_SHARE)[1])


def get(
    name: str,
    cache: str | os.PathLike[str] | None = None,
    *,
    archive: str | os.PathLike[str] | None = None,
    progress: "Progress | None" = None,
) -> Path:
    """Return the path of a data set's table, downloaded from its official source and rebuilt if it is not there yet.

    Parameters
    ----------
    name
        Which data set.
    cache
        Folder for the table; the user's cache by default.
    archive
        The official archive, if it is on this machine already: then nothing is downloaded.
    progress
        Called with the bytes received so far and the total (None if the server does not tell).

    Raises
    ------
    UnknownNameError
        If there is no such data set.
    DataError
        If the download fails or is not what it must be. Nothing is left behind then.
    MissingDependencyError
        If pyarrow is not installed.
    """
    dataset: Dataset = DATASETS[name]
    folder = Path(cache) if cache is not None else cache_folder()
    if _is_file(folder / dataset.file):
        return folder / dataset.file
    from mase.datasets.download import build

    return build(dataset, folder, archive=Path(archive) if archive is not None else None, progress=progress)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or with a NUL: making the folder says so
        return False

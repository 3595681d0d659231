"""Data sets, read from a Parquet table that is rebuilt from the official archive. No texts are distributed."""

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

    The validation split is the tenth of "train" on which the bundled models were not trained. Settings are chosen on
    it.

    Parameters
    ----------
    name, split
        Names of the data set and of the split.
    data_dir
        Folder of the table (`imdb.parquet`, `reuters46.parquet`). The default is the folder in the variable MASE_DATA,
        then the cache of `get`.

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
    train = read_split(path, name, "train")
    return train.part(split, split_off(len(train), VALIDATION_SHARE)[1])


def get(
    name: str,
    cache: str | os.PathLike[str] | None = None,
    *,
    archive: str | os.PathLike[str] | None = None,
    progress: "Progress | None" = None,
) -> Path:
    """Return the path of a data set's table, which is downloaded from its official source if it does not exist.

    Parameters
    ----------
    name
        Name of the data set.
    cache
        Folder for the table; the user's cache by default.
    archive
        A local copy of the official archive, to use instead of a download.
    progress
        Called with the number of bytes received so far and the total (None if unknown).

    Raises
    ------
    UnknownNameError
        If there is no such data set.
    DataError
        If the download fails or its content is wrong. No file is left then.
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
    except (OSError, ValueError):  # not a valid path, which is reported when the folder is made
        return False

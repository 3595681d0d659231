"""IMDB: the Large Movie Review Dataset (Maas et al., 2011), 25,000 + 25,000 reviews, negative or positive."""

from typing import IO

from mase.datasets.archive import decoded, members, number
from mase.datasets.dataset import Dataset, Row

__all__ = ["IMDB", "rebuild"]

_MEMBER = r"aclImdb/(?P<split>train|test)/(?P<label>neg|pos)/(?P<id>[0-9]+)_(?P<rating>[0-9]+)\.txt"


def rebuild(archive: IO[bytes]) -> list[Row]:
    """Return one row per labelled review of `aclImdb_v1.tar.gz`, sorted by split, label and number.

    Texts are unchanged, with their `<br />` tags. The unlabelled part is left out.

    Raises
    ------
    DataError
        If the archive is not a complete tar.gz within the limits, or a review is not UTF-8.
    """
    rows: list[Row] = [
        {
            "split": match["split"],
            "id": number(match["id"], match[0][:100]),
            "label": match["label"],
            "rating": number(match["rating"], match[0][:100]),
            "text": decoded(match, content),
        }
        for match, content in members(archive, _MEMBER)
    ]
    return sorted(rows, key=lambda row: (row["split"], row["label"], row["id"]))


IMDB = Dataset(
    name="imdb",
    file="imdb.parquet",
    urls=("http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
    md5="7c2ac02c03563afcf9b574c7e56c153a",
    n_train=25_000,
    n_test=25_000,
    n_labels=2,
    rebuild=rebuild,
)

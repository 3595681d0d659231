"""Reuters-21578 as one-topic classification: 11,228 news stories, 46 topics.

These rules give the published counts. Every story with a topic is labelled with its first topic. Topics with at least
15 such stories are kept. The stories, in order of NEWID, are shuffled, and the first 80 % are the training split.

Notes
-----
We know of no published checksum of the official archive. Instead the counts of the rebuilt table are checked: 8,982
training and 2,246 test stories with 46 topics. This detects a damaged or wrong archive, but not changed words in a
story.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import IO

import numpy as np

from mase.datasets.archive import members, number
from mase.datasets.dataset import Dataset, Row

__all__ = ["REUTERS", "rebuild", "stories"]

_MEMBER = r"(?:.*/)?reut2-\d{3}\.sgm"
_MIN_STORIES = 15
_TRAIN_SHARE = 0.8
_SPLIT_SEED = 113  # the seed of the commonly used split of Keras

_NEWID = re.compile(r'\bNEWID="([0-9]+)"')
_TAG = re.compile(r"</?(?:AUTHOR|DATELINE|TITLE|BODY)>")
_CONTROL = re.compile(r"&#\d+;|[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # control characters and their entities
_SIGNATURE = re.compile(r"\breuter\Z", re.IGNORECASE)


def rebuild(archive: IO[bytes]) -> list[Row]:
    """Return one row per selected story of `reuters21578.tar.gz`, in shuffled order.

    Raises
    ------
    DataError
        If the archive is not a complete tar.gz within the limits.
    """
    found = [story for _, content in members(archive, _MEMBER) for story in stories(content.decode("latin-1"))]
    counts = Counter(story["label"] for story in found)
    kept = {story["id"]: story for story in found if counts[story["label"]] >= _MIN_STORIES}
    order = np.array(sorted(kept), dtype=np.int64)
    np.random.RandomState(_SPLIT_SEED).shuffle(order)  # the legacy generator, since the split depends on it
    n_train = int(_TRAIN_SHARE * len(order))
    return [
        {"split": "train" if rank < n_train else "test", **kept[number]} for rank, number in enumerate(order.tolist())
    ]


def stories(sgml: str) -> list[Row]:
    """Return the stories of one SGML file that have a topic: id (NEWID), label (first topic), all topics, and text."""
    rows: list[Row] = []
    for head, inside in _elements(sgml, "REUTERS"):
        _, marked = next(_elements(inside, "TOPICS"), ("", ""))
        topics, found = [topic for _, topic in _elements(marked, "D")], _NEWID.search(head)
        if topics and found:
            _, text = next(_elements(inside, "TEXT"), ("", ""))
            row = {"id": number(found[1], "a story"), "label": topics[0], "topics": topics, "text": _story_text(text)}
            rows.append(row)
    return rows


def _story_text(marked: str) -> str:
    """Return "title. body" in one line, without author, dateline and the closing "Reuter"."""
    _, title = next(_elements(marked, "TITLE"), ("", ""))
    _, body = next(_elements(marked, "BODY"), ("", _TAG.sub("", _without_titles(marked))))
    plain = _SIGNATURE.sub("", _plain(body).rstrip()).strip()
    parts = [part for part in (_plain(title), plain) if part.strip()]
    return " ".join(". ".join(parts).split())


def _without_titles(marked: str) -> str:
    *titled, rest = marked.split("</TITLE>")
    return "".join([*(part.partition("<TITLE>")[0] for part in titled), rest])


def _elements(marked: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes and the content of each element. An unclosed element ends the search (linear time)."""
    opening, closing, offset = re.compile(rf"<{name}\b"), f"</{name}>", 0
    while start := opening.search(marked, offset):
        inside = marked.find(">", start.end()) + 1
        end = marked.find(closing, inside)
        if not inside or end < 0:
            return
        yield marked[start.end() : inside - 1], marked[inside:end]
        offset = end + len(closing)


def _plain(marked: str) -> str:
    return _CONTROL.sub(" ", marked).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


REUTERS = Dataset(
    name="reuters",
    file="reuters46.parquet",
    urls=(
        "https://www.daviddlewis.com/resources/testcollections/reuters21578/reuters21578.tar.gz",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz",
    ),
    md5=None,
    n_train=8_982,
    n_test=2_246,
    n_labels=46,
    rebuild=rebuild,
)

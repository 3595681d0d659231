"""Small inputs made on the spot: a file of texts, the data sets' tables, a black box in a file of Python."""

from pathlib import Path

import numpy as np

__all__ = ["save_box", "save_reviews", "save_texts", "sentences"]

_WORDS = [
    "the",
    "a",
    "film",
    "plot",
    "cast",
    "good",
    "bad",
    "dull",
    "superb",
    "slow",
    "funny",
    "is",
    "was",
    "and",
    "but",
    "very",
    "not",
    "at",
    "all",
    "end",
]

_BOX = """
import time
import zlib

def probabilities(texts):
    time.sleep(SECONDS)
    chances = [(zlib.crc32(text.encode()) % 1000 + 1) / 1002 for text in texts]
    return [[1 - p, p] for p in chances]
"""


def sentences(n: int, seed: int = 16) -> list[str]:
    """Return n texts of 3 to 12 common words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(_WORDS, rng.integers(3, 13))) for _ in range(n)]


def save_texts(path: Path, n: int) -> Path:
    """Write n texts, one per line."""
    path.write_text("".join(f"{text}\n" for text in sentences(n)), encoding="utf-8")
    return path


def save_box(path: Path, seconds: float) -> str:
    """Write a function of texts that takes so long per call; return what `mase explain -m` calls it."""
    path.write_text(_BOX.replace("SECONDS", str(seconds)), encoding="utf-8")
    return f"{path}:probabilities"


def save_reviews(folder: Path, n: int = 40) -> Path:
    """Write tables of the data sets with n texts in each split; return their folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name, labels in (("imdb", ("neg", "pos")), ("reuters46", ("acq", "earn"))):
        rows = [
            {"split": split, "id": number, "label": labels[number % 2], "text": text}
            for split, seed in (("train", 1), ("test", 2))
            for number, text in enumerate(sentences(n, seed))
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder

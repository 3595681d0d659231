"""Functions from texts to class scores as people write them: right in odd ways, wrong in all ways, and unsteady."""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

__all__ = ["CLAIMED", "RIGHT", "UNSTEADY", "WRONG", "chance", "table"]

Box = Callable[[list[str]], Any]


def chance(text: str) -> float:
    """Return a probability that depends on the words of a text and on their neighbours."""
    words = text.split()
    total = sum(sum(map(ord, word[:20])) % 13 - 6 for word in words) + 2.0 * ("good" in words and "film" in words)
    return float(1 / (1 + np.exp(-0.3 * total / (1 + 0.05 * len(words)))))


def table(texts: list[str]) -> np.ndarray:
    """Return class probabilities `(n, 2)`."""
    p = np.array([chance(text) for text in texts])
    return np.stack([1 - p, p], axis=1)


def _tensor(dtype: str, *, gradient: bool = False) -> Box:
    def box(texts: list[str]) -> Any:
        import torch

        found = torch.from_numpy(table(texts)).to(getattr(torch, dtype))
        return found.requires_grad_() if gradient else found

    return box


def _reusing() -> Box:
    place = np.empty((100_000, 2))

    def box(texts: list[str]) -> Any:
        place[: len(texts)] = table(texts)
        return place[: len(texts)]

    return box


def _emptying(texts: list[str]) -> Any:
    found = table(texts)
    texts.clear()
    return found


def _slow(texts: list[str]) -> Any:
    time.sleep(0.002)
    return table(texts)


def _talking(texts: list[str]) -> Any:
    print("answering", len(texts))  # noqa: T201
    return table(texts)


def _warning(texts: list[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("about texts", stacklevel=1)
        return table(texts)


def _reseeding(texts: list[str]) -> Any:
    np.random.seed(0)  # noqa: NPY002  (that is what people do)
    return table(texts)


def _remembering() -> Box:
    one = lru_cache(maxsize=None)(chance)
    return lambda texts: [[1 - one(text), one(text)] for text in texts]


def _sparse(texts: list[str]) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(table(texts))


class _Estimator:
    """An object that is called."""

    def __call__(self, texts: list[str]) -> Any:
        return table(texts)


# They answer rightly: `table` is what they mean.
RIGHT: dict[str, Box] = {
    "lists": lambda texts: table(texts).tolist(),
    "tuples": lambda texts: tuple(map(tuple, table(texts).tolist())),
    "list of arrays": lambda texts: list(table(texts)),
    "array": table,
    "float32": lambda texts: table(texts).astype(np.float32),
    "float16": lambda texts: table(texts).astype(np.float16),
    "Fortran order": lambda texts: np.asfortranarray(table(texts)),
    "read-only": lambda texts: np.broadcast_to(table(texts), (len(texts), 2)),
    "reversed strides": lambda texts: table(texts)[:, ::-1][:, ::-1],
    "tensor": _tensor("float64"),
    "tensor with gradient": _tensor("float32", gradient=True),
    "bfloat16 tensor": _tensor("bfloat16"),
    "one column of probabilities": lambda texts: table(texts)[:, 1],
    "one column, two axes": lambda texts: table(texts)[:, 1:],
    "reuses its array": _reusing(),
    "empties the list": _emptying,
    "slow": _slow,
    "prints": _talking,
    "warns": _warning,
    "seeds NumPy": _reseeding,
    "memoises": _remembering(),
    "object that is called": _Estimator(),
    "sparse matrix": _sparse,
    "one text after the other": lambda texts: [table([text])[0] for text in texts],
}


def _raising_on_empty(texts: list[str]) -> Any:
    if any(not text.strip() for text in texts):
        raise ValueError("empty text")
    return table(texts)


def _in_turns(answers: list[Callable[[list[str]], Any]]) -> Box:
    calls = count()
    return lambda texts: answers[min(next(calls), len(answers) - 1)](texts)


def _lazily(texts: list[str]) -> Iterator[list[float]]:
    return (row for row in table(texts).tolist())


def _masked(texts: list[str]) -> Any:
    found = np.ma.masked_array(table(texts), mask=False)
    found[0] = np.ma.masked
    return found


def _fills(value: float) -> Box:
    return lambda texts: np.full((len(texts), 2), value)


def _raise(error: BaseException) -> Box:
    def box(texts: list[str]) -> Any:
        raise error

    return box


# They answer wrongly: each must be refused by a typed error.
WRONG: dict[str, Box] = {
    "NaN": _fills(float("nan")),
    "infinite": _fills(float("inf")),
    "one NaN": lambda texts: np.where(np.arange(2 * len(texts)).reshape(-1, 2) == 0, np.nan, table(texts)),
    "negative": lambda texts: table(texts) * 3 - 1,
    "sums to 2": lambda texts: 2 * table(texts),
    "logits without a word": lambda texts: np.log(table(texts)),
    "one column of log-likelihoods": lambda texts: -10 - 5 * table(texts)[:, 1],
    "one column of margins": lambda texts: 8 * table(texts)[:, 1] - 4,
    "class numbers": lambda texts: (table(texts)[:, 1] > 0.5).astype(int),
    "class numbers as floats": lambda texts: (table(texts)[:, 1] > 0.5).astype(float) + 1,
    "class numbers as a list": lambda texts: [int(p > 0.5) for p in table(texts)[:, 1]],
    "truth values": lambda texts: table(texts)[:, 1] > 0.5,
    "class names": lambda texts: ["pos" if p > 0.5 else "neg" for p in table(texts)[:, 1]],
    "numbers as strings": lambda texts: [[str(p) for p in row] for row in table(texts)],
    "array of strings": lambda texts: table(texts).astype(str),
    "bytes": lambda texts: b"0.5" * len(texts),
    "one string": lambda texts: "1" * len(texts),
    "complex": lambda texts: table(texts) + 0.5j,
    "masked": _masked,
    "objects": lambda texts: np.array([[object(), object()]] * len(texts)),
    "dates": lambda texts: np.full((len(texts), 2), "2026-01-01", dtype="datetime64[D]"),
    "dictionaries": lambda texts: [{"label": "pos", "score": p} for p in table(texts)[:, 1]],
    "None": lambda texts: None,
    "rows of None": lambda texts: [None] * len(texts),
    "empty list": lambda texts: [],
    "no columns": lambda texts: np.empty((len(texts), 0)),
    "one number": lambda texts: 0.5,
    "one row too few": lambda texts: table(texts)[1:],
    "one row too many": lambda texts: np.concatenate([table(texts), [[0.5, 0.5]]]),
    "classes by texts": lambda texts: np.concatenate([table(texts), table(texts)], 1).T,
    "three axes": lambda texts: table(texts)[:, :, None],
    "ragged": lambda texts: [[0.5] * (1 + i % 2) for i, _ in enumerate(texts)] + [[0.2, 0.3, 0.5]],
    "generator": _lazily,
    "other columns later": _in_turns([table, lambda texts: np.full((len(texts), 4), 0.25)]),
    "other rows later": _in_turns([table, lambda texts: table(texts)[:-1]]),
    "raises": _raise(KeyError("word")),
    "raises StopIteration": _raise(StopIteration()),
    "raises RecursionError": _raise(RecursionError("too deep")),
    "raises later": _in_turns([table, _raise(RuntimeError("the server is gone"))]),
}

# They may answer, or say that they cannot; if they answer, it is the truth.
CLAIMED: dict[str, Box] = {"raises on an empty text": _raising_on_empty}


_NOISE = np.random.default_rng(16)  # one for all calls: no two answers are alike


def _random(texts: list[str]) -> Any:
    p = 0.2 + 0.6 * _NOISE.random(len(texts))
    return np.stack([1 - p, p], axis=1)


def _noisy(texts: list[str]) -> Any:
    odds = table(texts)[:, 1] / table(texts)[:, 0] * np.exp(_NOISE.normal(size=len(texts)))
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)


def _wearing() -> Box:
    calls = count()

    def box(texts: list[str]) -> Any:
        p = 0.5 + 0.4 * np.sin(np.array([next(calls) for _ in texts]))
        return np.stack([1 - p, p], axis=1)

    return box


def _centred(texts: list[str]) -> Any:
    p = table(texts)[:, 1]
    q = 1 / (1 + np.exp(-4 * (p - p.mean()) / (p.std() + 0.1)))
    return np.stack([1 - q, q], axis=1)


def _by_place(texts: list[str]) -> Any:
    p = table(texts)[:, 1] * np.where(np.arange(len(texts)) % 2, 0.3, 1.0)
    return np.stack([1 - p, p], axis=1)


def _by_number(texts: list[str]) -> Any:
    p = table(texts)[:, 1] / (1 + 0.5 * np.log1p(len(texts) - 1))
    return np.stack([1 - p, p], axis=1)


# They answer something else each time, or depending on company: the note that must say so.
UNSTEADY: dict[str, tuple[Box, str]] = {
    "random": (_random, "not-deterministic"),
    "noisy": (_noisy, "not-deterministic"),
    "wears out": (_wearing(), "not-deterministic"),
    "centred over the batch": (_centred, "batch-dependent"),
    "depends on the place in the batch": (_by_place, "batch-dependent"),
    "depends on the size of the batch": (_by_number, "batch-dependent"),
}

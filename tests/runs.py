"""Small runs for tests: a model with known weights explains made-up texts, and the results are written as a run."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.sources.rows import Item
from mase_corpora.folder import Folder
from mase_corpora.plan import Asked, Manifest
from mase_corpora.read import Run, open_run
from mase_corpora.schema import Rows
from mase_corpora.storage import storage_of

__all__ = ["COMPARED", "WEIGHTS", "classifier", "made_up_texts", "run_of", "write_run"]

# The tables that are the same whoever computes them; timings are not.
COMPARED = ("texts", "responses", "units")
WEIGHTS = {
    "superb": 1.5, "good": 1.0, "fine": 0.5, "film": 0.0, "plot": 0.1, "cast": -0.1, "dull": -0.5, "bad": -1.0,
    "awful": -1.5, "slow": -0.3,
}  # fmt: skip


def classifier(weights: dict[str, float], interaction: float = 0.5) -> Callable[[list[str]], Any]:
    """Return a classifier whose log-odds are the weights of the words, and an effect of each pair of neighbours.

    Without interaction the scores are exact. With it they are estimates.
    """

    def predict(texts: list[str]) -> Any:
        p = np.array([1 / (1 + np.exp(-_log_odds(text.lower().split(), weights, interaction))) for text in texts])
        return np.stack([1 - p, p], axis=1)

    return predict


def _log_odds(words: Sequence[str], weights: dict[str, float], interaction: float) -> float:
    pairs = pairwise(words)
    return sum(weights.get(word, 0.0) for word in words) + interaction * sum(
        1.0 if len(one) < len(other) else -1.0 for one, other in pairs
    )


def made_up_texts(n: int, words: Iterable[str] = tuple(WEIGHTS), length: int = 7, seed: int = 0) -> list[str]:
    """Return n texts of different words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(list(words), length, replace=False)) for _ in range(n)]


def write_run(
    place: str | Path,
    texts: Sequence[str],
    predict: Callable[[list[str]], Any],
    *,
    part_size: int = 16,
    seed: int = 0,
    ids: Sequence[str] | None = None,
    documents: bool = True,
    target: str | None = None,
    **settings: Any,
) -> Path:
    """Explain texts and write a complete run of them; an empty text fails. Return its folder.

    The default method would take more time, and its scores depend on the rank of all words.
    """
    explainer = mase.Explainer(
        predict, seed=seed, **{"method": "mase-mask", "link": "margin", "n_samples": 60} | settings, evidence=0
    )
    folder = Folder(storage_of(place))
    asked = Asked(
        model={"name": "predict"}, method={"name": "mase"}, seed=seed, target=target, input={"texts": list(texts)},
        n_texts=len(texts), part_size=part_size, documents=documents,
    )  # fmt: skip
    folder.create(Manifest(asked=asked, made_with={}, labels=("0", "1"), created="2026-01-01T00:00:00Z"))
    for part, start in enumerate(range(0, len(texts), part_size)):
        rows = Rows((), documents=documents, worker="1")
        for row, text in enumerate(texts[start : start + part_size], start):
            item = Item(row, str(row) if ids is None else ids[row], text)
            try:
                rows.add(item, explainer(text, target=target), 0.1)
            except mase.MaseError as error:
                rows.add_failure(item, type(error).__name__, str(error), 0.0)
        folder.write(part, rows.tables(), {})
    return Path(place)


def run_of(
    place, texts, *, kept=(), documents=True, part_size=2, n_texts=None, model="lstm-imdb", labels=("neg", "pos")
) -> Run:
    """Write a run and return it.

    `texts` are pairs of an attribution, or a pair (text, error) of a text that failed, and the values of `kept`; ids
    are given as a third value, or are "id 0", "id 1" and so on.
    """
    folder = Folder(storage_of(place))
    asked = Asked(
        model={"name": model, "sha256": "0" * 64}, method={"name": "mase"}, seed=0, target=None, input={},
        n_texts=len(texts) if n_texts is None else n_texts, part_size=part_size, kept=tuple(kept), documents=documents,
    )  # fmt: skip
    folder.create(Manifest(asked=asked, made_with={}, labels=labels, created="2026-11-22"))
    for part, start in enumerate(range(0, len(texts), part_size)):
        rows = Rows(kept, documents=documents, worker="1")
        for row, (made, values, *ids) in enumerate(texts[start : start + part_size], start):
            text = made[0] if isinstance(made, tuple) else made.document[0].text
            item = Item(row, ids[0] if ids else f"id {row}", text, tuple(values))
            if isinstance(made, tuple):
                rows.add_failure(item, type(made[1]).__name__, str(made[1]), 0.0)
            else:
                rows.add(item, made, 0.1)
        folder.write(part, rows.tables(), {})
    return open_run(place)

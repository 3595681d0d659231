"""Run folders made of attributions, for the tests of what reads them."""

from mase.corpus.columns import Rows
from mase.corpus.folder import Folder
from mase.corpus.manifest import Asked, Manifest
from mase.corpus.opened import Run, open_run
from mase.corpus.source import Item
from mase.corpus.storage import storage_of


def run_of(place, texts, *, kept=(), documents=True, part_size=2, n_texts=None, model="lstm-imdb") -> Run:
    """Write a run and return it.

    `texts` are pairs of an attribution, or a pair (text, error) of a text that failed, and the values of `kept`; ids
    are given as a third value, or are "id 0", "id 1" and so on.
    """
    folder = Folder(storage_of(place))
    asked = Asked(
        model={"name": model, "sha256": "0" * 64}, method={"name": "mase"}, seed=0, target=None, input={},
        n_texts=len(texts) if n_texts is None else n_texts, part_size=part_size, kept=tuple(kept), documents=documents,
    )  # fmt: skip
    folder.create(Manifest(asked=asked, made_with={}, labels=("neg", "pos"), created="2026-11-22"))
    for part, start in enumerate(range(0, len(texts), part_size)):
        rows = Rows(kept, documents=documents, worker="1")
        for row, (made, values, *ids) in enumerate(texts[start : start + part_size], start):
            text = made[0] if isinstance(made, tuple) else made.document[0].text
            item = Item(row, ids[0] if ids else f"id {row}", text, tuple(values))
            if isinstance(made, tuple):
                rows.add_failure(item, type(made[1]).__name__, str(made[1]), 0.0)
            else:
                rows.add(item, made)
        folder.write(part, rows.tables(), {})
    return open_run(place)

"""The four classifiers of the paper's evaluation, with the data that they are tested on."""

from collections.abc import Mapping
from dataclasses import dataclass

from mase.metrics.operators import Operator

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """A classifier and its texts.

    `title` is the paper's name for it, `stand_in` the model that has its place if it is another, `n_texts` how many
    texts a full run explains (Reuters has fewer: every one is used), `n_study` how many a sweep does, and `n_search`
    how many of these the ceilings, a search of up to minutes per text, and a second seed do.

    `operators` take the words out; the first is that of the tables: the model's own mask token, or else its unknown
    token.
    """

    name: str
    dataset: str
    title: str
    n_texts: int
    n_study: int
    n_search: int
    operators: tuple[Operator, ...]
    stand_in: str | None = None

    @property
    def introduced(self) -> str:
        """Title with the model that stands in for the paper's: what the name alone would not tell."""
        return self.title if self.stand_in is None else f"{self.title}, {self.stand_in}"


# The padding token of the LSTMs has the zero vector.
_LSTM: tuple[Operator, ...] = ("auto", "pad", "delete")
_BERT: tuple[Operator, ...] = ("auto", "pad", "delete", "zero")

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("lstm-imdb", "imdb", "LSTM-IMDB", 10_000, 1_000, 100, _LSTM),
        Target("lstm-reuters", "reuters", "LSTM-Reuters", 10_000, 1_000, 100, _LSTM),
        Target("bert-imdb", "imdb", "BERT-IMDB", 1_000, 200, 10, _BERT, "a six-layer MiniLM"),
        Target("bert-reuters", "reuters", "BERT-Reuters", 1_000, 200, 10, _BERT, "a six-layer MiniLM"),
    )
}

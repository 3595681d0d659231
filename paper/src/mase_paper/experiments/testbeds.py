"""The four classifiers of the paper's evaluation, with the data that they are tested on."""

from collections.abc import Mapping
from dataclasses import dataclass

from mase.metrics.operators import Operator

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """A classifier and its texts.

    Attributes
    ----------
    name, dataset
        Of the model and of its data set.
    title
        The paper's name of the model.
    n_texts
        Number of texts in a full run. Reuters has fewer, and all of them are used.
    n_study
        Number of texts in a study.
    n_search
        Number of texts for the upper bounds, whose search takes up to minutes per text, and for a second seed.
    operators
        The masking operators. The first one is that of the tables: the model's mask token, or else its unknown token.
    stand_in
        The model that replaces the paper's, if it is another one.
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
    def heading(self) -> str:
        """The title, with the model that replaces the paper's."""
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

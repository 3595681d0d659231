"""The classifiers that methods are compared on, with the data that they are tested on.

Four are those of the paper's evaluation. Four more, `FRESH`, are for the confirmation: families and tasks with which no
setting of a method was chosen. Two, `LARGE`, have the size of the paper's BERT.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mase.errors import DataError
from mase.metrics import Operator

if TYPE_CHECKING:
    from mase.models.base import Model
    from mase_paper.datasets import Split

__all__ = ["FRESH", "LARGE", "PAPER", "TARGETS", "Target"]


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
    task
        The task of a model of the confirmation; None for the labels of the data set.
    every_metric
        Whether infidelity, deletion and insertion are measured, which take more evaluations than an explanation.
    """

    name: str
    dataset: str
    title: str
    n_texts: int
    n_study: int
    n_search: int
    operators: tuple[Operator, ...]
    stand_in: str | None = None
    task: str | None = None
    every_metric: bool = True

    @property
    def heading(self) -> str:
        """The title, with the model that replaces the paper's."""
        return self.title if self.stand_in is None else f"{self.title}, {self.stand_in}"

    def load(self, models: Path, device: str | None = None) -> "Model":
        """Return the model. `models` is the folder with the folders of the models that `mase train` wrote.

        Raises
        ------
        DataError
            If a model of the confirmation is not in that folder, or another one, or a damaged one.
        OptionError
            If the device is not available.
        """
        if self.task is None:
            from mase.models import load

            return load(self.name, device=device)
        from mase_paper.models.fresh import read

        model = read(models / self.name, device)
        if model.name.partition(" ")[0] != self.name:
            raise DataError(
                f"{str(models / self.name)!r} holds {model.name}, expected {self.name}; name another folder of models"
            )
        return model

    def split(self, name: str, data_dir: str | None = None) -> "Split":
        """Return the texts of a split: "train", "validation", "test", or `LATER` of `selection`.

        Their labels are those of the task, if the target has one.
        """
        from mase_paper.datasets import load  # needs numpy, which the help of the command does without
        from mase_paper.experiments.selection import LATER, later

        whole = load(self.dataset, "test" if name == LATER else name, data_dir)
        split = later(whole) if name == LATER else whole
        if self.task is None:
            return split
        from mase_paper.models.tasks import TASKS, relabelled

        return relabelled(split, TASKS[self.task], data_dir)


# The padding token of the LSTMs and of the CNNs has the zero vector.
_IDS: tuple[Operator, ...] = ("auto", "pad", "delete")
_BERT: tuple[Operator, ...] = ("auto", "pad", "delete", "zero")
# A function of texts has no padding. Its first operator replaces a word by one that the model does not know.
_TEXTS: tuple[Operator, ...] = ("auto", "delete")
_RATING, _GROUPS = "imdb-rating", "reuters-groups"

PAPER: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("lstm-imdb", "imdb", "LSTM-IMDB", 10_000, 1_000, 100, _IDS),
        Target("lstm-reuters", "reuters", "LSTM-Reuters", 10_000, 1_000, 100, _IDS),
        Target("bert-imdb", "imdb", "BERT-IMDB", 1_000, 200, 30, _BERT, "a six-layer MiniLM"),
        Target("bert-reuters", "reuters", "BERT-Reuters", 1_000, 200, 30, _BERT, "a six-layer MiniLM"),
    )
}
FRESH: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("cnn-imdb-rating", "imdb", "CNN, IMDB ratings", 10_000, 1_000, 100, _IDS, task=_RATING),
        Target("cnn-reuters-groups", "reuters", "CNN, Reuters groups", 10_000, 1_000, 100, _IDS, task=_GROUPS),
        Target("tfidf-imdb-rating", "imdb", "TF-IDF, IMDB ratings", 10_000, 1_000, 100, _TEXTS, task=_RATING),
        Target("tfidf-reuters-groups", "reuters", "TF-IDF, Reuters groups", 10_000, 1_000, 100, _TEXTS, task=_GROUPS),
    )
}
LARGE: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("mpnet-imdb", "imdb", "MPNet-IMDB", 60, 60, 12, ("auto",), every_metric=False),
        Target("mpnet-reuters", "reuters", "MPNet-Reuters", 60, 60, 12, ("auto",), every_metric=False),
    )
}
TARGETS: Mapping[str, Target] = {**PAPER, **FRESH, **LARGE}

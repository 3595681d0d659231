"""Recipes: every number that decides a training, and what a training reports."""

from dataclasses import dataclass
from pathlib import Path

from mase.models.bundled.lstm import Pool
from mase.text import Side
from mase_paper.datasets import VALIDATION_SHARE

__all__ = ["LSTM_IMDB", "LSTM_REUTERS", "Epoch", "Recipe", "Trained"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one pass over the training part came to; `loss` is the mean cross-entropy in nats, in training mode."""

    number: int
    n_epochs: int
    loss: float
    validation_accuracy: float


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished training: the model's folder, accuracies of the stored weights, epochs run and seconds taken."""

    path: Path
    validation_accuracy: float
    test_accuracy: float
    epochs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train a classifier that reads word ids: an LSTM, or a CNN.

    Parameters
    ----------
    name, dataset
        Of the model and of what it is trained on.
    task, limits, licence
        Sentences for the model card.
    pool, dropout, word_dropout, embedding_dropout
        Pooling of the states, and shares dropped in training: of pooled states, of words (read as unknown), of
        embedding entries.
    batch_size, epochs
        Texts per step, passes over the training part.
    max_length, keep
        Words that are read of a text, and from which end.
    vocabulary_size, min_count
        The most frequent words of the training part, if seen so often.
    embedding_width, hidden_width, embedding_std
        Widths, and standard deviation of the first embeddings; of a CNN, `hidden_width` is the filters of each size.
    learning_rate
        Of Adam, at the start; it falls to 0 along a half cosine, epoch by epoch.
    clip_norm
        Largest norm of a gradient.
    validation_share
        Share of the training split held out to choose the epoch. The same texts whatever the seed.
    bucket
        Texts are sorted by length within so many batches, to pad little.
    """

    name: str
    dataset: str
    task: str
    limits: str
    licence: str
    pool: Pool
    dropout: float
    word_dropout: float
    embedding_dropout: float
    batch_size: int
    epochs: int
    keep: Side
    max_length: int = 80
    vocabulary_size: int = 15_000
    min_count: int = 2
    embedding_width: int = 128
    hidden_width: int = 128
    embedding_std: float = 0.1
    learning_rate: float = 1e-3
    clip_norm: float = 1.0
    validation_share: float = VALIDATION_SHARE
    bucket: int = 50


LSTM_IMDB = Recipe(
    name="lstm-imdb",
    dataset="imdb",
    task=(
        "classifies English film reviews as negative (`neg`) or positive (`pos`). It reads the last 80 words of a "
        "review"
    ),
    limits=(
        "It was trained on film reviews from before 2011 only. It reads words in lower case, without punctuation, "
        "and only the last 80: it ignores an opinion before them. 123 of the 25,000 test reviews are also in the "
        "training split, as published."
    ),
    licence=(
        "The reviews are the Large Movie Review Dataset (Maas et al., ACL 2011), for research use. They are not "
        "included. The model holds a list of words and weights, but no text."
    ),
    pool="last",
    dropout=0.5,
    word_dropout=0.2,
    embedding_dropout=0.5,
    batch_size=64,
    epochs=6,
    keep="end",
)

LSTM_REUTERS = Recipe(
    name="lstm-reuters",
    dataset="reuters",
    task="classifies English business news into 46 topics. It reads the first 80 words of a story, including its title",
    limits=(
        "It was trained on Reuters' business news of 1987 only. The topics are unbalanced: two of the 46 (`earn`, "
        "`acq`) make up 57 % of the training stories, and the rarest has 10. A story with several topics has its "
        "first topic as its label. 42 of the 2,246 test stories have exactly the text of a training story."
    ),
    licence=(
        "The stories are Reuters-21578 (Reuters Ltd, D. Lewis), free for research use. The texts belong to Reuters "
        "and are not included. The model holds a list of words and weights, but no text."
    ),
    pool="max",
    dropout=0.3,
    word_dropout=0.1,
    embedding_dropout=0.0,
    batch_size=32,
    epochs=20,
    keep="start",
)

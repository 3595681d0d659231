"""Recipes of the fine-tuned transformers: every number that decides a training."""

from dataclasses import dataclass

from mase.models.bundled.bert import BASE
from mase.text import Side
from mase_paper.datasets import VALIDATION_SHARE
from mase_paper.training.recipe import LSTM_REUTERS

__all__ = ["BERT_IMDB", "BERT_REUTERS", "AdapterRecipe"]


@dataclass(frozen=True, slots=True)
class AdapterRecipe:
    """How to fine-tune a pretrained encoder with low-rank adapters.

    Parameters
    ----------
    name, dataset
        Of the model and of what it is trained on.
    task, limits, licence
        Sentences for the model card.
    epochs, batch_size
        Passes over the training part, texts per step.
    max_length, keep
        Tokens that are read of a text, special tokens included, and from which end.
    rank, alpha
        Of the adapters; the change of a weight is ``alpha / rank * up @ down``.
    learning_rate, head_learning_rate
        Of AdamW for adapters and LayerNorms, and for pooler and head: up from 0 over the first `warmup` of the steps,
        then down to 0, both in a straight line.
    warmup, weight_decay, clip_norm
        Share of the steps, AdamW's decay, largest norm of a gradient.
    hidden_dropout
        Share of hidden states and of the head's inputs dropped in training; attention is not dropped.
    validation_share
        Share of the training split held out to choose the epoch. The same texts whatever the seed.
    validation_texts
        So many held-out texts are scored after each epoch; all of them at the end.
    bucket
        Texts are sorted by length within so many batches, to pad little.
    checkpoint_steps
        Steps between two checkpoints.
    base
        Name of the pretrained model.
    frozen_layers
        So many lower layers of an MPNet are not trained: they read each text once, before the training.
    training_texts, test_texts
        Texts of the training part and of the test split that are used, drawn at random; all of them if None.
    """

    name: str
    dataset: str
    task: str
    limits: str
    licence: str
    epochs: int
    keep: Side
    rank: int
    alpha: float
    batch_size: int = 16
    max_length: int = 128
    learning_rate: float = 5e-4
    head_learning_rate: float = 1e-3
    warmup: float = 0.06
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    hidden_dropout: float = 0.0
    validation_share: float = VALIDATION_SHARE
    validation_texts: int = 1000
    bucket: int = 50
    checkpoint_steps: int = 100
    base: str = BASE
    frozen_layers: int = 0
    training_texts: int | None = None
    test_texts: int | None = None

    @property
    def scale(self) -> float:
        """Factor of the low-rank change."""
        return self.alpha / self.rank


BERT_IMDB = AdapterRecipe(
    name="bert-imdb",
    dataset="imdb",
    task=(
        "classifies English film reviews as negative (`neg`) or positive (`pos`). It reads the last 128 tokens of a "
        "review"
    ),
    limits=(
        "It was fine-tuned on film reviews from before 2011 only. It reads only the last 128 word pieces (two of them "
        "special tokens) and ignores an opinion before them. The line breaks `<br />` of the data set are part of "
        "its input. 123 of the 25,000 test reviews are also in the training split, as published."
    ),
    licence=(
        "The reviews are the Large Movie Review Dataset (Maas et al., ACL 2011), for research use. They are not "
        "included. The folder holds weights, but no text."
    ),
    epochs=2,
    keep="end",
    rank=32,
    alpha=64.0,
)

BERT_REUTERS = AdapterRecipe(
    name="bert-reuters",
    dataset="reuters",
    task=(
        "classifies English business news into 46 topics. It reads the first 128 tokens of a story, including its title"
    ),
    limits=LSTM_REUTERS.limits,
    licence=(
        "The stories are Reuters-21578 (Reuters Ltd, D. Lewis), free for research use. The texts belong to Reuters "
        "and are not included. The folder holds weights, but no text."
    ),
    epochs=4,
    keep="start",
    rank=32,
    alpha=64.0,
    learning_rate=1e-3,
    hidden_dropout=0.1,
)

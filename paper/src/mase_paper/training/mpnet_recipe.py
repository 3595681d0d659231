"""Recipes of the fine-tuned MPNets, which have the size of the paper's BERT: the lower eight layers stay frozen."""

from mase.models.bundled.mpnet import BASE
from mase_paper.training.bert_recipe import BERT_IMDB, BERT_REUTERS, AdapterRecipe

__all__ = ["MPNET_IMDB", "MPNET_REUTERS"]

MPNET_IMDB = AdapterRecipe(
    name="mpnet-imdb",
    dataset="imdb",
    task=BERT_IMDB.task,
    limits=BERT_IMDB.limits,
    licence=BERT_IMDB.licence,
    epochs=2,
    keep="end",
    rank=32,
    alpha=64.0,
    learning_rate=3e-4,
    head_learning_rate=5e-4,
    hidden_dropout=0.1,
    base=BASE,
    frozen_layers=8,
    training_texts=10_000,
    test_texts=5_000,
)

MPNET_REUTERS = AdapterRecipe(
    name="mpnet-reuters",
    dataset="reuters",
    task=BERT_REUTERS.task,
    limits=BERT_REUTERS.limits,
    licence=BERT_REUTERS.licence,
    epochs=4,
    keep="start",
    rank=32,
    alpha=64.0,
    learning_rate=5e-4,
    head_learning_rate=1e-3,
    hidden_dropout=0.1,
    base=BASE,
    frozen_layers=8,
)

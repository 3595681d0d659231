"""Training of the models of the confirmation; `mase_paper.models.fresh` opens them."""

import dataclasses
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch

from mase.arrays import Floats
from mase.models.bundled.files import Vocabulary
from mase_paper.datasets import VALIDATION_SHARE, Split, load, split_off
from mase_paper.models import tfidf
from mase_paper.models.cnn import N_FILTERS, WIDTH, TextCNN
from mase_paper.models.fresh import FRESH, Fresh
from mase_paper.models.tasks import N_WORDS, Task, relabelled
from mase_paper.training.examples import Examples, encode, learned_vocabulary
from mase_paper.training.folder import writable, write_model
from mase_paper.training.lstm import accuracy, fit, reproducible, stored
from mase_paper.training.recipe import LSTM_REUTERS, Epoch, Recipe, Trained
from mase_paper.training.record import command

__all__ = [
    "CNN_IMDB_RATING",
    "CNN_REUTERS_GROUPS",
    "TFIDF_IMDB_RATING",
    "TFIDF_REUTERS_GROUPS",
    "FreshRecipe",
    "run",
]

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True)
class FreshRecipe:
    """How to train a model of the confirmation: the numbers of its CNN; None for TF-IDF, which has scikit-learn's."""

    fresh: Fresh
    numbers: Recipe | None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.fresh.name


def _cnn(name: str, epochs: int) -> FreshRecipe:
    task = FRESH[name].task
    numbers = dataclasses.replace(
        LSTM_REUTERS, name=name, dataset=task.dataset, dropout=0.5, word_dropout=0.1, embedding_dropout=0.2,
        batch_size=50, epochs=epochs, keep=task.keep, max_length=N_WORDS, embedding_width=WIDTH, hidden_width=N_FILTERS,
    )  # fmt: skip
    return FreshRecipe(FRESH[name], numbers)


CNN_IMDB_RATING = _cnn("cnn-imdb-rating", epochs=6)
CNN_REUTERS_GROUPS = _cnn("cnn-reuters-groups", epochs=12)
TFIDF_IMDB_RATING = FreshRecipe(FRESH["tfidf-imdb-rating"], None)
TFIDF_REUTERS_GROUPS = FreshRecipe(FRESH["tfidf-reuters-groups"], None)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The three parts of a task. The validation part is that of its data set."""

    training: Split
    validation: Split
    test: Split

    @classmethod
    def of(cls, task: Task, data_dir: Folder) -> "_Parts":
        whole = load(task.dataset, "train", data_dir)
        held_in, held_out = split_off(len(whole), VALIDATION_SHARE)
        parts = (whole.part("train", held_in), whole.part("validation", held_out), load(task.dataset, "test", data_dir))
        return cls(*(relabelled(part, task, data_dir) for part in parts))


@dataclass(frozen=True, slots=True)
class _Fitted:
    """What is stored of a model, with its accuracies and the passes over the data."""

    vocabulary: str
    weights: bytes
    validation_accuracy: float
    test_accuracy: float
    epochs: int


def run(
    recipe: FreshRecipe,
    data_dir: Folder,
    output: Folder,
    seed: int,
    epochs: int | None,
    progress: Callable[[Epoch], None],
) -> Trained:
    """Train a model of the confirmation and write its folder; see `mase_paper.training.train`.

    `seed` and `epochs` have no effect on logistic regression, which has one solution.
    """
    start, fresh = time.perf_counter(), recipe.fresh
    path = writable(Path(output if output is not None else fresh.name), adapted=False)
    parts = _Parts.of(fresh.task, data_dir)
    labels = sorted(set(parts.training.labels))
    with reproducible(seed):
        if recipe.numbers is None:
            fitted = _fit_tfidf(parts, labels)
        else:
            used = recipe.numbers if epochs is None else dataclasses.replace(recipe.numbers, epochs=epochs)
            fitted = _fit_cnn(used, parts, labels, seed, progress)
    seconds = time.perf_counter() - start
    config = _configuration(fresh, labels, parts, fitted, seed, epochs, seconds)
    texts = {"vocabulary.txt": fitted.vocabulary, "config.json": json.dumps(config, indent=2) + "\n"}
    write_model(path, fitted.weights, texts)
    return Trained(path, fitted.validation_accuracy, fitted.test_accuracy, fitted.epochs, seconds)


def _fit_tfidf(parts: _Parts, labels: list[str]) -> _Fitted:
    pipeline = tfidf.fit(parts.training.texts, parts.training.labels)
    assert list(pipeline.classes_) == labels
    terms, result = tfidf.arrays(pipeline)
    return _Fitted(
        "\n".join(terms) + "\n",
        safetensors.numpy.save(_contiguous(result)),
        float(pipeline.score(parts.validation.texts, parts.validation.labels)),
        float(pipeline.score(parts.test.texts, parts.test.labels)),
        int(pipeline[-1].n_iter_.max()),
    )


def _contiguous(result: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: np.ascontiguousarray(values) for name, values in result.items()}


def _fit_cnn(recipe: Recipe, parts: _Parts, labels: list[str], seed: int, progress: Callable[[Epoch], None]) -> _Fitted:
    vocabulary = learned_vocabulary(parts.training.texts, recipe.vocabulary_size, recipe.min_count)
    training, validation, test = (
        _encoded(part, vocabulary, labels, recipe) for part in (parts.training, parts.validation, parts.test)
    )
    new = TextCNN(len(vocabulary), len(labels), dropout=recipe.dropout, embedding_dropout=recipe.embedding_dropout)
    module, _ = fit(new, recipe, training, validation, seed, progress)
    weights = safetensors.torch.save(stored(module))
    return _Fitted(vocabulary.dumps(), weights, accuracy(module, validation), accuracy(module, test), recipe.epochs)


def _encoded(part: Split, vocabulary: Vocabulary, labels: list[str], recipe: Recipe) -> Examples:
    return encode(part.texts, part.labels, vocabulary, labels, recipe.max_length, recipe.keep)


def _configuration(
    fresh: Fresh, labels: list[str], parts: _Parts, fitted: _Fitted, seed: int, epochs: int | None, seconds: float
) -> dict[str, Any]:
    packages = ("mase-xai", "torch", "numpy", "scikit-learn")
    return {
        "name": fresh.name,
        "labels": labels,
        "training": {
            "command": command(fresh.name, seed=seed, epochs=epochs),
            "epochs": fitted.epochs,
            "data_sha256": parts.test.sha256,
            "weights_sha256": hashlib.sha256(fitted.weights).hexdigest(),
            "versions": {"Python": platform.python_version()} | {name: version(name) for name in packages},
            "seconds": round(seconds),
            "n_training": len(parts.training),
            "validation_accuracy": round(fitted.validation_accuracy, 4),
            "n_validation": len(parts.validation),
            "test_accuracy": round(fitted.test_accuracy, 4),
            "n_test": len(parts.test),
        },
    }

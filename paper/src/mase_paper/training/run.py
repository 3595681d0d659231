"""From a recipe and a data set to a model folder."""

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save

from mase.models.bundled.files import Vocabulary
from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
from mase_paper.datasets import DATASETS, Split, load, split_off
from mase_paper.training.card import PACKAGES, Report, card, configuration
from mase_paper.training.examples import Examples, encode, learned_vocabulary
from mase_paper.training.folder import writable, write_model
from mase_paper.training.lstm import accuracy, fit, reproducible, stored
from mase_paper.training.recipe import Epoch, Recipe, Trained
from mase_paper.training.record import Record, command

__all__ = ["run"]


def run(
    recipe: Recipe,
    data_dir: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
    seed: int,
    epochs: int | None,
    progress: Callable[[Epoch], None],
) -> Trained:
    """Train by a recipe and write the model's folder; see `mase_paper.training.train`."""
    start = time.perf_counter()
    path = writable(Path(output if output is not None else recipe.name), adapted=False)
    used = recipe if epochs is None else dataclasses.replace(recipe, epochs=epochs)
    split = load(used.dataset, "train", data_dir)
    data = _prepare(split, used)
    with reproducible(seed):
        new = LSTMClassifier(data.shape(used), used.dropout, used.embedding_dropout)
        module, best_epoch = fit(new, used, data.training, data.validation, seed, progress)
        weights = stored(module)
        validation_accuracy = accuracy(module, data.validation)
        test_accuracy, n_test = _test(module, data, used, data_dir)
    record = Record(
        command=command(used.name, seed=seed, epochs=None if used == recipe else used.epochs),
        seed=seed,
        epochs=used.epochs,
        best_epoch=best_epoch,
        n_training=len(data.training),
        n_validation=len(data.validation),
        n_test=n_test,
        validation_accuracy=validation_accuracy,
        test_accuracy=test_accuracy,
        data_file=DATASETS[used.dataset].file,
        data_sha256=split.sha256,
        seconds=time.perf_counter() - start,
        packages=PACKAGES,
    )
    _write(path, weights, data.vocabulary, Report(used, data.labels, len(data.vocabulary), record))
    return Trained(path, validation_accuracy, test_accuracy, used.epochs, record.seconds)


@dataclass(frozen=True, slots=True)
class _Data:
    """The training split as the model sees it: the part to train on and the part held out."""

    labels: list[str]
    vocabulary: Vocabulary
    training: Examples
    validation: Examples

    def shape(self, recipe: Recipe) -> LSTMShape:
        """Return the sizes of the classifier for this vocabulary and these labels."""
        return LSTMShape(
            len(self.vocabulary), len(self.labels), recipe.embedding_width, recipe.hidden_width, recipe.pool
        )


def _prepare(split: Split, recipe: Recipe) -> _Data:
    """Return the two parts. The held-out one has no effect on vocabulary and weights."""
    labels = sorted(set(split.labels))
    held_in, held_out = (rows.tolist() for rows in split_off(len(split), recipe.validation_share))
    vocabulary = learned_vocabulary((split.texts[row] for row in held_in), recipe.vocabulary_size, recipe.min_count)
    training, validation = (_encode(split, rows, vocabulary, labels, recipe) for rows in (held_in, held_out))
    return _Data(labels, vocabulary, training, validation)


def _encode(split: Split, rows: Sequence[int], vocabulary: Vocabulary, labels: list[str], recipe: Recipe) -> Examples:
    texts, names = [split.texts[row] for row in rows], [split.labels[row] for row in rows]
    return encode(texts, names, vocabulary, labels, recipe.max_length, recipe.keep)


def _test(
    module: LSTMClassifier, data: _Data, recipe: Recipe, data_dir: str | os.PathLike[str] | None
) -> tuple[float, int]:
    """Return the accuracy on the test split, which is read only here, and its size."""
    split = load(recipe.dataset, "test", data_dir)
    return accuracy(module, _encode(split, range(len(split)), data.vocabulary, data.labels, recipe)), len(split)


def _write(path: Path, weights: dict[str, torch.Tensor], vocabulary: Vocabulary, report: Report) -> None:
    texts = {"vocabulary.txt": vocabulary.dumps(), "config.json": configuration(report), "README.md": card(report)}
    write_model(path, save(weights), texts)

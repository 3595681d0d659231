"""From an adapter recipe, a pretrained model and a data set to a model folder."""

import dataclasses
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load as from_bytes
from safetensors.torch import save

from mase.arrays import Ints
from mase.models.bundled.bert import assemble, base_folder, base_sha256, classifier, tokenizer
from mase.models.transformers import HuggingFace
from mase_paper.datasets import DATASETS, Split, load, split_off
from mase_paper.training.bert import Checkpoint, accuracy, fit, set_dropout
from mase_paper.training.bert_card import PACKAGES, AdapterReport, Base, card, configuration
from mase_paper.training.bert_recipe import AdapterRecipe
from mase_paper.training.classify import check_padding
from mase_paper.training.examples import Examples
from mase_paper.training.folder import writable, write_model
from mase_paper.training.frozen import freeze, read_states
from mase_paper.training.lora import attach, changes, trainable
from mase_paper.training.lstm import reproducible
from mase_paper.training.recipe import Epoch, Trained
from mase_paper.training.record import Record, command

__all__ = ["run"]

_NO_EFFECT = ("task", "limits", "licence", "checkpoint_steps")  # fields of a recipe that do not change the weights

_STATES = "states"  # folder of the outputs of frozen layers, beside the checkpoint


def run(
    recipe: AdapterRecipe,
    data_dir: str | os.PathLike[str] | None,
    output: str | os.PathLike[str] | None,
    seed: int,
    epochs: int | None,
    progress: Callable[[Epoch], None],
    base: str | os.PathLike[str] | None,
) -> Trained:
    """Fine-tune by a recipe and write the model's folder; see `mase_paper.training.train`."""
    used = recipe if epochs is None else dataclasses.replace(recipe, epochs=epochs)
    folder = base_folder(base, used.base)
    path = writable(Path(output if output is not None else recipe.name), adapted=True)
    split = load(used.dataset, "train", data_dir)
    sha256 = base_sha256(folder)
    checkpoint = Checkpoint(path / "checkpoint.pt", _key(used, seed, sha256, split.sha256))
    with reproducible(seed):
        data = _prepare(split, used, folder)
        best_epoch, seconds = _fit(used, data, sha256, seed, checkpoint, progress)
        weights = save(changes(trainable(data.module)))
        module = assemble(folder, data.labels, from_bytes(weights), used.scale)
        validation_accuracy = accuracy(module, data.validation)
        whole = load(used.dataset, "test", data_dir)
        test = _some(_encode(data.reader, whole, None, data.labels), used.test_texts)
        test_accuracy = accuracy(module, test)
    named = _named(base if base is not None else used.base)
    record = Record(
        command=command(
            used.name,
            seed=seed,
            epochs=None if used == recipe else used.epochs,
            base=None if base is None else named,
        ),
        seed=seed,
        epochs=used.epochs,
        best_epoch=best_epoch,
        n_training=len(data.training),
        n_validation=len(data.validation),
        n_test=len(test),
        n_test_split=len(whole),
        validation_accuracy=validation_accuracy,
        test_accuracy=test_accuracy,
        data_file=DATASETS[used.dataset].file,
        data_sha256=split.sha256,
        seconds=seconds,
        packages=PACKAGES,
    )
    pretrained = Base(named, sha256, module.config.model_type, module.num_parameters())
    n_stored = sum(tensor.numel() for tensor in from_bytes(weights).values())
    report = AdapterReport(used, pretrained, data.labels, n_stored, record)
    write_model(path, weights, {"config.json": configuration(report), "README.md": card(report)})
    checkpoint.path.unlink(missing_ok=True)
    shutil.rmtree(path / _STATES, ignore_errors=True)
    return Trained(path, validation_accuracy, test_accuracy, used.epochs, seconds)


@dataclasses.dataclass(frozen=True, slots=True)
class _Data:
    """The pretrained classifier, its tokenizer, and the training split: the part to train on and the rest."""

    module: Any
    reader: HuggingFace
    labels: list[str]
    training: Examples
    validation: Examples


def _prepare(split: Split, recipe: AdapterRecipe, folder: Path) -> _Data:
    labels = sorted(set(split.labels))
    module = classifier(folder, labels)
    reader = HuggingFace(module, tokenizer(folder), max_length=recipe.max_length, keep=recipe.keep)
    held_in, held_out = split_off(len(split), recipe.validation_share)
    training = _some(_encode(reader, split, held_in, labels), recipe.training_texts)
    check_padding(module.eval(), training.ids[0])
    return _Data(module, reader, labels, training, _encode(reader, split, held_out, labels))


def _encode(reader: HuggingFace, split: Split, rows: Ints | None, labels: Sequence[str]) -> Examples:
    """Return rows of a split (all by default) as the tokens that are explained later."""
    number = {label: index for index, label in enumerate(labels)}
    chosen = range(len(split)) if rows is None else rows.tolist()
    ids = tuple(reader.encode(split.texts[row]).ids for row in chosen)
    return Examples(ids, np.array([number.get(split.labels[row], -1) for row in chosen], dtype=np.int64))


def _fit(
    recipe: AdapterRecipe,
    data: _Data,
    base_sha256: str,
    seed: int,
    checkpoint: Checkpoint,
    progress: Callable[[Epoch], None],
) -> tuple[int, float]:
    training, chosen, seconds = data.training, data.validation.some(recipe.validation_texts), 0.0
    if recipe.frozen_layers:
        folder, n_layers = checkpoint.path.parent / _STATES, recipe.frozen_layers
        training = read_states(data.module, n_layers, training, folder / "training.f16", base_sha256)
        chosen = read_states(data.module, n_layers, chosen, folder / "validation.f16", base_sha256)
        seconds = training.seconds + chosen.seconds
        freeze(data.module, n_layers)
    attach(data.module, data.module.base_model_prefix, recipe.rank, recipe.scale)
    set_dropout(data.module, recipe.hidden_dropout)
    best_epoch, more = fit(recipe, data.module, training, chosen, seed, checkpoint, progress)
    return best_epoch, seconds + more


def _some(examples: Examples, n: int | None) -> Examples:
    return examples if n is None else examples.some(n)


def _named(base: str | os.PathLike[str]) -> str:
    """Return the name of a pretrained model in a configuration: a hub name, or the absolute path of a folder."""
    name = os.fspath(base)
    return os.fspath(Path(name).absolute()) if Path(name).is_dir() else name


def _key(recipe: AdapterRecipe, seed: int, base_sha256: str, data_sha256: str) -> str:
    """Return a line with everything that decides the weights: the recipe, the seed and two checksums."""
    fields = {name: value for name, value in dataclasses.asdict(recipe).items() if name not in _NO_EFFECT}
    return f"{fields} seed={seed} base={base_sha256} data={data_sha256}"

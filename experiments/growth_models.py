"""Train the models of `growth.py`: LSTMs of Reuters of several sizes and seeds, each kept after every epoch."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from growth_family import Family
from safetensors.torch import save_file

from mase.datasets import load, split_off
from mase.files import write_text
from mase.models import bundled
from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
from mase.models.bundled.vocabulary import Vocabulary
from mase.models.torch_module import TorchModule
from mase_paper.training.examples import Examples, encode, learned_vocabulary
from mase_paper.training.lstm import accuracy, fit, reproducible
from mase_paper.training.recipe import LSTM_REUTERS, Epoch, Recipe

__all__ = ["EPOCHS", "LSTMS", "MIDDLE"]

SIZES, SEEDS, EPOCHS = {32: "quarter", 128: "bundled size", 256: "twice"}, (0, 1), 6


@dataclass(frozen=True, slots=True)
class GrownLSTM:
    """One training: the width of the embedding and of the LSTM, and the seed."""

    size: int
    seed: int

    @property
    def name(self) -> str:
        """Name of the model and of its folder."""
        return f"width-{self.size}-seed-{self.seed}"

    @property
    def recipe(self) -> Recipe:
        """The recipe of the bundled model, with other widths and fewer epochs."""
        return replace(LSTM_REUTERS, embedding_width=self.size, hidden_width=self.size, epochs=EPOCHS)

    def trained(self, models: Path, data_dir: str) -> dict[str, Any]:
        """Return what the training came to; train first if the folder lacks it."""
        told = models / self.name / "training.json"
        if not told.is_file():
            write_text(told, json.dumps(self._train(models, data_dir), indent=2) + "\n")
        found: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
        return found

    def at(self, epoch: int, models: Path) -> TorchModule:
        """Return the model as it was after an epoch, from 1, with its weights rounded to float16."""
        return bundled.load(self.folder(epoch, models))

    def folder(self, epoch: int, models: Path) -> Path:
        """Return the folder of the model after an epoch."""
        return models / self.name / f"epoch-{epoch:02}"

    def _train(self, models: Path, data_dir: str) -> dict[str, Any]:
        recipe, split = self.recipe, load("reuters", "train", data_dir)
        labels = sorted(set(split.labels))
        held_in, held_out = (rows.tolist() for rows in split_off(len(split), recipe.validation_share))
        vocabulary = learned_vocabulary((split.texts[row] for row in held_in), recipe.vocabulary_size, recipe.min_count)

        def encoded(rows: list[int]) -> Examples:
            texts, names = [split.texts[row] for row in rows], [split.labels[row] for row in rows]
            return encode(texts, names, vocabulary, labels, recipe.max_length, recipe.keep)

        training, validation = encoded(held_in), encoded(held_out)
        epochs: list[dict[str, Any]] = []
        start, cpu = time.perf_counter(), time.process_time()
        with reproducible(self.seed):
            shape = LSTMShape(len(vocabulary), len(labels), self.size, self.size, recipe.pool)
            module = LSTMClassifier(shape, recipe.dropout, recipe.embedding_dropout)

            def keep(epoch: Epoch) -> None:
                epochs.append(asdict(epoch))
                self._write(module, epoch.number, vocabulary, labels, models)
                print(self.name, epoch, round(time.process_time() - cpu), "s", flush=True)  # noqa: T201

            _, best = fit(module, recipe, training, validation, self.seed, keep)
        seconds = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
        test = load("reuters", "test", data_dir)
        examples = encode(test.texts, test.labels, vocabulary, labels, recipe.max_length, recipe.keep)
        kept = self.at(best, models).module
        accuracies = {"validation_accuracy": accuracy(kept, validation), "test_accuracy": accuracy(kept, examples)}
        sizes = {
            "parameters": sum(one.numel() for one in module.parameters()),
            "n_training": len(training),
            "n_validation": len(validation),
            "n_test": len(examples),
        }
        return {"best_epoch": best, **accuracies, **sizes, **seconds, "epochs": epochs}

    def _write(
        self, module: LSTMClassifier, epoch: int, vocabulary: Vocabulary, labels: list[str], models: Path
    ) -> None:
        """Write a folder that `bundled.load` opens; the module itself keeps its weights."""
        folder, recipe = self.folder(epoch, models), self.recipe
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "vocabulary.txt", vocabulary.dumps())
        config = {
            "name": f"{self.name}-epoch-{epoch}", "labels": labels, "max_length": recipe.max_length,
            "keep": recipe.keep, "embedding_width": self.size, "hidden_width": self.size, "pool": recipe.pool,
        }  # fmt: skip
        write_text(folder / "config.json", json.dumps(config, indent=2) + "\n")
        state = {name: tensor.detach().to(torch.float16) for name, tensor in module.state_dict().items()}
        save_file(state, folder / "model.safetensors")


MIDDLE = GrownLSTM(128, 0)
LSTMS = Family("growth", tuple(GrownLSTM(width, seed) for seed in SEEDS for width in SIZES), SIZES, MIDDLE.size)

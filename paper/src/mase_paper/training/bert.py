"""Fine-tuning of an encoder with low-rank adapters: the loop, its checkpoints, and the choice of the epoch."""

import io
import math
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mase.arrays import Ints
from mase.errors import DataError, NonFiniteError
from mase.files import replacing, writing
from mase.models.bundled.bert import is_head
from mase_paper.training.bert_recipe import AdapterRecipe
from mase_paper.training.classify import logits
from mase_paper.training.examples import Examples, shuffled_batches, sorted_batches
from mase_paper.training.lora import trainable
from mase_paper.training.recipe import Epoch

__all__ = ["Checkpoint", "accuracy", "fit", "set_dropout"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The file with the state of a training, and a key that identifies the training (recipe, seed, base and data)."""

    path: Path
    key: str

    def read(self) -> dict[str, Any] | None:
        """Return the state, None if there is none."""
        if not self.path.is_file():
            return None
        try:
            state = torch.load(self.path, weights_only=True)
        except (OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
            raise DataError(f"cannot read the checkpoint {self.path} ({error}); remove it to start again") from error
        if not isinstance(state, dict) or state.get("key") != self.key:
            raise DataError(
                f"{self.path} is the checkpoint of another training, expected {self.key}; remove it to start again"
            )
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Write the state atomically."""
        buffer = io.BytesIO()  # torch.save raises its own error type for a full disk
        torch.save({**state, "key": self.key}, buffer)
        with writing(self.path), replacing(self.path) as draft:
            draft.write_bytes(buffer.getvalue())


def fit(
    recipe: AdapterRecipe,
    module: nn.Module,
    training: Examples,
    validation: Examples,
    seed: int,
    checkpoint: Checkpoint,
    progress: Callable[[Epoch], None],
) -> tuple[int, float]:
    """Train `module`, in place, and leave it with the weights of the best epoch.

    Returns
    -------
    tuple
        That epoch's number, from 1, and the seconds that training took, those before its last start included.
    """
    run = _Run.start(recipe, module, checkpoint)
    batches = [
        (number, shuffled_batches(training, recipe.batch_size, recipe.bucket, np.random.default_rng([seed, number])))
        for number in range(1, recipe.epochs + 1)
    ]
    steps = [(number, rows, index == len(epoch) - 1) for number, epoch in batches for index, rows in enumerate(epoch)]
    for step in range(run.step, len(steps)):
        number, rows, last = steps[step]
        run.loss += run.update(_rate(recipe, step, len(steps)), *_batch(training, rows))
        run.step += 1
        if last:
            epoch = run.close(number, len(batches[number - 1][1]), validation)
        if last or run.step % recipe.checkpoint_steps == 0:
            checkpoint.write(run.state())
        if last:
            progress(epoch)
    module.load_state_dict(run.best_state, strict=False)
    module.eval()
    return run.best_epoch, run.seconds


@dataclass(slots=True)
class _Run:
    """A training in progress."""

    recipe: AdapterRecipe
    module: nn.Module
    optimizer: torch.optim.AdamW
    best_state: dict[str, torch.Tensor]
    step: int = 0
    loss: float = 0.0
    best_epoch: int = 0
    best_accuracy: float = -1.0
    began: float = 0.0

    @classmethod
    def start(cls, recipe: AdapterRecipe, module: nn.Module, checkpoint: Checkpoint) -> "_Run":
        """Return a new training, or one that resumes at its checkpoint."""
        run = cls(recipe, module, _optimizer(recipe, module), {}, began=time.perf_counter())
        state = checkpoint.read()
        if state is not None:
            try:
                run._restore(state)
            except KeyError as error:
                raise DataError(f"the checkpoint {checkpoint.path} lacks {error}; remove it to start again") from error
        return run

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.module.load_state_dict(state["trained"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        self.best_state, self.step, self.loss = state["best_state"], state["step"], state["loss"]
        self.best_epoch, self.best_accuracy = state["best_epoch"], state["best_accuracy"]
        self.began -= state["seconds"]

    @property
    def seconds(self) -> float:
        """Seconds that training has taken so far, those before its last start included."""
        return time.perf_counter() - self.began

    def state(self) -> dict[str, Any]:
        """Return the state from which `start` resumes."""
        return {
            "trained": dict(trainable(self.module)),
            "optimizer": self.optimizer.state_dict(),
            "rng": torch.get_rng_state(),
            "best_state": self.best_state,
            "step": self.step,
            "loss": self.loss,
            "best_epoch": self.best_epoch,
            "best_accuracy": self.best_accuracy,
            "seconds": self.seconds,
        }

    def update(self, rate: float, ids: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> float:
        """Take one step, learning rates times `rate`, and return the loss before it."""
        self.module.train()
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["peak"]
        loss = nn.functional.cross_entropy(logits(self.module, ids, mask), labels)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(list(trainable(self.module).values()), self.recipe.clip_norm)
        self.optimizer.step()
        value = float(loss.detach())
        if not math.isfinite(value):  # before it enters the state
            raise NonFiniteError(
                f"the loss of step {self.step + 1} is {value}, expected a finite number; lower the learning rate of "
                "the recipe, or use another pretrained model"
            )
        return value

    def close(self, number: int, n_batches: int, validation: Examples) -> Epoch:
        """Return the results of an epoch, and keep its weights if they are the best so far."""
        loss, self.loss = self.loss / n_batches, 0.0
        epoch = Epoch(number, self.recipe.epochs, loss, accuracy(self.module, validation))
        if epoch.validation_accuracy > self.best_accuracy:
            self.best_epoch, self.best_accuracy = number, epoch.validation_accuracy
            self.best_state = {name: tensor.detach().clone() for name, tensor in trainable(self.module).items()}
        return epoch


def accuracy(module: nn.Module, examples: Examples) -> float:
    """Return the share of the texts that are classified correctly, in evaluation mode."""
    module.eval()
    with torch.inference_mode():
        right = 0
        for rows in sorted_batches(examples, 64):
            ids, mask, labels = _batch(examples, rows)
            right += int((logits(module, ids, mask).argmax(1) == labels).sum())
    return right / len(examples)


def set_dropout(module: nn.Module, hidden: float) -> None:
    """Set the dropout of hidden states and of the head, in place. Attention has no dropout, which would be slow."""
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0 if name.endswith((".self.dropout", ".attn.dropout")) else hidden


def _optimizer(recipe: AdapterRecipe, module: nn.Module) -> torch.optim.AdamW:
    body = str(module.base_model_prefix)
    head: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, parameter in trainable(module).items():
        (head if is_head(name, body) else rest).append(parameter)
    groups = [{"params": rest, "peak": recipe.learning_rate}, {"params": head, "peak": recipe.head_learning_rate}]
    return torch.optim.AdamW(groups, weight_decay=recipe.weight_decay)


def _rate(recipe: AdapterRecipe, step: int, n_steps: int) -> float:
    """Return the factor of the learning rates: up to 1 over the warmup, then down to 0."""
    n_warmup = max(1, int(recipe.warmup * n_steps))
    return (step + 1) / n_warmup if step < n_warmup else (n_steps - step) / max(1, n_steps - n_warmup)


def _batch(examples: Examples, rows: Ints) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids `(b, t)`, padded at the end, which of them are real `(b, t)`, and class numbers `(b,)`."""
    ids, labels = examples.batch(rows)
    lengths = torch.tensor([len(examples.ids[row]) for row in rows])
    return ids, torch.arange(ids.shape[1]) < lengths[:, None], labels

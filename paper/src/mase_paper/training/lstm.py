"""Training of a classifier that reads word ids: the loop, and the choice of the epoch on held-out texts."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from mase.errors import NonFiniteError
from mase.models.bundled.files import PAD_ID, UNKNOWN_ID
from mase.models.bundled.lstm import LSTMClassifier
from mase_paper.models.cnn import TextCNN
from mase_paper.training.examples import Examples, shuffled_batches, sorted_batches
from mase_paper.training.recipe import Epoch, Recipe

__all__ = ["accuracy", "fit", "reproducible", "stored"]
C = TypeVar("C", LSTMClassifier, TextCNN)


def fit(
    module: C,
    recipe: Recipe,
    training: Examples,
    validation: Examples,
    seed: int,
    progress: Callable[[Epoch], None],
) -> tuple[C, int]:
    """Train a new classifier; return it as of the epoch that is best on the validation part, and its number, from 1."""
    _draw_embedding(module, recipe.embedding_std)
    optimizer = torch.optim.Adam(module.parameters(), recipe.learning_rate)
    rng = np.random.default_rng(seed)
    best, best_state = Epoch(0, recipe.epochs, math.inf, -1.0), module.state_dict()
    for number in range(1, recipe.epochs + 1):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * (number - 1) / recipe.epochs))
        batches = shuffled_batches(training, recipe.batch_size, recipe.bucket, rng)
        loss = float(np.mean([_step(module, optimizer, recipe, *training.batch(rows)) for rows in batches]))
        if not math.isfinite(loss):
            raise NonFiniteError(
                f"the loss of epoch {number} is {loss}, expected a finite number; lower the learning rate"
            )
        epoch = Epoch(number, recipe.epochs, loss, accuracy(module, validation))
        progress(epoch)
        if epoch.validation_accuracy > best.validation_accuracy:
            best, best_state = epoch, {name: tensor.clone() for name, tensor in module.state_dict().items()}
    module.load_state_dict(best_state)
    return module.eval(), best.number


def _draw_embedding(module: LSTMClassifier | TextCNN, std: float) -> None:
    """Draw the embedding from a normal distribution of this standard deviation; the row of padding stays zero."""
    with torch.no_grad():
        nn.init.normal_(module.embedding.weight, std=std)
        module.embedding.weight[PAD_ID].zero_()


def _step(
    module: nn.Module, optimizer: torch.optim.Optimizer, recipe: Recipe, ids: torch.Tensor, labels: torch.Tensor
) -> float:
    """Take one step and return the loss before it."""
    module.train()
    dropped = (torch.rand(ids.shape) < recipe.word_dropout) & (ids != PAD_ID)
    loss = nn.functional.cross_entropy(module(ids.masked_fill(dropped, UNKNOWN_ID)), labels)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(module.parameters(), recipe.clip_norm)
    optimizer.step()
    return float(loss.detach())


def accuracy(module: nn.Module, examples: Examples) -> float:
    """Return the share of the texts that are classified correctly, in evaluation mode."""
    module.eval()
    with torch.inference_mode():
        batches = (examples.batch(rows) for rows in sorted_batches(examples))
        right = sum(int((module(ids).argmax(1) == labels).sum()) for ids, labels in batches)
    return right / len(examples)


def stored(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return the weights as they are stored, in float16, and round those of `module` to the same values."""
    state = {name: tensor.to(torch.float16) for name, tensor in module.state_dict().items()}
    module.load_state_dict(state)
    return state


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Run a block on one thread with a seeded torch generator, and restore both afterwards.

    With several threads the order of sums varies, and training amplifies the differences.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)

"""Training of the bundled models, from the data to the folder that ships. One recipe per model."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from mase.errors import MissingDependencyError
from mase.registry import Registry, unknown

if TYPE_CHECKING:
    from mase.training.recipe import Epoch, Trained

__all__ = ["RECIPES", "train"]

RECIPES = Registry(
    "recipe",
    {
        "lstm-imdb": "mase.training.recipe:LSTM_IMDB",
        "lstm-reuters": "mase.training.recipe:LSTM_REUTERS",
    },
)


def train(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
    epochs: int | None = None,
    progress: "Callable[[Epoch], None] | None" = None,
) -> "Trained":
    """Train a model by its recipe, write its folder, and return where it is and how well it does.

    One seed gives one result: training runs on one thread. The test split is read once, after training.

    Parameters
    ----------
    name
        ``"lstm-imdb"`` or ``"lstm-reuters"``.
    data_dir
        Folder of the data set's table; see `mase.datasets.load` for where it is looked for otherwise.
    output
        Folder to write `model.safetensors`, `vocabulary.txt`, `config.json` and `README.md` to; ``./NAME`` by default.
    seed
        Of the first weights, the order of the texts and dropout; at least 0.
    epochs
        Passes over the training part, if not the recipe's.
    progress
        Called with an `Epoch` after each pass.

    Raises
    ------
    UnknownNameError
        If there is no such recipe.
    DataError
        If the data set is missing or the folder cannot be written.
    OptionError
        If the seed or the number of epochs is out of range.
    NonFiniteError
        If the loss diverges.
    MissingDependencyError
        If torch, safetensors or pyarrow is not installed.
    """
    if name not in RECIPES:  # before torch is loaded
        raise unknown(RECIPES.kind, name, list(RECIPES))
    try:
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(f"{error.name} is not installed; run: pip install 'mase-xai[torch]'") from error
    from mase.training.run import run

    return run(RECIPES[name], data_dir, output, seed, epochs, progress)

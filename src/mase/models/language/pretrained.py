"""Read a language model of Hugging Face from its folder, or by its name, with its tokenizer."""

import os
from pathlib import Path
from typing import Any

import torch

from mase.errors import DataError
from mase.models.document import is_taken
from mase.models.language.kind import TASKS, architecture, language_kind
from mase.models.lora import read_adapted
from mase.models.pretrained import LanguageKind, is_adapter_folder, locate, read_language_model, read_tokenizer

__all__ = ["read_pretrained"]

_ADAPTERS = {"causal": "mase.models.CausalLM", "seq2seq": "mase.models.Seq2Seq"}


def read_pretrained(
    source: str | os.PathLike[str],
    kind: LanguageKind,
    tokenizer: Any = None,
    *,
    download: bool = False,
    trust_remote_code: bool = False,
) -> tuple[Any, Any]:
    """Return the module, in float32 and evaluation mode, and the tokenizer of a folder, or of a name of the hub.

    Parameters
    ----------
    source
        The folder of a model, or of a LoRA adapter, which is merged into its base model; or a name.
    kind
        The kind of language model that is expected.
    tokenizer
        A tokenizer in place of the one in the folder.
    download
        Whether a name that is not on this machine may be downloaded.
    trust_remote_code
        Whether the code of the model may run. If False, a model that needs it is refused.

    Raises
    ------
    DataError
        If there is no such model, it is one of another kind or was not trained, or its files cannot be read, are beyond
        the limits, or would run code.
    """
    name = os.fspath(source)
    try:
        folder = locate(source, download=download, trust_remote_code=trust_remote_code)
        # Keep the random state: missing weights are initialised at random before the model is refused.
        with torch.random.fork_rng(devices=[]):
            if is_adapter_folder(folder):
                module, missing, folder = read_adapted(
                    folder, TASKS[kind], lambda base, _: _read(base, kind), download=download
                )
            else:
                module, missing = _read(folder, kind, trust_remote_code=trust_remote_code)
        tokenizer = tokenizer or read_tokenizer(folder, trust_remote_code=trust_remote_code)
    except DataError as error:
        if is_taken(name):
            raise DataError(f"cannot load a language model from {name!r:.200}: {error}") from error
        remedy = "" if download else "; pass download=True (mase cite --download) to download it from the hub"
        raise DataError(
            f"no language model with safetensors weights at {name!r:.200} on this machine{remedy}: {error}"
        ) from error
    if missing:
        raise DataError(
            f"{name!r:.200} has no weights {', '.join(sorted(missing)[:4])}, expected a language model that was "
            f"trained: as a {type(module).__name__} its answers would be random"
        )
    return module.eval(), tokenizer


def _read(folder: Path, kind: LanguageKind, *, trust_remote_code: bool = False) -> tuple[Any, frozenset[str]]:
    """Return the model in a folder, after a check of its kind, and the names of the weights that the folder lacks."""
    _check_kind(folder, kind)
    return read_language_model(folder, kind, trust_remote_code=trust_remote_code)


def _check_kind(folder: Path, kind: LanguageKind) -> None:
    """Check that the configuration of a folder, if it names the class of its model, names one of this kind."""
    name, found = architecture(folder), language_kind(folder)
    if name is None or found == kind:
        return
    if found is not None:
        raise DataError(f"{folder} holds a {name}, expected one for {_ADAPTERS[kind]}; use {_ADAPTERS[found]}")
    raise DataError(
        f"{folder} holds a {name}, expected a language model, such as a LlamaForCausalLM or a "
        "T5ForConditionalGeneration; mase.explain (mase explain) explains classifiers"
    )

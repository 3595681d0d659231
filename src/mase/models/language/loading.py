"""Load language models by folder or name."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mase.errors import DataError, OptionError
from mase.lazy import require
from mase.models.bundled import ADAPTED, BUNDLED, named
from mase.models.document import is_folder
from mase.models.local_path import check_local_path

if TYPE_CHECKING:
    from mase.models.language.causal import CausalLM
    from mase.models.language.seq2seq import Seq2Seq
    from mase.models.pretrained import LanguageKind

__all__ = ["is_language_model", "load_language_model"]


def load_language_model(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
    name: str | None = None,
) -> "CausalLM | Seq2Seq":
    """Return a language model of Hugging Face, in float32: a `CausalLM` or a `Seq2Seq`, as its configuration says.

    A folder whose configuration names no class of model is taken for a causal language model.

    Parameters
    ----------
    name_or_path
        A folder, or a name in the local cache of the hub. A `Path` is always a folder.
    download
        Whether a name that is not on this machine may be downloaded. Only safetensors weights are loaded.
    device
        Where to put the model, for example ``"cuda"``; the CPU by default.
    trust_remote_code
        Whether the code of the model may run. If False, a model that needs it is refused.
    name
        Name for provenance; the folder or name by default.

    Raises
    ------
    OptionError
        If it is a classifier of this library, or there is no such device.
    DataError
        If there is no such model, it is no language model or was not trained, or its files cannot be read, are beyond
        the limits, or would run code.
    MissingDependencyError
        If torch or transformers is not installed.
    """
    check_local_path(name_or_path)
    _check_foreign(name_or_path)
    _require()
    from mase.models.devices import moved
    from mase.models.language.pretrained import read_pretrained
    from mase.models.origin import Loaded, absolute

    kind = _kind(name_or_path, download=download) or "causal"
    module, tokenizer = read_pretrained(name_or_path, kind, download=download, trust_remote_code=trust_remote_code)
    module = moved(module, device)
    model = _adapter(kind)(module, tokenizer, name=name or os.fspath(name_or_path))
    arguments = {"name_or_path": absolute(name_or_path), "download": download, "trust_remote_code": trust_remote_code}
    model.origin = Loaded(load_language_model, arguments | {"name": model.name}, model.checksum.versions())
    return model


def _check_foreign(name_or_path: str | os.PathLike[str]) -> None:
    """Check that a name or folder is not one of a classifier that this library trains."""
    vocabulary = Path(name_or_path) / "vocabulary.txt"
    if named(name_or_path, (*BUNDLED, *ADAPTED)) or (is_folder(vocabulary.parent) and vocabulary.is_file()):
        raise OptionError(
            f"model is {os.fspath(name_or_path)!r:.200}, which is a classifier, expected a language model; "
            "mase.explain (mase explain) explains classifiers"
        )


def _adapter(kind: "LanguageKind") -> "type[CausalLM | Seq2Seq]":
    """Return the class of a kind of language models."""
    if kind == "seq2seq":
        from mase.models.language.seq2seq import Seq2Seq

        return Seq2Seq
    from mase.models.language.causal import CausalLM

    return CausalLM


def is_language_model(name_or_path: str | os.PathLike[str], *, download: bool = False) -> bool:
    """Return whether the configuration of a folder, or of a name of the hub, names the class of a language model."""
    _require()
    return _kind(name_or_path, download=download) is not None


def _kind(name_or_path: str | os.PathLike[str], *, download: bool) -> "LanguageKind | None":
    """Return the kind that a configuration names; None if there is none, which is reported when the model is read."""
    from mase.models.language.kind import language_kind
    from mase.models.pretrained import locate

    with suppress(DataError):
        return language_kind(locate(name_or_path, download=download))
    return None


def _require() -> None:
    require("torch", "hf")
    require("transformers", "hf")

"""Which kind of language model a folder holds, by the class that its configuration names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers.models.auto import modeling_auto

from mase.models.document import read_json
from mase.models.lora import Task
from mase.models.pretrained import ADAPTER, LanguageKind, is_adapter_folder

__all__ = ["TASKS", "architecture", "language_kind"]

# What an adapter is for, as peft calls it.
TASKS: Mapping[LanguageKind, Task] = {"causal": "CAUSAL_LM", "seq2seq": "SEQ_2_SEQ_LM"}


def architecture(folder: Path) -> str | None:
    """Return the class of the model that the configuration of a folder names; None if it names none.

    Raises
    ------
    DataError
        If the configuration cannot be read.
    """
    named = _object(folder / "config.json").get("architectures")
    return str(named[0]) if isinstance(named, list) and named else None


def language_kind(folder: Path) -> LanguageKind | None:
    """Return the kind of language model in a folder, or the kind for which it holds an adapter.

    None for a model of another kind, or one that is not named.

    Raises
    ------
    DataError
        If the configuration cannot be read.
    """
    if is_adapter_folder(folder):
        task = _object(folder / ADAPTER).get("task_type")
        return next((kind for kind, name in TASKS.items() if name == task), None)
    name = architecture(folder)
    if name in _classes(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES):
        return "seq2seq"
    is_causal = name in _classes(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    return "causal" if is_causal or str(name).endswith("ForCausalLM") else None


def _object(path: Path) -> Mapping[str, Any]:
    """Return a configuration; an empty one where there is none, or none that could name a class or a task."""
    config = read_json(path) if path.is_file() else {}
    return config if isinstance(config, dict) else {}


def _classes(by_family: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the classes of a table of transformers, which has one or several for each family."""
    return frozenset(name for names in by_family.values() for name in ([names] if isinstance(names, str) else names))

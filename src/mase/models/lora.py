"""LoRA adapters of users' own models, by peft: an object as it is, a folder put into its base model. No code of it is run."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mase.errors import CapabilityError, DataError, MissingDependencyError
from mase.models.document import read_json
from mase.models.pretrained import locate, read_classifier
from mase.models.sizes import check_numbers, whole_number
from mase.models.weights import tensors

__all__ = ["is_adapter_folder", "is_peft", "read_adapted", "with_adapters"]

_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_HIGHEST_RANK = 4096
# What decides the weights, and what says how they were trained. Anything else must be what peft has by default: it may
# name code to import, or patterns that never end.
_DECIDES = (
    "r", "lora_alpha", "target_modules", "modules_to_save", "bias", "fan_in_fan_out", "use_rslora", "use_dora",
    "layers_to_transform",
)  # fmt: skip
_TELLS = (
    "base_model_name_or_path", "revision", "peft_type", "peft_version", "task_type", "inference_mode", "lora_dropout",
    "init_lora_weights", "megatron_core",
)  # fmt: skip


def is_peft(module: object) -> bool:
    """Return whether a module is a model with adapters of peft; peft is not imported for it."""
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(module, peft.PeftModel)


def with_adapters(module: Any) -> Any:
    """Return the transformers model inside a model of peft, whose layers are the adapted ones.

    Raises
    ------
    CapabilityError
        If its adapters are no layers but words before the text (prompt tuning): the model inside does not read them.
    """
    if any(config.is_prompt_learning for config in module.peft_config.values()):
        raise CapabilityError(
            f"{type(module).__name__} puts learned words before the text, expected adapters of layers (LoRA); "
            "wrap the model in mase.models.Callable"
        )
    return module.get_base_model()


def is_adapter_folder(folder: Path) -> bool:
    """Return whether a folder holds an adapter and no model."""
    return (folder / _CONFIG).is_file() and not (folder / "config.json").exists()


def read_adapted(folder: Path, *, download: bool = False) -> tuple[Any, frozenset[str], Path]:
    """Return a base model with the adapter of a folder merged into it, the weights that both lack, and the base's folder.

    Parameters
    ----------
    folder
        What `PeftModel.save_pretrained` writes for LoRA on a sequence classifier.
    download
        Whether the base model may be fetched if it is not on this machine.

    Raises
    ------
    DataError
        If the adapter or its base cannot be read, is beyond the limits, or is of another kind.
    MissingDependencyError
        If peft is not installed.
    """
    try:
        import peft
    except ImportError as error:
        raise MissingDependencyError("peft is not installed; run: pip install 'mase-xai[peft]'") from error
    config = _checked_config(folder / _CONFIG, peft.LoraConfig().to_dict())
    shapes = tensors(folder / _WEIGHTS)
    base = locate(str(config["base_model_name_or_path"]), download=download)
    module, missing = read_classifier(base, settings=_n_labels(shapes, config))
    lora = peft.LoraConfig(task_type="SEQ_CLS", **{name: config[name] for name in _DECIDES if name in config})
    try:
        adapted = peft.PeftModel.from_pretrained(module, str(folder), config=lora, autocast_adapter_dtype=False)
        merged = adapted.merge_and_unload()
    except (ValueError, RuntimeError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"the adapter in {folder} does not fit {base}: {error}") from error
    brought = {name.removeprefix("base_model.model.") for name in shapes}
    return merged, missing - brought, base


def _checked_config(path: Path, default: Mapping[str, Any]) -> dict[str, Any]:
    config = read_json(path)
    if not isinstance(config, dict):
        raise DataError(f"{path} does not describe an adapter, expected an object")
    if config.get("peft_type") != "LORA" or config.get("task_type") != "SEQ_CLS":
        raise DataError(
            f"{path} has peft_type {config.get('peft_type')!r:.40} and task_type {config.get('task_type')!r:.40}, expected "
            "'LORA' and 'SEQ_CLS'; load the model with peft, and pass it and its tokenizer"
        )
    known = (*_DECIDES, *_TELLS)
    strange = next(
        (name for name, value in config.items() if name not in known and value and value != default.get(name)), None
    )
    if strange is not None:
        raise DataError(
            f"{path} has {strange} {config[strange]!r:.60}, expected none; load the model with peft, and pass it and its "
            "tokenizer"
        )
    check_numbers(path, config)
    whole_number(path, "r", config.get("r", default["r"]), 1, _HIGHEST_RANK)
    for name in ("target_modules", "modules_to_save"):
        _check_names(path, name, config.get(name))
    if not isinstance(config.get("base_model_name_or_path"), str):
        raise DataError(f"{path} has no base_model_name_or_path, expected the folder or the name of the base model")
    return config


def _check_names(path: Path, name: str, value: object) -> None:
    """Check that layers are listed by their names: a string would be a pattern, which may take for ever."""
    named = isinstance(value, list) and all(isinstance(one, str) for one in value)
    if value is not None and value != "all-linear" and not named:
        raise DataError(f"{path} has {name} {value!r:.60}, expected a list of names of layers")


def _n_labels(shapes: Mapping[str, tuple[int, ...]], config: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of classes of an adapter that brings a head: that of the rows of its last layer, the smallest."""
    heads = [f".{name}." for name in config.get("modules_to_save") or ()]
    rows = [shape[0] for name, shape in shapes.items() if len(shape) == 2 and any(head in name for head in heads)]
    return {"num_labels": min(rows)} if rows else {}

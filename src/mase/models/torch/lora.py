"""LoRA adapters of users' models, by peft.

A model object of peft is used as it is. An adapter folder is merged into its base model, and none of its code is run.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from mase.errors import CapabilityError, DataError, MissingDependencyError
from mase.models.folder import ADAPTER, ADAPTER_WEIGHTS, locate
from mase.models.limits import check_numbers, read_json, whole_number
from mase.models.torch.weights import tensors

Task = Literal["SEQ_CLS", "CAUSAL_LM", "SEQ_2_SEQ_LM"]
ReadBase = Callable[[Path, Mapping[str, int]], tuple[Any, frozenset[str]]]
_TOKENIZER = "tokenizer_config.json"
_HIGHEST_RANK = 4096
# Settings that determine the weights, and settings that only describe the training. Any other setting must have peft's
# default, because it may name code to import, or a pattern that takes forever to match.
_WEIGHT_SETTINGS = (
    "r", "lora_alpha", "target_modules", "modules_to_save", "bias", "fan_in_fan_out", "use_rslora", "use_dora",
    "layers_to_transform",
)  # fmt: skip
_TRAINING_SETTINGS = (
    "base_model_name_or_path", "revision", "peft_type", "peft_version", "task_type", "inference_mode", "lora_dropout",
    "init_lora_weights", "megatron_core",
)  # fmt: skip


def is_peft(module: object) -> bool:
    """Return whether a module is a peft model, without importing peft."""
    peft = sys.modules.get("peft")
    return peft is not None and isinstance(module, peft.PeftModel)


def with_adapters(module: Any) -> Any:
    """Return the transformers model inside a peft model, with the adapted layers."""
    if any(config.is_prompt_learning for config in module.peft_config.values()):
        raise CapabilityError(
            f"{type(module).__name__} has learned tokens before the text, expected adapters of layers (LoRA); "
            "wrap the model in mase.models.Callable"
        )
    return module.get_base_model()


def read_adapted(
    folder: Path, task: Task, read: ReadBase, *, download: bool = False
) -> tuple[Any, frozenset[str], Path]:
    """Return a base model with a merged adapter, the names of weights that both lack, and the folder of the tokenizer.

    That is the folder of the adapter if it has a tokenizer, and else that of the base model.

    Parameters
    ----------
    folder
        A folder that `PeftModel.save_pretrained` wrote for LoRA.
    task
        What the model is for, as peft calls it.
    read
        A function that reads the base model. It takes its folder, and the number of classes of a classifier with a new
        head, as an argument of `from_pretrained`. It returns the model, and the names of the weights that are missing.
    download
        Whether the base model may be downloaded if it is not on this machine.
    """
    try:
        import peft
    except ImportError as error:
        raise MissingDependencyError("peft is not installed; run: pip install 'mase-xai[peft]'") from error
    config = _checked_config(folder / ADAPTER, task, peft.LoraConfig().to_dict())
    shapes = tensors(folder / ADAPTER_WEIGHTS)
    base = locate(str(config["base_model_name_or_path"]), download=download)
    module, missing = read(base, _n_labels(shapes, config))
    lora = peft.LoraConfig(task_type=task, **{name: config[name] for name in _WEIGHT_SETTINGS if name in config})
    try:
        adapted = peft.PeftModel.from_pretrained(module, str(folder), config=lora, autocast_adapter_dtype=False)
        merged = adapted.merge_and_unload()
    except (ValueError, RuntimeError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"the adapter in {folder} does not fit {base}: {error}") from error
    stored = {name.removeprefix("base_model.model.") for name in shapes}
    return merged, missing - stored, folder if (folder / _TOKENIZER).is_file() else base


def _checked_config(path: Path, task: Task, default: Mapping[str, Any]) -> dict[str, Any]:
    config = read_json(path)
    if not isinstance(config, dict):
        raise DataError(f"{path} does not describe an adapter, expected an object")
    method, result = config.get("peft_type"), config.get("task_type")
    if method != "LORA" or result != task:
        is_classifier = result == "SEQ_CLS" != task
        raise DataError(
            f"{path} has peft_type {method!r:.40} and task_type {result!r:.40}, expected 'LORA' and {task!r}; "
            + (
                "mase.explain (mase explain) explains classifiers"
                if is_classifier
                else "load the model with peft, and pass it and its tokenizer"
            )
        )
    known = (*_WEIGHT_SETTINGS, *_TRAINING_SETTINGS)
    unexpected = next(
        (name for name, value in config.items() if name not in known and value and value != default.get(name)), None
    )
    if unexpected is not None:
        raise DataError(
            f"{path} has {unexpected} {config[unexpected]!r:.60}, expected peft's default; load the model with peft, "
            "and pass it and its tokenizer"
        )
    check_numbers(path, config)
    whole_number(path, "r", config.get("r", default["r"]), 1, _HIGHEST_RANK)
    for name in ("target_modules", "modules_to_save"):
        _check_names(path, name, config.get(name))
    if not isinstance(config.get("base_model_name_or_path"), str):
        raise DataError(f"{path} has no base_model_name_or_path, expected the folder or the name of the base model")
    return config


def _check_names(path: Path, name: str, value: object) -> None:
    """Check that layers are given as a list of names; a string would be a pattern, which may take forever to match."""
    listed = isinstance(value, list) and all(isinstance(layer, str) for layer in value)
    if value is not None and value != "all-linear" and not listed:
        raise DataError(f"{path} has {name} {value!r:.60}, expected a list of names of layers")


def _n_labels(shapes: Mapping[str, tuple[int, ...]], config: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of classes of an adapter with a head: the rows of its last layer, which has the fewest."""
    heads = [f".{name}." for name in config.get("modules_to_save") or ()]
    rows = [shape[0] for name, shape in shapes.items() if len(shape) == 2 and any(head in name for head in heads)]
    return {"num_labels": min(rows)} if rows else {}

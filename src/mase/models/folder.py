"""Open the folder of a model, or one of the hub: safetensors only, no code, and within limits of size.

The code of a folder is not run unless the user trusts it. This is the only module that calls `from_pretrained`, and it
never lets transformers ask a question on standard input.
"""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mase.errors import DataError, MaseError
from mase.models import limits
from mase.models.description import PROBLEMS
from mase.models.limits import check_numbers, is_folder, is_taken, read_json
from mase.models.locks import alone
from mase.models.tokenizer_files import (
    SAMPLE,
    STEPS,
    check_built,
    check_pipeline,
    check_tokenizer_config,
    check_tokenizer_files,
)

if TYPE_CHECKING:
    from mase.models.torch.weights import Stored

# Implementations of attention and experts that are built into transformers. Any other name, such as "owner/name", may
# be fetched from the hub and run.
_BUILT_IN = (None, True, False, "eager", "sdpa", "flex_attention", "grouped_mm", "batched_mm")
_IMPLEMENTATION = re.compile(r"_?(attn|experts)_implementation(_internal|_autoset)?")

# Keys that name the function or the package with which the weights are run.
_QUANTIZED = ("quantization_config", "compression_config")

# Keys that make transformers read files that are not checked here, or replace their content.
_DETOURS = (
    "configuration_files", "fast_tokenizer_files", "transformers_weights", "gguf_file", "tokenizer_object", "vocab",
    "merges", "kernel_config", "distributed_config", "fusion_config",
)  # fmt: skip

_DTYPE = re.compile(r"(torch\.)?(auto|half|float|double|b?float\d+(_\w+)?|u?int\d+)")
_DISTRIBUTED = re.compile(r"shard-\d+-model-\d+-of-\d+\.safetensors")


def refused(path: Path, what: str) -> DataError:
    """Return the error, with its remedy, for a folder that would run code."""
    return DataError(
        f"{path} {what}, expected a model that is part of transformers: other code runs with all of your rights; read "
        "it, then load the model yourself and pass the module and its tokenizer, or pass trust_remote_code=True "
        "(mase explain --trust-remote-code)"
    )


def check_no_code(path: Path, config: dict[str, Any]) -> None:
    """Check that a `config.json` or `tokenizer_config.json` needs only the code of transformers, at any level."""
    for name, value in _entries(config):
        if name == "auto_map" and value:
            raise refused(path, f"names code of its own under 'auto_map' ({value!r:.80})")
        if name in _QUANTIZED and value is not None:
            raise refused(path, f"has a {name}, so that the weights need the code of another package")
        if _IMPLEMENTATION.fullmatch(name):
            implementations = value.values() if isinstance(value, dict) else [value]
            unknown = next((name for name in implementations if name not in _BUILT_IN), None)
            if unknown is not None:
                raise refused(path, f"has {name} {unknown!r:.60}, which may be fetched and run")


def check_no_detours(path: Path, config: dict[str, Any]) -> None:
    """Check that a configuration does not refer to unchecked files, and that its data types are names of
    number types.
    """
    for name, value in _entries(config):
        if name in _DETOURS and value is not None:
            raise DataError(f"{path} has {name} {value!r:.60}, expected none: only standard model files are read")
        if name in ("dtype", "torch_dtype") and isinstance(value, str) and not _DTYPE.fullmatch(value):
            raise DataError(f"{path} has {name} {value!r:.60}, expected the name of a number type such as 'float32'")


def check_complete(folder: Path) -> None:
    """Check that a folder holds a complete model."""
    if (folder / "adapter_config.json").exists():
        raise DataError(
            f"{folder} has an adapter_config.json, expected a complete model: load base and adapter with peft, then "
            "pass the module and its tokenizer, or save the result of merge_and_unload()"
        )
    shard = next((path.name for path in folder.iterdir() if _DISTRIBUTED.fullmatch(path.name)), None)
    if shard is not None:
        raise DataError(
            f"{folder} has {shard}, expected model.safetensors, or its parts and model.safetensors.index.json"
        )


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all objects inside a value, at any level."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _entries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner)


_BYTES = 4  # bytes per number: all weights are loaded as float32


@contextmanager
def metered(stored: "Stored", place: str) -> Iterator[None]:
    """Build the modules of the block on the meta device, and stop when they are too large for the stored weights."""
    import torch
    from torch import nn
    from torch.nn.modules import module as hooks

    most_numbers = limits.NUMBERS_TIMES * stored.n_numbers + limits.NUMBERS_SPARE
    most_modules = limits.MODULES_TIMES * stored.n_tensors + limits.MODULES_SPARE
    here, seen, count = threading.get_ident(), {}, [0, 0]

    def add(index: int, amount: float, most: int, what: str) -> None:
        count[index] += int(amount)
        if count[index] > most:
            raise DataError(
                f"{place} describes a model of more than {most:,} {what}, expected one that fits the stored weights: "
                f"{stored.n_tensors:,} tensors with {stored.n_numbers:,} numbers"
            )

    def tensor(_module: nn.Module, _name: str, value: torch.Tensor | None) -> None:
        if value is not None and threading.get_ident() == here and id(value) not in seen:
            seen[id(value)] = value  # a reference keeps the tensor alive, so that its id stays unique
            size = 1 if isinstance(value, nn.Parameter) else value.element_size() / _BYTES
            add(0, value.nelement() * size, most_numbers, "numbers")

    def child(_module: nn.Module, _name: str, _value: Any) -> None:
        if threading.get_ident() == here:
            add(1, 1, most_modules, "modules")

    handles = [
        hooks.register_module_parameter_registration_hook(tensor),
        hooks.register_module_buffer_registration_hook(tensor),
        hooks.register_module_module_registration_hook(child),
    ]
    try:
        with torch.device("meta"):
            yield
    finally:
        for handle in handles:
            handle.remove()


# A language model that continues its prompt, or one that reads the prompt with an encoder of its own.
LanguageKind = Literal["causal", "seq2seq"]

# The configuration and the weights of an adapter of peft.
ADAPTER, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

# Files at the top level of a repository that are downloaded. No other file is read.
_SMALL, _CODE = ("*.json", "*.txt", "*.model", "*.jinja"), ("*.py",)
_BELOW = "*/*"


def locate(source: str | os.PathLike[str], *, download: bool = False, trust_remote_code: bool = False) -> Path:
    """Return the folder of a model: `source` itself, or the folder of a name in the local cache of the hub.

    Parameters
    ----------
    source
        A folder, or the name of a repository on the hub.
    download
        Whether a name may be downloaded: first the small files, then the weights. The configuration of a model is
        checked before; that of an adapter when it is read.
    trust_remote_code
        Whether the code of the repository is downloaded too.
    """
    from mase.models.torch.weights import weight_files

    name = os.fspath(source)
    if is_folder(Path(source)):
        return Path(source)
    if is_taken(name):
        raise DataError(f"{name!r} is a file, expected the folder of a model, or a name on the Hugging Face hub")
    small = (*_SMALL, *(_CODE if trust_remote_code else ()))
    try:
        with _reading(f"cannot find {name!r:.200} in the cache of the Hugging Face hub"):
            folder = _snapshot(name, small, download=download)
    except DataError as error:
        if download or "local_files_only" not in str(error):
            raise
        # The hub's own words name an option of its functions.
        raise DataError(f"it is not in the cache of the Hugging Face hub: {name!r:.200}") from error
    if download:
        weights: tuple[str, ...] = (ADAPTER_WEIGHTS,)
        if not is_adapter_folder(folder):
            _check_configuration(folder, trust_remote_code=trust_remote_code)
            weights = weight_files(folder)
        with _reading(f"cannot download the weights of {name!r} from the Hugging Face hub"):
            folder = _snapshot(name, (*small, *weights), download=True)
    return folder


def is_adapter_folder(folder: Path) -> bool:
    """Return whether a folder holds an adapter without a model."""
    return (folder / ADAPTER).is_file() and not (folder / "config.json").exists()


def read_classifier(
    folder: Path, *, trust_remote_code: bool = False, settings: Mapping[str, Any] | None = None
) -> tuple[Any, frozenset[str]]:
    """Return the sequence classifier in a folder, in float32, and the names of the weights that the folder lacks.

    Parameters
    ----------
    folder
        A folder with `config.json` and safetensors weights.
    trust_remote_code
        Whether the code in the folder may run.
    settings
        Further arguments of `from_pretrained`.
    """
    auto, what = "AutoModelForSequenceClassification", "a sequence classifier"
    return _read(folder, auto, what, settings or {}, trust_remote_code=trust_remote_code)


def read_language_model(
    folder: Path, kind: LanguageKind, *, trust_remote_code: bool = False
) -> tuple[Any, frozenset[str]]:
    """Return the language model in a folder, in float32, and the names of the weights that the folder lacks.

    Weights that the model shares with others, as a head does with the word vectors, are not lacking.
    """
    auto = "AutoModelForCausalLM" if kind == "causal" else "AutoModelForSeq2SeqLM"
    return _read(folder, auto, "a language model", {}, trust_remote_code=trust_remote_code)


def _read(
    folder: Path, auto: str, what: str, settings: Mapping[str, Any], *, trust_remote_code: bool
) -> tuple[Any, frozenset[str]]:
    """Return the model in a folder that a class of transformers builds, and the names of the weights that it lacks."""
    import torch
    import transformers

    from mase.models.torch.weights import stored

    _check_configuration(folder, trust_remote_code=trust_remote_code)
    sizes = stored(folder)
    builder = getattr(transformers, auto)
    shared = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    with _reading(f"cannot load {what} from {folder}"):
        if not trust_remote_code:
            labels = {name: value for name, value in settings.items() if name in ("id2label", "label2id", "num_labels")}
            config = transformers.AutoConfig.from_pretrained(folder, **shared, **labels)
            with metered(sizes, str(folder / "config.json")), torch.random.fork_rng(devices=[]):
                builder.from_config(config, trust_remote_code=False)
        with _without_bar():
            module, info = builder.from_pretrained(
                folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **shared, **settings
            )
    return module, frozenset(info["missing_keys"])


def read_tokenizer(source: str | os.PathLike[str], *, trust_remote_code: bool = False) -> Any:
    """Return the tokenizer of a folder of a model or an adapter, or of a name in the local cache of the hub."""
    import transformers

    folder = locate(source)
    if not is_adapter_folder(folder):
        _check_configuration(folder, trust_remote_code=trust_remote_code)
    _check_tokenizer(folder, trust_remote_code=trust_remote_code)
    with _reading(f"cannot load a tokenizer from {os.fspath(source)!r}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust_remote_code
        )
    files = {*getattr(tokenizer, "vocab_files_names", {}).values(), "tokenizer.json", "tokenizer.model"}
    if not any((folder / file).is_file() for file in files):
        raise DataError(
            f"{os.fspath(source)!r} has no tokenizer, expected one of {', '.join(sorted(files))}; save it in the "
            "folder of the model with tokenizer.save_pretrained"
        )
    if getattr(tokenizer, "is_fast", False):
        _check_built(folder, tokenizer)
    return tokenizer


@contextmanager
def whole_text(tokenizer: Any) -> Iterator[None]:
    """Disable the padding and truncation of a saved tokenizer in the block, and restore them afterwards."""
    backend = tokenizer.backend_tokenizer
    with alone(tokenizer), ExitStack() as stack:  # several models may share it
        if backend.truncation is not None:
            stack.callback(backend.enable_truncation, **backend.truncation)
        if backend.padding is not None:
            stack.callback(backend.enable_padding, **backend.padding)
        backend.no_truncation()
        backend.no_padding()
        yield


@contextmanager
def _reading(message: str) -> Iterator[None]:
    """Convert all errors of the block to DataError, except out of memory and interrupts.

    For damaged files transformers and tokenizers may raise any type. A panic of tokenizers is not even an `Exception`.
    """
    try:
        yield
    except (MaseError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = (
            str(error) if isinstance(error, OSError | ValueError | RuntimeError) else f"{type(error).__name__}: {error}"
        )
        raise DataError(f"{message}: {reason}; expected files as save_pretrained writes them") from error


@contextmanager
def _without_bar() -> Iterator[None]:
    """Hide the bar of transformers over the weights, which it also shows where standard error is a file."""
    import transformers

    log = transformers.utils.logging
    shown = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            log.enable_progress_bar()


def _snapshot(name: str, files: tuple[str, ...], *, download: bool) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(name, local_files_only=not download, allow_patterns=list(files), ignore_patterns=[_BELOW])
    )


def _check_configuration(folder: Path, *, trust_remote_code: bool) -> None:
    """Check a folder's `config.json` before transformers reads it."""
    import transformers

    path = folder / "config.json"
    if not path.is_file():
        raise DataError(f"{folder} has no config.json, expected the folder of a Hugging Face model")
    config = read_json(path)
    if not isinstance(config, dict):
        raise DataError(f"{path} does not describe a model, expected a JSON object")
    if config.get("problem_type") not in PROBLEMS:
        raise DataError(f"{path} has the problem_type {config['problem_type']!r:.60}, expected one of {PROBLEMS[1:]}")
    check_numbers(path, config)
    check_complete(folder)
    check_no_detours(path, config)
    if trust_remote_code:
        return
    check_no_code(path, config)
    family = config.get("model_type")
    if not isinstance(family, str) or family not in transformers.CONFIG_MAPPING:
        raise refused(
            path, f"has the model_type {family!r:.60}, which is unknown to transformers {transformers.__version__}"
        )
    _check_class(folder, path, config)


def _check_tokenizer(folder: Path, *, trust_remote_code: bool) -> None:
    """Check the files of a folder's tokenizer before transformers reads them."""
    path = folder / "tokenizer_config.json"
    if path.is_file():
        config = read_json(path)
        if not isinstance(config, dict):
            raise DataError(f"{path} does not describe a tokenizer, expected a JSON object")
        check_no_detours(path, config)
        check_tokenizer_config(path, config)
        if not trust_remote_code:
            check_no_code(path, config)
            _check_class(folder, path, config)
    check_tokenizer_files(folder)


def _check_class(folder: Path, path: Path, config: Mapping[str, Any]) -> None:
    """Check that the tokenizer class is a fast one of transformers, or that the folder has no code for it."""
    import transformers
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    name = config.get("tokenizer_class")
    if name is None:
        return
    if not isinstance(name, str) or not name.isidentifier():
        raise DataError(f"{path} has the tokenizer_class {name!r:.60}, expected the name of a class")
    with _reading(f"{path} has the tokenizer_class {name!r:.60}, which cannot be loaded"):
        cls = tokenizer_class_from_name(name)
    if cls is None and any(folder.glob("*.py")):
        raise refused(path, f"has the tokenizer_class {name!r:.60}, which is unknown to transformers")
    if cls is not None and not (isinstance(cls, type) and issubclass(cls, transformers.PreTrainedTokenizerFast)):
        raise DataError(
            f"{path} has the tokenizer_class {name!r:.60}, which gives no character spans, expected a fast tokenizer; "
            "wrap the model in mase.models.Callable"
        )


def _check_built(folder: Path, tokenizer: Any) -> None:
    """Check a tokenizer after it was built: its steps, and the number of tokens of a short text."""
    backend = tokenizer.backend_tokenizer
    with _reading(f"cannot use the tokenizer of {folder}"):
        steps = {
            name: json.loads(part.__getstate__()) for name in STEPS if (part := getattr(backend, name)) is not None
        }
        check_pipeline(folder, steps)
        with whole_text(tokenizer):
            n_tokens = len(backend.encode(SAMPLE).ids)
    check_built(folder, n_tokens)

"""Folders and names of the Hugging Face hub: found, checked, and only then loaded. No code that comes with them is run.

This is the one place that calls `from_pretrained`. What transformers would ask on standard input is never asked.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

from mase.errors import DataError, MaseError
from mase.models import limits
from mase.models.code import check_no_code, check_no_detours, refused
from mase.models.document import is_folder, is_taken, read_json
from mase.models.meter import metered
from mase.models.sizes import check_numbers
from mase.models.tokenizer_file import STEPS, check_pipeline, check_tokenizer_config, check_tokenizer_files
from mase.models.weights import stored, weight_files

__all__ = ["locate", "read_classifier", "read_tokenizer", "whole_text"]

# Files at the top of a repository that are fetched; what is not among them is not read.
_SMALL, _CODE = ("*.json", "*.txt", "*.model", "*.jinja"), ("*.py",)
_BELOW = "*/*"
_PROBLEMS = (None, "regression", "single_label_classification", "multi_label_classification")
_SAMPLE = "It's a good film, isn't it? Çà, 電影 12345 --\n  the\tend"


def locate(source: str | os.PathLike[str], *, download: bool = False, trust_remote_code: bool = False) -> Path:
    """Return the folder of a model: the one that is named, or that of a name in the local cache of the hub.

    Parameters
    ----------
    source
        A folder, or the name of a repository on the hub.
    download
        Whether a name may be fetched: first the small files, which are checked, then the weights.
    trust_remote_code
        Whether code of the repository is fetched too.

    Raises
    ------
    DataError
        If there is no such folder, or the name is not in the cache or cannot be fetched.
    """
    name = os.fspath(source)
    if is_folder(Path(source)):
        return Path(source)
    if is_taken(name):
        raise DataError(f"{name!r} is a file, expected the folder of a model, or a name of the Hugging Face hub")
    small = (*_SMALL, *(_CODE if trust_remote_code else ()))
    with _reading(f"cannot find {name!r:.200} in the cache of the Hugging Face hub"):
        folder = _snapshot(name, small, download=download)
    if download:
        _check_configuration(folder, trust_remote_code=trust_remote_code)
        with _reading(f"cannot fetch the weights of {name!r} from the Hugging Face hub"):
            folder = _snapshot(name, (*small, *weight_files(folder)), download=True)
    return folder


def read_classifier(
    folder: Path, *, trust_remote_code: bool = False, settings: Mapping[str, Any] | None = None
) -> tuple[Any, frozenset[str]]:
    """Return the sequence classifier in a folder, float32, and the names of the weights that the folder lacks.

    Parameters
    ----------
    folder
        A folder with `config.json` and safetensors weights.
    trust_remote_code
        Whether code in the folder may run.
    settings
        Further settings of `from_pretrained`.

    Raises
    ------
    DataError
        If it holds no classifier, is beyond the limits, would run code, or cannot be read.
    """
    _check_configuration(folder, trust_remote_code=trust_remote_code)
    numbers = stored(folder)
    auto, given = transformers.AutoModelForSequenceClassification, dict(settings or {})
    shared = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    with _reading(f"cannot load a sequence classifier from {folder}"):
        if not trust_remote_code:
            labels = {name: value for name, value in given.items() if name in ("id2label", "label2id", "num_labels")}
            config = transformers.AutoConfig.from_pretrained(folder, **shared, **labels)
            with metered(numbers, str(folder / "config.json")), torch.random.fork_rng(devices=[]):
                auto.from_config(config, trust_remote_code=False)
        module, found = auto.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **shared, **given
        )
    return module, frozenset(found["missing_keys"])


def read_tokenizer(source: str | os.PathLike[str], *, trust_remote_code: bool = False) -> Any:
    """Return the tokenizer of a folder, or of a name in the local cache of the hub.

    Raises
    ------
    DataError
        If it cannot be loaded, is beyond the limits, would run code, or the folder has none: transformers then makes up
        one that knows no word.
    """
    folder = locate(source)
    _check_configuration(folder, trust_remote_code=trust_remote_code)
    _check_tokenizer(folder, trust_remote_code=trust_remote_code)
    with _reading(f"cannot load a tokenizer from {os.fspath(source)!r}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust_remote_code
        )
    files = {*getattr(tokenizer, "vocab_files_names", {}).values(), "tokenizer.json", "tokenizer.model"}
    if not any((folder / file).is_file() for file in files):
        raise DataError(
            f"{os.fspath(source)!r} has no tokenizer, expected one of {', '.join(sorted(files))}; save it beside the model "
            "with tokenizer.save_pretrained"
        )
    if getattr(tokenizer, "is_fast", False):
        _check_built(folder, tokenizer)
    return tokenizer


@contextmanager
def whole_text(tokenizer: Any) -> Iterator[None]:
    """Switch off padding and truncation that a saved tokenizer may carry, and put them back."""
    backend = tokenizer.backend_tokenizer
    truncation, padding = backend.truncation, backend.padding
    backend.no_truncation()
    backend.no_padding()
    try:
        yield
    finally:
        if truncation is not None:
            backend.enable_truncation(**truncation)
        if padding is not None:
            backend.enable_padding(**padding)


@contextmanager
def _reading(failed: str) -> Iterator[None]:
    """Give whatever goes wrong in the block its typed error, but for running out of memory and being interrupted.

    What transformers and tokenizers raise for damaged files is of any type; a panic of tokenizers is no `Exception`.
    """
    try:
        yield
    except (MaseError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = (
            str(error) if isinstance(error, OSError | ValueError | RuntimeError) else f"{type(error).__name__}: {error}"
        )
        raise DataError(f"{failed}: {reason}; expected files as save_pretrained writes them") from error


def _snapshot(name: str, files: tuple[str, ...], *, download: bool) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(name, local_files_only=not download, allow_patterns=list(files), ignore_patterns=[_BELOW])
    )


def _check_configuration(folder: Path, *, trust_remote_code: bool) -> None:
    """Check a folder's `config.json` before transformers reads it."""
    path = folder / "config.json"
    if not path.is_file():
        raise DataError(f"{folder} has no config.json, expected the folder of a Hugging Face model")
    config = read_json(path)
    if not isinstance(config, dict):
        raise DataError(f"{path} does not describe a model, expected an object")
    if config.get("problem_type") not in _PROBLEMS:
        raise DataError(f"{path} has the problem_type {config['problem_type']!r:.60}, expected one of {_PROBLEMS[1:]}")
    check_numbers(path, config)
    check_no_detours(folder, path, config)
    if trust_remote_code:
        return
    check_no_code(path, config)
    family = config.get("model_type")
    if not isinstance(family, str) or family not in transformers.CONFIG_MAPPING:
        raise refused(
            path, f"has the model_type {family!r:.60}, which transformers {transformers.__version__} does not know"
        )
    _check_class(folder, path, config)


def _check_tokenizer(folder: Path, *, trust_remote_code: bool) -> None:
    """Check the files of a folder's tokenizer before transformers reads them."""
    path = folder / "tokenizer_config.json"
    if path.is_file():
        config = read_json(path)
        if not isinstance(config, dict):
            raise DataError(f"{path} does not describe a tokenizer, expected an object")
        check_no_detours(folder, path, config)
        check_tokenizer_config(path, config)
        if not trust_remote_code:
            check_no_code(path, config)
            _check_class(folder, path, config)
    check_tokenizer_files(folder)


def _check_class(folder: Path, path: Path, config: Mapping[str, Any]) -> None:
    """Check that the class of a tokenizer is a fast one of transformers, or not known there and its code not beside it."""
    name = config.get("tokenizer_class")
    if name is None:
        return
    if not isinstance(name, str) or not name.isidentifier():
        raise DataError(f"{path} has the tokenizer_class {name!r:.60}, expected the name of a class")
    with _reading(f"{path} has the tokenizer_class {name!r:.60}, which cannot be loaded"):
        found = tokenizer_class_from_name(name)
    if found is None and any(folder.glob("*.py")):
        raise refused(path, f"has the tokenizer_class {name!r:.60}, which transformers does not know")
    if found is not None and not (isinstance(found, type) and issubclass(found, transformers.PreTrainedTokenizerFast)):
        raise DataError(
            f"{path} has the tokenizer_class {name!r:.60}, which gives no character spans, expected a fast tokenizer; wrap the "
            "model in mase.models.Callable"
        )


def _check_built(folder: Path, tokenizer: Any) -> None:
    """Check a tokenizer as it was built, whatever it was built from, and what it makes of a short text."""
    backend = tokenizer.backend_tokenizer
    with _reading(f"cannot use the tokenizer of {folder}"):
        steps = {
            name: json.loads(part.__getstate__()) for name in STEPS if (part := getattr(backend, name)) is not None
        }
        check_pipeline(folder, steps)
        with whole_text(tokenizer):
            n_tokens = len(backend.encode(_SAMPLE).ids)
    most = limits.TOKENS_TIMES * len(_SAMPLE) + limits.TOKENS_SPARE
    if n_tokens > most:
        raise DataError(
            f"the tokenizer of {folder} makes {n_tokens:,} tokens of {len(_SAMPLE)} characters, expected at most {most}"
        )

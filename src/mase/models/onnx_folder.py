"""Open a `.onnx` file with the tokenizer and the configuration beside it. Nothing in such a folder is run as code."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mase.errors import DataError, OptionError
from mase.models.bundled.configuration import check_configuration
from mase.models.bundled.vocabulary import PAD_ID, UNKNOWN_ID, Vocabulary
from mase.models.document import is_folder, read_json
from mase.models.head import Head, head_labels, head_scores
from mase.models.onnx import OnnxFile, OnnxModel
from mase.models.options import kept_end
from mase.models.origin import absolute
from mase.models.positions import longest_input
from mase.models.sizes import check_numbers
from mase.models.tokenizer_file import check_tokenizer_config
from mase.models.tokenizer_json import read_tokenizer_json

__all__ = ["FILE", "read"]

FILE = "model.onnx"
_CONFIG, _TOKENIZER, _VOCABULARY = "config.json", "tokenizer.json", "vocabulary.txt"
# The classes of a configuration of transformers that names none. The graph may have more or fewer.
_UNNAMED = {0: "LABEL_0", 1: "LABEL_1"}


def read(path: str | os.PathLike[str], *, device: str | None = None) -> OnnxModel:
    """Return the model in a `.onnx` file, or in the `model.onnx` of a folder.

    The folder has a `tokenizer.json`, or the `vocabulary.txt` of a bundled model, and a `config.json`: that of
    transformers, or that of `export_onnx`, with the labels and the longest input.

    Parameters
    ----------
    path
        The file or the folder.
    device
        "cpu" or None; for another device, open a session yourself.

    Raises
    ------
    DataError
        If a file is missing, cannot be read, or is beyond the limits.
    OptionError
        If another device is asked for, the only column of a graph may not be the score of a class, or several outputs
        may have the scores.
    """
    if device not in (None, "cpu"):
        raise OptionError(
            f"device is {device!r}, expected 'cpu' for an ONNX file; open an onnxruntime.InferenceSession with the "
            "provider of the device and pass it with its tokenizer"
        )
    place = Path(absolute(path))
    file = place / FILE if is_folder(place) else place
    folder = file.parent
    config = _read_object(folder / _CONFIG)
    settings = _own_settings(folder / _CONFIG, config) if "labels" in config else _settings(folder, config)
    tokenizer = _tokenizer(folder)
    model = OnnxModel(file, tokenizer, **settings)
    model.origin = OnnxFile(read, {"path": place})
    return model


def _tokenizer(folder: Path) -> Any:
    if (folder / _TOKENIZER).is_file():
        return read_tokenizer_json(folder)
    if (folder / _VOCABULARY).is_file():
        return Vocabulary.read(folder / _VOCABULARY).encode
    raise DataError(
        f"{folder} has no {_TOKENIZER}, expected the tokenizer of the model beside it; save it there, or pass "
        "mase.models.OnnxModel(path, tokenizer)"
    )


def _own_settings(path: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model that `export_onnx` wrote."""
    missing = {"name", "labels", "max_length", "keep"} - config.keys()
    if missing:
        raise DataError(f"{path} has no {', '.join(sorted(missing))}, expected a configuration of export_onnx")
    check_configuration(path, config)
    roles = {} if (path.parent / _TOKENIZER).is_file() else {"unk_id": UNKNOWN_ID, "pad_id": PAD_ID}
    return {name: config[name] for name in ("name", "labels", "max_length", "keep")} | {"outputs": "logits", **roles}


def _settings(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the options that follow from the `config.json` of transformers."""
    path = folder / _CONFIG
    check_numbers(path, config)
    labels = {} if config.get("id2label") is None else config["id2label"]
    if not isinstance(labels, dict):
        raise DataError(f"{path} has the id2label {labels!r:.60}, expected an object from number to name")
    try:
        names = {index: str(labels[str(index)]) for index in range(len(labels))}
    except KeyError as error:
        raise DataError(f"{path} has no class {error} in id2label, expected the numbers 0, 1, ...") from error
    head = Head(names or _UNNAMED, config.get("problem_type"))
    scores = head_scores(head, str(folder), outputs="auto", multilabel=None)
    own = _read_object(folder / "tokenizer_config.json")
    check_tokenizer_config(folder / "tokenizer_config.json", own)
    positions, pad_id = config.get("max_position_embeddings"), config.get("pad_token_id")
    return {
        "name": str(folder.name),
        # Of one column, the name of its class is the last one.
        "labels": head_labels(head, scores)[-len(names) :] if names else None,
        "max_length": longest_input(own.get("model_max_length"), config.get("model_type"), positions, pad_id),
        "keep": kept_end(None, own.get("truncation_side")),
        "outputs": "values" if scores.output.kind == "values" else "auto",
        "multilabel": scores.output.multilabel,
    }


def _read_object(path: Path) -> dict[str, Any]:
    content = read_json(path) if path.is_file() else {}
    if not isinstance(content, dict):
        raise DataError(f"{path} does not describe a model, expected a JSON object")
    return content

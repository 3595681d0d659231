"""Names of models that can only be paths, and lead nowhere."""

import os
import re
from importlib.util import find_spec

from mase.errors import DataError
from mase.models.document import is_taken

__all__ = ["check_local_path", "is_cached"]

# What the hub allows: an owner and a name, or a name alone.
_ON_HUB = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*")
_FILES = (".json", ".onnx")


def check_local_path(name_or_path: str | os.PathLike[str]) -> None:
    """Check that something is at a path, before an error asks for packages or a download that would not help.

    A path is a `Path`, and what cannot be a name on the hub, such as ``"./model"``. What ends like a file is a path,
    unless nothing is there and a model of this name is in the local cache of the hub.

    Raises
    ------
    DataError
        If there is no such file or folder.
    """
    name = os.fspath(name_or_path)
    is_name = isinstance(name_or_path, str) and _ON_HUB.fullmatch(name) is not None
    ends_like_file = name.endswith(_FILES)
    if (is_name and not ends_like_file) or is_taken(name) or (is_name and is_cached(name)):
        return
    or_name = is_name and ends_like_file
    raise DataError(
        f"there is no file or folder {name!r:.200}{', nor a model of this name in the cache of the hub' * or_name}, "
        "expected the folder of a model, a .onnx file, a .json file that describes a service, or a name; correct the "
        f"path{f', or run: hf download {name}' * or_name}"
    )


def is_cached(name: str) -> bool:
    """Return whether the local cache of the Hugging Face hub has a model of this name."""
    if find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import constants

    return is_taken(os.path.join(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}"))  # noqa: PTH118

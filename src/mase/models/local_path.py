"""Names of models that can only be paths, and lead nowhere."""

import os
import re

from mase.errors import DataError
from mase.models.document import is_taken

__all__ = ["check_local_path"]

# What the hub allows: an owner and a name, or a name alone.
_ON_HUB = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*")
_FILES = (".json", ".onnx")


def check_local_path(name_or_path: str | os.PathLike[str]) -> None:
    """Check that something is at a path, before an error asks for packages or a download that would not help.

    A path is a `Path`, and what cannot be a name on the hub, such as ``"./model"``, or ends like a file.

    Raises
    ------
    DataError
        If there is no such file or folder.
    """
    name = os.fspath(name_or_path)
    is_path = not isinstance(name_or_path, str) or _ON_HUB.fullmatch(name) is None or name.endswith(_FILES)
    if is_path and not is_taken(name):
        raise DataError(
            f"there is no file or folder {name!r:.200}, expected the folder of a model, a .onnx file, a .json file "
            "that describes a service, or a name; correct the path"
        )

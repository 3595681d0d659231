"""Models in the user's code, typed as `module:name` or `file.py:name`, which every process opens for itself.

`file.py:name()` is what a function without arguments returns.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from mase.errors import DataError, MaseError, ModelError, OptionError, UnknownNameError
from mase.models.base import Model
from mase.models.names import is_url
from mase.models.open import adapt
from mase.models.origin import Reduced, reopened
from mase.registry import unknown

_FORMS = "package.module:name or file.py:name, as in classifier.py:predict_proba or classifier.py:make()"
_CALL = "()"  # marks a factory, as gunicorn does
_MODULE = "__mase_model__"  # the module name of a file, chosen so that it hides no other module


@dataclass(frozen=True, slots=True)
class CodeReference:
    """The origin of a model that was opened from code: another process imports the same code.

    Attributes
    ----------
    typed
        What was typed, which is the name of the model.
    source, name
        A module or the absolute path of a file, and the dotted name of an object in it; it ends in "()" for a function
        that returns the object.
    folder
        The folder from which the source can be imported: the one of the file, or the working directory.
    sha256
        Checksum of the source file; None for a module without one. It does not cover other files that it imports.
    """

    typed: str
    source: str
    name: str
    folder: str
    sha256: str | None = None

    @property
    def typed_source(self) -> str:
        """The module or file as it was typed."""
        return self.typed.rpartition(":")[0] if self.name else self.typed

    @property
    def code_sha256(self) -> str | None:
        """Checksum of the source file, which is recorded beside that of the weights."""
        return self.sha256

    def reduced(self, model: Any) -> Reduced:
        """Return the call that opens the model again and compares the checksums of code and weights."""
        return reopened, (_opened, {"reference": self}, None, model.sha256)


def open_code(typed: str) -> Model:
    """Return the model that `module:name` or `file.py:name` describes. The code is imported and run.

    `file.py:name()` calls a function without arguments, and explains what it returns.
    """
    parts = _source_and_name(typed)
    if parts is None:
        raise OptionError(f"model is {typed!r}, expected {_FORMS}")
    source, name = parts
    path = Path(source).absolute() if source.endswith(".py") else None
    if path is None:
        return _opened(CodeReference(typed, source, name, str(Path.cwd())))
    return _opened(CodeReference(typed, str(path), name, str(path.resolve().parent)))


def object_of(typed: str) -> Any:
    """Return the object itself that `module:name` or `file.py:name` names, or what the function of `name()` returns."""
    source, name = _source_and_name(typed) or ("", "")
    path = Path(source).absolute()
    is_file = source.endswith(".py")
    folder = str(path.resolve().parent) if is_file else str(Path.cwd())
    reference = CodeReference(typed, str(path) if is_file else source, name, folder)
    return _object(_module_of(reference)[0], reference)


def is_code(typed: str) -> bool:
    """Return whether a string looks like `module:name` or `file.py:name`, and is neither a folder nor a URL."""
    return _source_and_name(typed) is not None


def _opened(reference: CodeReference) -> Model:
    """Return the model of a reference; if the reference has a checksum, the source must have it, too."""
    try:
        module, sha256 = _module_of(reference)
        if reference.sha256 not in (None, sha256):
            raise DataError(
                f"its code has the sha256 {sha256} in this process, expected {reference.sha256}, with which the model "
                "was pickled; do not change the file while it is used"
            )
        model = adapt(_object(module, reference), name=reference.typed)
    except MaseError as error:
        raise type(error)(f"model {reference.typed!r}: {error}") from error
    with suppress(AttributeError):  # a model of another package may be frozen, and is then pickled by its state
        model.origin = replace(reference, sha256=sha256)  # type: ignore[attr-defined]
    return model


def _source_and_name(typed: str) -> tuple[str, str] | None:
    """Return the module or file, and the name in it; None for a folder, a URL and what does not look like code."""
    source, colon, name = typed.rpartition(":")
    if typed.endswith(".py"):
        source, name = typed, ""
    elif not (colon and source) or not (source.endswith(".py") or _is_dotted(name.removesuffix(_CALL))):
        return None
    return None if is_url(typed) or _is_folder(typed) else (source, name)


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _is_folder(typed: str) -> bool:
    try:
        return Path(typed).is_dir()
    except (OSError, ValueError):  # too long for a path
        return False


def _module_of(reference: CodeReference) -> tuple[ModuleType, str | None]:
    """Import the source of a reference and return it with the checksum of its file."""
    source = reference.source
    if not reference.name:
        raise OptionError(f"the name of a function is missing, expected {_FORMS}")
    if not source.endswith(".py") and not _is_dotted(source):
        raise OptionError(f"{source!r} is neither a module nor a file that ends in .py, expected {_FORMS}")
    with _running("importing it", reference.folder):
        _search(reference.folder)
        module = _file(Path(source), reference.typed_source) if source.endswith(".py") else _module(source)
    return module, _checksum(getattr(module, "__file__", None))


def _object(module: ModuleType, reference: CodeReference) -> Any:
    """Return the object of a dotted name in a module, or what the function of that name returns."""
    value: Any = module
    name = reference.name.removesuffix(_CALL)
    with _running("importing it", reference.folder):
        for part in name.split("."):
            known = [attribute for attribute in dir(value) if not attribute.startswith("_")]
            try:
                value = getattr(value, part)
            except AttributeError:
                raise unknown(f"name in {reference.typed_source!r}:", part, known) from None
    if name == reference.name:
        _check_function(value, reference)
        return value
    if not callable(value):
        raise OptionError(f"{name!r} is of type {type(value).__name__}, expected a function to call; leave out '()'")
    with _running(f"calling {reference.name}", reference.folder):
        return value()


def _check_function(value: Any, reference: CodeReference) -> None:
    """Refuse a function without arguments, which may make a model, but is none."""
    if inspect.isfunction(value) and not inspect.signature(value).parameters:
        raise OptionError(
            f"{reference.name!r} is a function without arguments, expected one of texts; write {reference.typed}() for "
            "what it returns"
        )


@contextmanager
def _running(what: str, folder: str) -> Iterator[None]:
    """Turn an error of the user's code into a message of one line, with the last line in `folder` that was run."""
    try:
        yield
    except (MaseError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        if not isinstance(error, SyntaxError):  # its message has the line
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if _is_own(Path(frame.filename), Path(folder))]
            frame = (own or frames)[-1]
            message += f" ({Path(frame.filename).name}, line {frame.lineno})"
        raise ModelError(f"{what} raised {message}") from error


def _is_own(file: Path, folder: Path) -> bool:
    """Return whether a file is below the folder, and not in an environment of installed packages there."""
    return file.is_relative_to(folder) and "site-packages" not in file.parts


def _module(name: str) -> ModuleType:
    """Import a module from the working directory, as `python -m` does, or an installed one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the missing module is one that this module imports
        raise UnknownNameError(
            f"there is no module {error.name!r} in the working directory or among the installed ones, expected {_FORMS}"
        ) from error


def _file(path: Path, typed: str) -> ModuleType:
    """Run a file as a module that can import the modules next to it, as `python file.py` does."""
    if not path.is_file():
        raise UnknownNameError(f"there is no file {typed!r} ({path}), expected {_FORMS}")
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[_MODULE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _checksum(file: str | None) -> str | None:
    """Return the SHA-256 of a source file; None for a module without one."""
    if file is None or not file.endswith(".py"):
        return None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _search(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()

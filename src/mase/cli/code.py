"""Open the model of a command: a name, a folder, or a function, an estimator or an adapter in the user's code."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from mase.errors import MaseError, ModelError, OptionError, UnknownNameError
from mase.models.protocol import Model
from mase.registry import unknown

__all__ = ["open_model"]

_FORMS = "package.module:name or file.py:name, as in classifier.py:predict_proba"
_MODULE = "__mase_model__"  # the module name of a file, chosen so that it hides no other module


def open_model(typed: str, *, download: bool, device: str | None, trust_remote_code: bool) -> Model:
    """Return the model that was typed: `module:name`, `file.py:name`, or a name or folder for `mase.models.load`.

    Code is imported and run.

    Raises
    ------
    UsageError
        If an option is given that does not apply to code.
    UnknownNameError
        If there is no such module, file or name, or no such model.
    ModelError
        If the code raises.
    OptionError, CapabilityError
        If the object cannot be explained.
    """
    from mase.models import adapt, load

    parts = _source_and_name(typed)
    if parts is None:
        return load(typed, download=download, device=device, trust_remote_code=trust_remote_code)
    given = {"--download": download, "--device": device is not None, "--trust-remote-code": trust_remote_code}
    option = next((name for name, is_given in given.items() if is_given), None)
    if option is not None:
        raise click.UsageError(f"got {option} with the code {typed!r}, expected none: the code itself decides")
    try:
        return adapt(_object(typed, *parts), name=typed)
    except MaseError as error:
        raise type(error)(f"model {typed!r}: {error}") from error


def _source_and_name(typed: str) -> tuple[str, str] | None:
    """Return the module or file, and the name in it; None if the string is a folder or does not look like code."""
    source, colon, name = typed.rpartition(":")
    if typed.endswith(".py"):
        source, name = typed, ""
    elif not (colon and source) or not (source.endswith(".py") or _is_dotted(name)):
        return None
    return None if _is_folder(typed) else (source, name)


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _is_folder(typed: str) -> bool:
    try:
        return Path(typed).is_dir()
    except (OSError, ValueError):  # too long for a path
        return False


def _object(typed: str, source: str, name: str) -> Any:
    if not name:
        raise OptionError(f"the name of a function is missing, expected {_FORMS}")
    if not source.endswith(".py") and not _is_dotted(source):
        raise OptionError(f"{source!r} is neither a module nor a file that ends in .py, expected {_FORMS}")
    with _running(typed):
        value: Any = _file(Path(source)) if source.endswith(".py") else _module(source)
        for part in name.split("."):
            known = [attribute for attribute in dir(value) if not attribute.startswith("_")]
            try:
                value = getattr(value, part)
            except AttributeError:
                raise unknown(f"name in {source!r}:", part, known) from None
    return value


@contextmanager
def _running(typed: str) -> Iterator[None]:
    """Turn an error that the user's code raises at import into a message of one line, with the place."""
    try:
        yield
    except (MaseError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        message = " ".join(f"{type(error).__name__}: {error}".split())
        if not isinstance(error, SyntaxError):  # its message has the line
            message += f" ({Path(frame.filename).name}, line {frame.lineno})"
        raise ModelError(f"importing it raised {message}") from error


def _module(name: str) -> ModuleType:
    """Import a module from the working directory, as `python -m` does, or an installed one."""
    _search(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the missing module is one that this module imports
        raise UnknownNameError(
            f"there is no module {error.name!r} in the working directory or among the installed ones, expected {_FORMS}"
        ) from error


def _file(path: Path) -> ModuleType:
    """Run a file as a module that can import the modules next to it, as `python file.py` does."""
    if not path.is_file():
        raise UnknownNameError(f"there is no file {str(path)!r}, expected {_FORMS}")
    _search(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[_MODULE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()

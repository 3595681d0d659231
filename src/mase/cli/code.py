"""The model that a command is given: a name, a folder, or a function, an estimator or an adapter in code of the user's own."""

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
_MODULE = "__mase_model__"  # what a file is called among the modules: no module of another name is hidden


def open_model(typed: str, *, download: bool, device: str | None, trust_remote_code: bool) -> Model:
    """Return the model that was typed: code as `module:name` or `file.py:name`, which runs, else as `mase.models.load` does.

    Raises
    ------
    UsageError
        If an option is given that code has no use for.
    UnknownNameError
        If there is no such module, file, or name in it, or no such model.
    ModelError
        If the code raises.
    OptionError, CapabilityError
        If what it is cannot be explained.
    """
    from mase.models import adapt, load

    found = _place_and_name(typed)
    if found is None:
        return load(typed, download=download, device=device, trust_remote_code=trust_remote_code)
    given = {"--download": download, "--device": device is not None, "--trust-remote-code": trust_remote_code}
    option = next((name for name, is_given in given.items() if is_given), None)
    if option is not None:
        raise click.UsageError(f"got {option} with the code {typed!r}, expected it without: the code decides itself")
    try:
        return adapt(_object(typed, *found), name=typed)
    except MaseError as error:
        raise type(error)(f"model {typed!r}: {error}") from error


def _place_and_name(typed: str) -> tuple[str, str] | None:
    """Return the module or file, and the name in it; None for what does not read as code, or is a folder."""
    place, colon, name = typed.rpartition(":")
    if typed.endswith(".py"):
        place, name = typed, ""
    elif not (colon and place) or not (place.endswith(".py") or _is_dotted(name)):
        return None
    return None if _is_folder(typed) else (place, name)


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _is_folder(typed: str) -> bool:
    try:
        return Path(typed).is_dir()
    except (OSError, ValueError):  # no path can be as long as a text may be
        return False


def _object(typed: str, place: str, name: str) -> Any:
    if not name:
        raise OptionError(f"this names no function, expected {_FORMS}")
    if not place.endswith(".py") and not _is_dotted(place):
        raise OptionError(f"{place!r} is neither a module nor a file that ends in .py, expected {_FORMS}")
    with _running(typed):
        found: Any = _file(Path(place)) if place.endswith(".py") else _module(place)
        for part in name.split("."):
            known = [one for one in dir(found) if not one.startswith("_")]
            try:
                found = getattr(found, part)
            except AttributeError:
                raise unknown(f"name in {place!r}:", part, known) from None
    return found


@contextmanager
def _running(typed: str) -> Iterator[None]:
    """Turn what the user's code raises when it is imported into one line that says where."""
    try:
        yield
    except (MaseError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(f"{type(error).__name__}: {error}".split())
        where = (
            "" if isinstance(error, SyntaxError) else f" ({Path(frame.filename).name}, line {frame.lineno})"
        )  # it says itself
        raise ModelError(f"importing it raised {said}{where}") from error


def _module(name: str) -> ModuleType:
    """Import a module from the working directory, as `python -m` does, or from those that are installed."""
    _search(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a module that this one imports
        raise UnknownNameError(
            f"there is no module {error.name!r} in the working directory or among the installed ones, expected {_FORMS}"
        ) from error


def _file(path: Path) -> ModuleType:
    """Run a file as a module, which finds the modules beside it, as `python file.py` does."""
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

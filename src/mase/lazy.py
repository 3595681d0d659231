"""Names of a package that are imported on first use, so that importing the package is fast."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mase.errors import MissingDependencyError

__all__ = ["lazy_names", "require"]


def lazy_names(
    package: str,
    names: Iterable[str],
    places: Mapping[str, str],
    needs: Mapping[str, Iterable[tuple[str, str]]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package (PEP 562).

    `__dir__` leaves out names that cannot be imported, because `help` and `inspect.getmembers` get all that it lists.

    Parameters
    ----------
    package
        The `__name__` of the package, for error messages.
    names
        Its `__all__`.
    places
        The module that defines each name. A name whose place is `package.name` is that module itself.
    needs
        For a name: the packages that its module imports, each with the extra of mase-xai that installs it.
    """
    needed_by = {} if needs is None else needs

    def __getattr__(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        for needed, extra in needed_by.get(name, ()):
            require(needed, extra)
        module = import_module(places[name])
        return module if places[name] == f"{package}.{name}" else getattr(module, name)

    def __dir__() -> list[str]:
        return sorted(name for name in names if all(_is_there(needed) for needed, _ in needed_by.get(name, ())))

    return __getattr__, __dir__


def require(package: str, extra: str) -> None:
    """Raise the error that names the extra to install if a package is missing.

    Raises
    ------
    MissingDependencyError
        If the package is not installed.
    """
    if not _is_there(package):
        raise MissingDependencyError(f"{package} is not installed; run: pip install 'mase-xai[{extra}]'")


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # a module without a `__spec__`, which somebody has put in the place of a package
        return True

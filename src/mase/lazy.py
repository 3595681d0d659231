"""Names of a package that are imported on first use, so that importing the package is fast."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mase.errors import MissingDependencyError

__all__ = ["lazy_names", "require"]


def lazy_names(
    package: str, places: Mapping[str, str], needs: Mapping[str, Iterable[tuple[str, str]]] | None = None
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562).

    Parameters
    ----------
    package
        The `__name__` of the package, for error messages.
    places
        The module that defines each name. A name whose place is `package.name` is that module itself.
    needs
        For a name: the packages that its module imports, each with the extra of mase-xai that installs it.
    """

    def __getattr__(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        for needed, extra in (needs or {}).get(name, ()):
            require(needed, extra)
        module = import_module(places[name])
        return module if places[name] == f"{package}.{name}" else getattr(module, name)

    return __getattr__


def require(package: str, extra: str) -> None:
    """Raise the error that names the extra to install if a package is missing.

    Raises
    ------
    MissingDependencyError
        If the package is not installed.
    """
    if find_spec(package) is None:
        raise MissingDependencyError(f"{package} is not installed; run: pip install 'mase-xai[{extra}]'")

"""Registries: named tables whose entries are imported on first use, also those of other packages."""

import difflib
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from mase.errors import MissingDependencyError, OptionError, PluginError, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


def unknown(kind: str, name: object, known: Iterator[str] | list[str], more: str = "") -> UnknownNameError:
    """Return the error for an unknown name, which suggests the closest known name; `more` ends the message."""
    names = sorted(known)
    closest = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {closest[0]!r}? " if closest else ""
    listed = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "") or "none"
    return UnknownNameError(f"unknown {kind} {name!r:.80}; {hint}known: {listed}{more}")


@dataclass(frozen=True, slots=True, repr=False)
class Registry(Mapping[str, Any]):
    """A read-only mapping from names to objects, which imports an object when its name is looked up.

    Other packages add names with entry points in the group of the registry. Entry points are read when a name is not
    built in, or when all names are listed. A package is imported when one of its names is looked up.

    Attributes
    ----------
    kind
        The kind of the entries, for messages.
    entries
        The built-in names. A str is ``"module:attribute"``; anything else is the entry itself.
    group
        The group of the entry points; None if other packages cannot add names.
    make
        A function that makes the object from a name and its entry; None if the entry is the object.
    renamed
        Names of earlier versions, and those that answer for them now, with a warning. Version 0.5 drops them.

    Examples
    --------
    >>> Registry("error", {"root": "mase.errors:MaseError"})["root"].__name__
    'MaseError'
    """

    kind: str
    entries: Mapping[str, Any]
    group: str | None = None
    make: Callable[[str, Any], Any] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<registry of {len(self.names)} {self.kind}s: {', '.join(self.names)}>"

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):  # which need not be hashable
            raise unknown(self.kind, name, list(self.names))
        if name in self.renamed:
            now = self.renamed[name]
            message = f"{self.kind} {name!r} is now {now!r}, which is used instead; version 0.5 will not know {name!r}"
            warn_at_user(message, FutureWarning)
            name = now
        return self._made(name, self._built_in(name)) if name in self.entries else self._added(name)

    def _made(self, name: str, entry: Any) -> Any:
        return entry if self.make is None else self.make(name, entry)

    def _built_in(self, name: str) -> Any:
        entry = self.entries[name]
        if not isinstance(entry, str):
            return entry
        module, _, attribute = entry.partition(":")
        return getattr(import_module(module), attribute)

    def _added(self, name: str) -> Any:
        """Return the object that another package adds under a name."""
        points = [point for point in self._points() if point.name == name]
        if not points:
            raise unknown(self.kind, name, list(self.names))
        if len(points) > 1:
            raise PluginError(
                f"{self.kind} {name!r} is added by {self.added_by(name)}, expected a single package; uninstall the "
                "others"
            )
        try:
            entry = points[0].load()
        except (Exception, SystemExit) as error:
            raise self._broken(points[0], "cannot be imported", error) from error
        try:
            return self._made(name, entry)
        except Exception as error:
            raise self._broken(points[0], "is invalid", error) from error

    def _broken(self, point: "EntryPoint", what: str, error: BaseException) -> PluginError:
        """Return the error that says what is wrong with an entry of another package."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return PluginError(
            f"{self.kind} {point.name!r} of {_package(point)} {what} ({reason}); update or uninstall that package"
        )

    def _points(self) -> "list[EntryPoint]":
        """Return the entry points of other packages."""
        return [] if self.group is None else list(_entry_points(self.group, tuple(sys.path)))

    def added_by(self, name: str) -> str:
        """Return the names and versions of the packages that add a name, for messages."""
        return " and ".join(sorted(_package(point) for point in self._points() if point.name == name))

    @property
    def added(self) -> tuple[str, ...]:
        """The names that other packages add, in alphabetical order and without the built-in names."""
        return tuple(sorted({point.name for point in self._points()} - self.entries.keys()))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, for help and choices: where a package adds one that is built in, the built-in one."""
        return *self.entries, *self.added

    def _check_names(self) -> None:
        for point in self._points():
            if point.name in self.entries or point.name in self.renamed:
                raise PluginError(
                    f"{_package(point)} adds the {self.kind} {point.name!r}, which is built in, expected another name; "
                    "uninstall that package or ask its authors to rename it"
                )

    def build(self, text: str) -> Any:
        """Return the instance that a string such as ``"focused"`` or ``"focused(rounds=3, p_high=0.8)"`` describes.

        Examples
        --------
        >>> from mase.designs import DESIGNS
        >>> DESIGNS.build("focused(rounds=3, p_high=0.8)").p_high
        0.8
        """
        name, bracket, rest = text.partition("(")
        cls = self[name.strip()]
        if bracket and not rest.rstrip().endswith(")"):
            raise OptionError(f"{self.kind} is {text!r}, expected NAME or NAME(SETTING=VALUE, ...)")
        settings = dict(self._setting(part, text) for part in re.split("[,;]", rest.rstrip()[:-1]) if part.strip())
        known = [item.name for item in fields(cls)] if is_dataclass(cls) else []
        for setting in settings:
            if setting not in known:
                raise unknown(f"setting of {self.kind} {name.strip()!r}", setting, known)
        try:
            return cls(**settings)
        except TypeError as error:
            raise OptionError(f"{self.kind} is {text!r}, which has a value of the wrong type: {error}") from error

    def _setting(self, part: str, text: str) -> tuple[str, Any]:
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not value:
            raise OptionError(f"{self.kind} is {text!r}, expected NAME or NAME(SETTING=VALUE, ...)")
        for number in (int, float):
            try:
                return name, number(value)
            except ValueError:
                continue
        return name, value.strip("'\"")

    def name_of(self, value: object) -> str:
        """Return the name under which the class of `value` is registered, or its own name if it is not."""
        path = f"{type(value).__module__}:{type(value).__name__}"
        built_in = (name for name, entry in self.entries.items() if entry == path)
        added = (point.name for point in self._points() if point.value == path)
        return next(built_in, None) or next(added, type(value).__name__)

    def __iter__(self) -> Iterator[str]:
        self._check_names()
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.entries or name in self.renamed or name in self.added)


@cache
def _entry_points(group: str, _path: tuple[str, ...]) -> "EntryPoints":
    """Return the entry points of a group from all packages on the search path; cached, because reading is slow."""
    from importlib.metadata import distributions, entry_points

    try:
        return entry_points(group=group)
    except Exception:
        for package in distributions():
            try:
                list(package.entry_points)
            except Exception as error:
                raise PluginError(
                    f"the file entry_points.txt of the package {package.metadata['Name']} {package.version} cannot be "
                    f"read ({type(error).__name__}: {error}); reinstall or uninstall that package"
                ) from error
        raise


def _package(point: "EntryPoint") -> str:
    """Return the name and version of the package that an entry point belongs to, for messages."""
    return "a package without metadata" if point.dist is None else f"the package {point.dist.name} {point.dist.version}"


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
    """Raise the error that names the extra to install if a package is missing."""
    if not _is_there(package):
        raise MissingDependencyError(f"{package} is not installed; run: pip install 'mase-xai[{extra}]'")


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # a module without a `__spec__`, which somebody has put in the place of a package
        return True


# Packages whose frames a warning about an old name looks past: ours, and what stands between our frames.
_OURS = frozenset({"mase", "mase_corpora", "mase_serve", "mase_paper", "dataclasses", "functools"})


def warn_deprecated(what: str, instead: str) -> None:
    """Warn that something is deprecated since 0.3, and say what to use in its place."""
    warn_at_user(f"{what} is deprecated since 0.3 and will be removed in 0.5; use {instead}", DeprecationWarning)


def warn_at_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user: the first one outside of this library."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


T = TypeVar("T")


def completed(part: Any, base: type[T]) -> T:
    """Return a part as one of a class that inherits from `base`, whose defaults it gets for what it lacks.

    Versions before 0.3 asked for the methods alone. What is returned asks a part that was written for them first, and a
    warning says what to inherit from.
    """
    if isinstance(part, base):
        return part
    kind: Any = type(part)
    warn_deprecated(
        f"the class {kind.__qualname__} without a base class",
        f"class {kind.__name__}({base.__name__}), with that of {base.__module__}",
    )
    whole: T = _completed(part, base)
    return whole


def _completed(part: Any, base: Any) -> Any:
    """Return a part with the defaults of `base`, without a warning."""
    kind: Any = type(part)
    whole: Any = object.__new__(_inheriting(kind, base))
    object.__setattr__(whole, _PART, part)
    return whole


# The attribute in which a completed part keeps what it completes.
_PART = "_mase_part"


@cache
def _inheriting(kind: Any, base: Any) -> Any:
    """Return a class of `kind` and `base`, whose instances have the attributes of the part that they complete."""

    def get(self: Any, name: str) -> Any:
        own = object.__getattribute__
        if name.startswith("__") and name != "__dict__":
            return own(self, name)
        try:
            return getattr(own(self, _PART), name)
        except AttributeError:
            if not hasattr(base, name):
                raise
            return own(self, name)

    return type(
        kind.__name__,
        (kind, base),
        {
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__new__": lambda cls, *args, **settings: _completed(kind(*args, **settings), base),
            "__init__": lambda self, *args, **settings: None,
            "__getattribute__": get,
            "__setattr__": lambda self, name, value: setattr(object.__getattribute__(self, _PART), name, value),
            "__reduce_ex__": lambda self, protocol: (_completed, (object.__getattribute__(self, _PART), base)),
        },
    )

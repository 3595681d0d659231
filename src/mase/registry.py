"""Lazy registries: a name stands for `module:attribute`, imported when it is first asked for."""

import difflib
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from mase.errors import OptionError, UnknownNameError

__all__ = ["Registry", "unknown"]


def unknown(kind: str, name: object, known: Iterator[str] | list[str]) -> UnknownNameError:
    """Return the error for a name that is not known, with the nearest known one as the remedy."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(names[:60]) + (", ..." if len(names) > 60 else "")
    return UnknownNameError(f"unknown {kind} {name!r}; {hint}known: {listed}")


@dataclass(frozen=True, slots=True)
class Registry:
    """A read-only table `name -> object` that imports nothing until a name is looked up.

    Examples
    --------
    >>> Registry("error", {"root": "mase.errors:MaseError"})["root"].__name__
    'MaseError'
    """

    kind: str
    entries: Mapping[str, str]

    def __getitem__(self, name: str) -> Any:
        if name not in self.entries:
            raise unknown(self.kind, name, list(self.entries))
        module, _, attribute = self.entries[name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def build(self, text: str) -> Any:
        """Return the entry that a text like ``"focused"`` or ``"focused(rounds=3, p_high=0.8)"`` stands for, with its settings.

        Raises
        ------
        UnknownNameError
            If there is no such entry.
        OptionError
            If the settings cannot be read, or the entry has no such setting.

        Examples
        --------
        >>> from mase.designs import DESIGNS
        >>> DESIGNS.build("focused(rounds=3, p_high=0.8)").p_high
        0.8
        """
        name, bracket, rest = text.partition("(")
        made = self[name.strip()]
        if bracket and not rest.rstrip().endswith(")"):
            raise OptionError(f"{self.kind} is {text!r}, expected NAME or NAME(SETTING=VALUE, ...)")
        given = dict(self._setting(part, text) for part in re.split("[,;]", rest.rstrip()[:-1]) if part.strip())
        known = [field.name for field in fields(made)] if is_dataclass(made) else []
        for setting in given:
            if setting not in known:
                raise unknown(f"setting of {self.kind} {name.strip()!r}", setting, known)
        try:
            return made(**given)
        except TypeError as error:
            raise OptionError(
                f"{self.kind} is {text!r}, with a value of another type than it takes: {error}"
            ) from error

    def _setting(self, part: str, text: str) -> tuple[str, Any]:
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not value:
            raise OptionError(f"{self.kind} is {text!r}, expected NAME or NAME(SETTING=VALUE, ...)")
        for read in (int, float):
            try:
                return name, read(value)
            except ValueError:
                continue
        return name, value.strip("'\"")

    def name_of(self, value: object) -> str:
        """Return the name under which the class of `value` is registered, or its own name if it is not."""
        place = f"{type(value).__module__}:{type(value).__name__}"
        return next((name for name, entry in self.entries.items() if entry == place), type(value).__name__)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

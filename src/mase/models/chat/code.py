"""What a function does, as a checksum: answers of a function that was changed are not those of the function now."""

import dis
import hashlib
from collections.abc import Iterator
from functools import partial
from inspect import getattr_static
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type(...))
_CONTAINERS = (tuple, list, set, frozenset, dict)
_EMPTY = CellType()


def code_of(function: Any) -> str:
    """Return a checksum of the code of a function, so that one which was changed is asked again.

    It is that of its instructions and constants; of the values and functions of its own module and closure that it
    names and does not set; of its arguments that are fixed; and of the values and functions in the object that it
    belongs to. Values are texts and numbers, and lists, sets and dictionaries of them. What it calls elsewhere is not
    looked at.
    """
    return hashlib.sha256("\n".join(_code_parts(function, set())).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _code_parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield what the answers of something that is called depend on."""
    if isinstance(value, _CONSTANTS):
        yield repr(value)
    elif isinstance(value, set | frozenset):
        yield repr(sorted(map(repr, value)))
    elif isinstance(value, tuple):
        for part in value:
            yield from _code_parts(part, seen)
    elif id(value) in seen or isinstance(value, type | ModuleType):
        return
    elif isinstance(value, list | dict):
        seen.add(id(value))
        yield type(value).__name__
        yield from _code_parts(tuple(value.items() if isinstance(value, dict) else value), seen)
    elif isinstance(value, CodeType):
        yield f"{value.co_code.hex()} {value.co_names}"
        yield from _code_parts(value.co_consts, seen)
    elif isinstance(value, FunctionType):
        seen.add(id(value))
        yield from _function_parts(value, seen)
    elif isinstance(value, partial):
        yield from _code_parts((value.func, *value.args, *value.keywords.items()), seen)
    else:
        seen.add(id(value))
        yield from _object_parts(value, seen)


def _object_parts(value: Any, seen: set[int]) -> Iterator[str]:
    method = value if isinstance(value, MethodType) else getattr_static(type(value), "__call__", None)
    yield from _code_parts(getattr(method, "__func__", method), seen)
    for name, part in getattr(getattr(method, "__self__", value), "__dict__", {}).items():
        if issubclass(type(part), (*_CONSTANTS, *_CONTAINERS, FunctionType)):
            yield name
            yield from _code_parts(part, seen)


def _function_parts(function: FunctionType, seen: set[int]) -> Iterator[str]:
    code, own = function.__code__, function.__globals__
    defaults = (function.__defaults__, *(function.__kwdefaults__ or {}).items())
    yield from _code_parts((code, *defaults), seen)
    named = {name: own[name] for name in code.co_names if name in own}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    named |= {name: cell.cell_contents for name, cell in cells if cell != _EMPTY}
    stored = {item.argval for item in dis.get_instructions(code) if item.opname in ("STORE_GLOBAL", "STORE_DEREF")}
    for name, part in named.items():
        if name not in stored and getattr(part, "__module__", function.__module__) == function.__module__:
            yield name
            yield from _code_parts(part, seen)

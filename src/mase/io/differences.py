"""Name what differs between settings."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["differences", "flat", "shown"]


def differences(got: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted name, the value got and the value expected of all settings that differ; missing ones are None.

    They are in the order of the settings, those in one of the two as well: those in a group stay in its place.

    Examples
    --------
    >>> list(differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}))
    [('a.b', 1, 3)]
    >>> list(differences({"files": [{"rows": 1}]}, {"files": [{"rows": 1}, {"rows": 2}]}))
    [('files.1.rows', None, 2)]
    >>> list(differences({"where": {"a": "b"}, "rows": 1}, {"where": {}, "rows": 2}))
    [('where.a', 'b', None), ('rows', 1, 2)]
    """
    yield from _differences("", got, expected)


def _differences(name: str, got: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    one, other = _parts(got), _parts(expected)
    if one is None or other is None:
        if got != expected:
            yield name, got, expected
        return
    for key in other | one:
        yield from _differences(f"{name}.{key}" if name else str(key), one.get(key), other.get(key))


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by dotted names; those in a list have its positions, from 0, in their names."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        parts = None if value is None else _parts(value)
        found |= {f"{prefix}{key}": value} if parts is None else flat(parts, f"{prefix}{key}.")
    return found


def _parts(value: Any) -> dict[str, Any] | None:
    """Return the settings in a group or in a list of groups; none of what is missing, and None for a single value."""
    if value is None:
        return {}
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return {str(index): one for index, one in enumerate(value)}
    return dict(value) if isinstance(value, Mapping) else None


def shown(value: Any, other: Any) -> str:
    """Return the repr of a value; of a text, the part where it begins to differ from the other one."""
    if not isinstance(value, str) or not isinstance(other, str):
        return f"{value!r:.80}"
    pairs = enumerate(zip(value, other, strict=False))
    differs = next((index for index, (a, b) in pairs if a != b), min(len(value), len(other)))
    begin = max(0, differs - 20)
    return f"{'...' if begin else ''}{value[begin : begin + 60]!r}"

"""Name what differs between settings."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["differences", "flat", "shown"]


def differences(got: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted name, the value got and the value expected of all settings that differ; missing ones are None.

    Examples
    --------
    >>> list(differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}))
    [('a.b', 1, 3)]
    >>> list(differences({"files": [{"rows": 1}]}, {"files": [{"rows": 1}, {"rows": 2}]}))
    [('files.1.rows', None, 2)]
    """
    one, other = flat(got), flat(expected)
    yield from ((key, one.get(key), other.get(key)) for key in other | one if one.get(key) != other.get(key))


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by dotted names; those in a list have its positions, from 0, in their names."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        is_list = isinstance(value, list) and any(isinstance(one, dict) for one in value)
        nested = {str(index): one for index, one in enumerate(value)} if is_list else value
        found |= flat(nested, f"{prefix}{key}.") if isinstance(nested, dict) else {f"{prefix}{key}": value}
    return found


def shown(value: Any, other: Any) -> str:
    """Return the repr of a value; of a text, the part where it begins to differ from the other one."""
    if not isinstance(value, str) or not isinstance(other, str):
        return f"{value!r:.80}"
    pairs = enumerate(zip(value, other, strict=False))
    differs = next((index for index, (a, b) in pairs if a != b), min(len(value), len(other)))
    begin = max(0, differs - 20)
    return f"{'...' if begin else ''}{value[begin : begin + 60]!r}"

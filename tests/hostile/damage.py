"""Result files damaged at random, by seed: bytes, lines, keys, values and structure."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["DAMAGES", "damaged"]

_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**40,
    -0.0,
    0.5,
    1.5,
    1e9,
    1e308,
    -1e308,
    1e-320,
    "",
    "x",
    "\ud800",
    "\x00",
    "\x1b[31m",
    [],
    [[]],
    {},
    {"": {}},
    [None],
    ["x"],
    {"x": 1},
    "NaN",
    "9" * 5000,
)
_RAW = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "9" * 5000,
    "[" * 3000,
    '{"a":' * 3000,
    "",
    "\x00",
    "0x10",
    "'x'",
    "01",
    "\ufeff",
)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value within a document."""
    yield place
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inside:
        yield from _places(below, (*place, key))


def _holder(document: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return an object or list within a document, and a key of it."""
    places = [place for place in _places(document) if place]
    place = places[rng.integers(len(places))]
    for key in place[:-1]:
        document = document[key]
    return document, place[-1]


def _replaced(line: str, rng: np.random.Generator) -> str:
    document = json.loads(line)
    holder, key = _holder(document, rng)
    holder[key] = _ODD[rng.integers(len(_ODD))]
    return json.dumps(document)


def _scaled(line: str, rng: np.random.Generator) -> str:
    document = json.loads(line)
    for _ in range(200):
        holder, key = _holder(document, rng)
        if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = holder[key] * [-1, 1000, 1e9, 1e300][rng.integers(4)] + [0, -1, 1, 0.5][rng.integers(4)]
            break
    return json.dumps(document)


def _dropped(line: str, rng: np.random.Generator) -> str:
    document = json.loads(line)
    holder, key = _holder(document, rng)
    del holder[key]
    return json.dumps(document)


def _swapped(line: str, rng: np.random.Generator) -> str:
    document = json.loads(line)
    (a, key), (b, other) = _holder(document, rng), _holder(document, rng)
    a[key], b[other] = json.loads(json.dumps(b[other])), json.loads(json.dumps(a[key]))
    return json.dumps(document)


def _renamed(line: str, rng: np.random.Generator) -> str:
    document = json.loads(line)
    holder, key = _holder(document, rng)
    if isinstance(holder, dict):
        holder[str(_ODD[rng.integers(len(_ODD))])[:50]] = holder.pop(key)
    else:
        holder.append(holder[key])
    return json.dumps(document)


def _raw(line: str, rng: np.random.Generator) -> str:
    """Put something that is no JSON in the place of a value."""
    document = json.loads(line)
    holder, key = _holder(document, rng)
    holder[key] = "@PLACE@"
    return json.dumps(document).replace('"@PLACE@"', _RAW[rng.integers(len(_RAW))])


def _cut(line: str, rng: np.random.Generator) -> str:
    return line[: rng.integers(len(line))]


def _flipped(line: str, rng: np.random.Generator) -> bytes:
    content = bytearray(line.encode())
    for _ in range(rng.integers(1, 4)):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def _inserted(line: str, rng: np.random.Generator) -> bytes:
    content, at = line.encode(), rng.integers(len(line.encode()))
    return content[:at] + rng.bytes(rng.integers(1, 20)) + content[at:]


def _twice(line: str, rng: np.random.Generator) -> str:
    """Give a key twice, with two values."""
    keys = list(json.loads(line))
    key = keys[rng.integers(len(keys))]
    return f'{{"{key}": {json.dumps(_ODD[rng.integers(len(_ODD))])}, ' + line[1:]


DAMAGES: tuple[Callable[[str, np.random.Generator], str | bytes], ...] = (
    _replaced,
    _scaled,
    _dropped,
    _swapped,
    _renamed,
    _raw,
    _cut,
    _flipped,
    _inserted,
    _twice,
)


def damaged(line: str, number: int) -> bytes:
    """Return damage number `number` of a line of results: always the same."""
    rng = np.random.default_rng([16, number])
    found = DAMAGES[number % len(DAMAGES)](line, rng)
    return found if isinstance(found, bytes) else found.encode("utf-8", "surrogatepass")

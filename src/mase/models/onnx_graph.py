"""The operation that computes an output of an ONNX graph. It is read from the bytes, without the package onnx."""

import mmap
from collections.abc import Iterator
from pathlib import Path

__all__ = ["last_operation"]

_Bytes = bytes | mmap.mmap
# The numbers of fields in the messages of ONNX (onnx.proto): the graph of a model, a node of a graph, and its parts.
_GRAPH, _NODE, _INPUT, _OUTPUT, _TYPE = 7, 1, 1, 2, 4
# The sizes of values of Protocol Buffers by their wire types. Type 0 is a number of any length, type 2 has its length.
_SIZES = {1: 8, 5: 4}
# Operations that change the shape or the type of a tensor and keep its values.
_SHAPING = ("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose")
_LINEAR = ("Gemm", "MatMul")


def last_operation(graph: bytes | str | None, output: str) -> str:
    """Return the name of the operation that computes the values of an output, as `recognise` of models takes it.

    Parameters
    ----------
    graph
        The bytes of the graph, or the path of its file; None if neither is known.
    output
        The name of the output.

    Returns
    -------
    "Sigmoid", "Linear", or "operation ..." for any other; "" if it is not known.
    """
    try:
        if not isinstance(graph, str):
            return _computing(_nodes(graph or b""), output)
        with Path(graph).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _computing(_nodes(content), output)
    except (OSError, ValueError, LookupError):  # the file has changed, or has another format
        return ""


def _computing(nodes: dict[str, tuple[str, list[str]]], output: str) -> str:
    kind, inputs = nodes.pop(output, ("", []))
    while kind in _SHAPING and inputs:
        kind, inputs = nodes.pop(inputs[0], ("", []))
    if kind in _LINEAR or (kind == "Add" and any(nodes.get(name, ("", []))[0] in _LINEAR for name in inputs)):
        return "Linear"
    return kind if kind in ("", "Sigmoid") else f"operation {kind}"


def _nodes(content: _Bytes) -> dict[str, tuple[str, list[str]]]:
    """Return the operation and the inputs of the node that computes each tensor, by the name of the tensor."""
    found: dict[str, tuple[str, list[str]]] = {}
    for start, end in (place for number, *place in _fields(content, 0, len(content)) if number == _GRAPH):
        for first, last in (place for number, *place in _fields(content, start, end) if number == _NODE):
            parts = [
                (number, content[a:b].decode("utf-8", "replace")) for number, a, b in _fields(content, first, last)
            ]
            kind = next((text for number, text in parts if number == _TYPE), "")
            inputs = [text for number, text in parts if number == _INPUT]
            found |= {text: (kind, inputs) for number, text in parts if number == _OUTPUT}
    return found


def _fields(content: _Bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number and the place `(start, end)` of each field of a message that has a length."""
    while start < end:
        key, start = _number(content, start)
        wire = key & 7
        if wire == 0:
            _, start = _number(content, start)
        elif wire == 2:
            size, start = _number(content, start)
            if start + size > end:
                raise ValueError(f"field {key >> 3} ends at {start + size}, expected at most {end}")
            yield key >> 3, start, start + size
            start += size
        else:
            start += _SIZES[wire]


def _number(content: _Bytes, start: int) -> tuple[int, int]:
    """Return a number, seven bits per byte, and where it ends."""
    value = shift = 0
    while True:
        byte = content[start]
        value |= (byte & 0x7F) << shift
        start, shift = start + 1, shift + 7
        if byte < 0x80:
            return value, start

"""The operation that computes an output of an ONNX graph."""

from typing import Any

__all__ = ["last_operation"]

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
    "Sigmoid", "Linear", or "operation ..." for any other; "" if it is not known, as without the package onnx.
    """
    nodes = {name: node for node in _nodes(graph) for name in node.output}
    node = nodes.get(output)
    for _ in nodes:
        if node is None or node.op_type not in _SHAPING:
            break
        node = nodes.get(node.input[0])
    if node is None:
        return ""
    terms = [nodes[name].op_type for name in node.input if name in nodes]
    if node.op_type in _LINEAR or (node.op_type == "Add" and not set(_LINEAR).isdisjoint(terms)):
        return "Linear"
    return "Sigmoid" if node.op_type == "Sigmoid" else f"operation {node.op_type}"


def _nodes(graph: bytes | str | None) -> list[Any]:
    """Return the nodes of a graph; none if it cannot be read, which the session has done already."""
    if graph is None:
        return []
    try:
        import onnx

        if isinstance(graph, bytes):
            return list(onnx.load_from_string(graph).graph.node)
        return list(onnx.load(graph, load_external_data=False).graph.node)
    except Exception:  # noqa: BLE001 (protobuf, the file system, and a missing package raise many types)
        return []

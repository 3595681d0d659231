"""Tests of `mase.models.onnx`."""

import pytest

from mase.models.onnx import last_operation

pytest.importorskip("onnx")
from onnx import helper
from tests.unit.models import onnx_graphs as graphs


@pytest.mark.parametrize(
    ("last", "expected"),
    [(None, "Linear"), ("Sigmoid", "Sigmoid"), ("Softmax", "operation Softmax"), ("Identity", "Linear")],
)
def test_the_operation_is_read_from_bytes_and_from_files(tmp_path, last, expected):
    content = graphs.graph(output="y", last=last)
    (tmp_path / "small.onnx").write_bytes(content)
    assert last_operation(content, "y") == last_operation(str(tmp_path / "small.onnx"), "y") == expected


def test_a_sum_with_a_matrix_product_is_linear():
    product = helper.make_node("MatMul", ["x", "w"], ["wx"])
    for nodes, expected in (
        ([product, helper.make_node("Add", ["b", "wx"], ["y"])], "Linear"),
        ([helper.make_node("Add", ["x", "b"], ["y"])], "operation Add"),
        ([helper.make_node("Split", ["x"], ["a", "y"])], "operation Split"),
        ([product], ""),
    ):
        assert last_operation(graphs.model(nodes, ["x"], "y"), "y") == expected


def test_what_is_no_graph_has_no_operation(tmp_path):
    content = graphs.graph()
    (tmp_path / "empty.onnx").write_bytes(b"")
    for source in (None, b"", b"garbage", str(tmp_path / "none.onnx"), str(tmp_path / "empty.onnx"), str(tmp_path)):
        assert last_operation(source, "logits") == ""
    for end in range(0, len(content), 7):  # a file that is cut off
        assert last_operation(content[:end], "logits") in ("", "Linear")

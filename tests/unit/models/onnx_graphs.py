"""Small ONNX graphs whose answers are one line of NumPy."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)
WORDS, TYPES, POSITIONS, HEAD = (
    RNG.normal(0, 1, shape).astype(np.float32) for shape in ((40, 4), (2, 4), (99, 4), (4, 3))
)
NAMES = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


def answer(ids, types=None, positions=False):
    """Return the logits (3,) of one row of ids."""
    vectors = WORDS[list(ids)] + (0 if types is None else TYPES[list(types)])
    vectors = vectors + (POSITIONS[: len(ids)] if positions else 0)
    return np.tanh(0.5 * vectors.sum(axis=0)) @ HEAD


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum()


def graph(
    inputs=("input_ids",), shape=("batch", "tokens"), kind=TensorProto.INT64, output="logits", columns=3, last=None,
    rename=None,
):  # fmt: skip
    """Return the bytes of a model: the sum of vectors where the mask is 1, and a head."""
    weights = {"words": WORDS, "types": TYPES, "places": POSITIONS, "head": HEAD[:, :columns], "half": np.float32(0.5)}
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["vectors"])]
    found = "vectors"
    for name, table in (("token_type_ids", "types"), ("position_ids", "places")):
        if name in inputs:
            nodes += [helper.make_node("Gather", [table, name], [f"of_{name}"])]
            nodes += [helper.make_node("Add", [found, f"of_{name}"], [f"with_{name}"])]
            found = f"with_{name}"
    constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    constants += [numpy_helper.from_array(np.array([axis]), f"axis{axis}") for axis in (1, 2)]
    if "attention_mask" in inputs:
        nodes += [helper.make_node("Cast", ["attention_mask"], ["floats"], to=TensorProto.FLOAT)]
        nodes += [helper.make_node("Unsqueeze", ["floats", "axis2"], ["mask"])]
        nodes += [helper.make_node("Mul", [found, "mask"], ["masked"])]
        found = "masked"
    nodes += [helper.make_node("ReduceSum", [found, "axis1"], ["sum"], keepdims=0)]
    nodes += [helper.make_node("Mul", ["sum", "half"], ["scaled"]), helper.make_node("Tanh", ["scaled"], ["pooled"])]
    nodes += [helper.make_node("MatMul", ["pooled", "head"], [output if last is None else "raw"])]
    if last is not None:
        nodes += [helper.make_node(last, ["raw"], [output])]
    for node in nodes if rename else ():
        node.input[:] = [rename if name == "input_ids" else name for name in node.input]
    return model(
        nodes, [(rename if rename and name == "input_ids" else name) for name in inputs], output, constants, shape, kind
    )


def model(
    nodes, inputs, output, constants=(), shape=("batch", "tokens"), kind=TensorProto.INT64, domains=(), integers=()
):
    """Return the bytes of a model of nodes, with one output or several, each with its shape; some have integers."""
    outputs = {output: None} if isinstance(output, str) else output
    used = {name for node in nodes for name in node.input}
    body = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, kind, list(shape)) for name in inputs],
        [
            helper.make_tensor_value_info(name, TensorProto.INT64 if name in integers else TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ],
        [constant for constant in constants if constant.name in used],
    )
    opsets = [helper.make_opsetid("", 18), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9).SerializeToString()


def whole(location="weights.bin"):
    """Return the bytes of a model whose weights are in another file."""
    tensor = numpy_helper.from_array(WORDS, "words")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["vectors"])]
    nodes += [helper.make_node("ReduceSum", ["vectors", "axis1"], ["logits"], keepdims=0)]
    return model(nodes, ["input_ids"], "logits", [tensor, numpy_helper.from_array(np.array([1]), "axis1")])


def ids(text):
    """Return an id from 10 to 39 for each whitespace word."""
    return [10 + sum(map(ord, word)) % 30 for word in text.split()]

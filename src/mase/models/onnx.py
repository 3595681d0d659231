"""Sessions of ONNX Runtime, and folders with a `model.onnx`."""

import hashlib
import os
import re
from collections.abc import Callable as Function
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnxruntime

from mase.arrays import Ints
from mase.errors import CapabilityError, DataError, MaseError, ModelError, NotPicklableError, OptionError
from mase.models import limits
from mase.models.bundled.files import PAD_ID, UNKNOWN_ID, Vocabulary, check_configuration
from mase.models.description import Head, head_labels, head_scores
from mase.models.limits import check_numbers, is_file, is_folder, read_bytes, read_json
from mase.models.origin import Reduced, absolute, reopened
from mase.models.scores import Kind, kept_end
from mase.models.token_ids import TokenIds
from mase.models.tokenizer_files import check_tokenizer_config, read_tokenizer_json
from mase.models.tokens import longest_input, own_limit, own_side, tokenizing
from mase.text import Side

# What the inputs of a session hold, by their usual names. The only input of a session holds ids, whatever its name.
_INPUTS = {
    "input_ids": "ids", "ids": "ids", "attention_mask": "mask", "input_mask": "mask", "token_type_ids": "types",
    "segment_ids": "types", "position_ids": "positions",
}  # fmt: skip

_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
_OUTPUTS = ("logits", "probabilities", "probs", "scores")
_MEMORY = ("Failed to allocate memory", "bad_alloc", "bad allocation", "out of memory")


@dataclass(frozen=True, slots=True)
class Run:
    """A session as a function from ids and token types to the rows of one of its outputs.

    `inputs` has the name, role and data type of each input. `n_rows` and `length` are the shape of the inputs, as far
    as it is fixed; rows are then filled up with `pad_id`.
    """

    session: Any
    name: str
    inputs: tuple[tuple[str, str, Any], ...]
    output: str
    n_rows: int | None
    length: int | None
    pad_id: int

    @classmethod
    def of(cls, session: Any, name: str, pad_id: int, output: str | None) -> Self:
        """Return the function of a session, checked, for the output of a name; None to choose one.

        Raises
        ------
        CapabilityError
            If its inputs are not token ids with masks and types `(b, t)`.
        OptionError
            If it has no such output, or several may have the scores.
        """
        inputs = session.get_inputs()
        roles = {item.name: "ids" if len(inputs) == 1 else _INPUTS.get(item.name) for item in inputs}
        shown = ", ".join(f"{item.name} {item.type} {item.shape}" for item in inputs)
        fits = all(roles[item.name] and item.type in _TYPES and len(item.shape) in (0, 2) for item in inputs)
        if not fits or list(roles.values()).count("ids") != 1:
            raise CapabilityError(
                f"{name} has the inputs {shown}, expected input_ids and perhaps attention_mask, token_type_ids and "
                "position_ids, integers of shape (b, t); wrap the session in mase.models.Callable"
            )
        sizes = (*inputs[0].shape, None, None)[:2] if inputs[0].shape else (None, None)
        n_rows, length = (size if isinstance(size, int) else None for size in sizes)
        chosen = _output(session.get_outputs(), name, output)
        kinds = tuple((item.name, str(roles[item.name]), _TYPES[item.type]) for item in inputs)
        return cls(session, name, kinds, chosen, n_rows, length, pad_id)

    def __call__(self, ids: Ints, types: Ints | None) -> Any:
        """Return the rows `(b, k)` for ids and types `(b, t)`."""
        if self.n_rows is None:
            return self._batch(ids, types)
        parts = [slice(start, start + self.n_rows) for start in range(0, len(ids), self.n_rows)]
        return np.concatenate([self._batch(ids[part], None if types is None else types[part]) for part in parts])

    def _batch(self, ids: Ints, types: Ints | None) -> Any:
        b, t = ids.shape
        values = {"ids": ids, "mask": np.ones_like(ids), "types": np.zeros_like(ids) if types is None else types}
        values["positions"] = np.broadcast_to(np.arange(t), ids.shape)
        missing = ((0, (self.n_rows or b) - b), (0, (self.length or t) - t))
        fill = {"ids": self.pad_id}
        feeds = {
            name: np.pad(values[role], missing, constant_values=fill.get(role, 0)).astype(kind)
            for name, role, kind in self.inputs
        }
        try:
            (result,) = self.session.run([self.output], feeds)
        except MaseError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())
            if any(message in reason for message in _MEMORY):
                raise MemoryError(reason) from error
            raise ModelError(
                f"{self.name} raised {type(error).__name__} on ids of shape {ids.shape} from {ids.min()} to "
                f"{ids.max()}: {reason:.300}; if it reads fewer than {t} tokens, pass OnnxModel(..., max_length=...)"
            ) from error
        return result[:b]


def _output(outputs: Sequence[Any], owner: str, wanted: str | None) -> str:
    """Return the name of the output with the scores."""
    shown = ", ".join(f"{output.name} {output.type} {output.shape}" for output in outputs)
    if wanted is not None:
        if wanted not in [output.name for output in outputs if output.type in _FLOATS]:
            raise OptionError(f"output is {wanted!r}, expected an output of {owner} with floats, of: {shown}")
        return wanted
    # One column may have no axis of its own, and a shape that is not known is empty.
    fits = [str(output.name) for output in outputs if output.type in _FLOATS and len(output.shape) <= 2]
    usual = usual_output(outputs)
    if usual in _OUTPUTS or not fits:
        return usual
    if len(fits) > 1:
        raise OptionError(
            f"{owner} has the outputs {shown}, of which several may be the scores (b, k), expected one; pass "
            "OnnxModel(..., output=...) with its name, or FILE.py:NAME to a command, where NAME is such a model"
        )
    return fits[0]


def usual_output(outputs: Sequence[Any]) -> str:
    """Return the output with a usual name, or else the first one."""
    names = [str(output.name) for output in outputs]
    return next((usual for usual in _OUTPUTS if usual in names), names[0])


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


_FATAL = 4  # the only messages that sessions print; errors are raised

# How a graph says where the data of a tensor are: the key of an entry of Protocol Buffers, and the length of its value,
# seven bits per byte. All bytes of the length but the last have the eighth bit.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x80-\xff]{0,4}[\x00-\x7f])")


class OnnxModel(TokenIds):
    """A text classifier in a session of ONNX Runtime.

    Parameters
    ----------
    session
        An `onnxruntime.InferenceSession`, or the path of a ``.onnx`` file, which is opened on the CPU and without
        libraries of custom operators. Only a model that was opened by its path can be sent to other processes.
    tokenizer
        A `tokenizers.Tokenizer`, a fast tokenizer of transformers, or a function from a text to ids, or to ids and
        character spans `(start, end)`. If a function returns ids alone, there must be one per whitespace word.
    labels
        Names of the k classes; "0", "1", ... by default.
    mask_id, unk_id, pad_id
        Ids that can represent an absent word; by default those that the tokenizer has.
    special_ids
        Ids that a function returns and that are never scored, for example those of start and end.
    max_length, keep
        Longest input in tokens, and which end of a longer text the model reads: "start" or "end"; by default the
        `model_max_length` and the `truncation_side` of a tokenizer of transformers. A session with inputs of a fixed
        length has that limit; shorter texts are padded with `pad_id` and masked.
    output
        Name of the output that has the scores `(b, k)`; by default the one with a usual name ("logits",
        "probabilities", "probs" or "scores"), or else the only one of floats with at most two dimensions.
    outputs, multilabel
        What that output holds: "logits", "probabilities", or "auto" (see `mase.models.scores.recognise`). An output
        of the name "logits" holds logits, unless they are probabilities by their values. With `multilabel` the k
        columns are separate questions.
    name
        Name for provenance; by default the name of the file, or that of the graph.

    Raises
    ------
    DataError
        If the file cannot be opened, or is beyond the limits (`mase.models.limits`).
    CapabilityError
        If the inputs of the session are not token ids with masks and types, or the tokenizer gives no spans.
    OptionError
        If an option has an invalid value, or several outputs may have the scores and none is named.
    """

    def __init__(
        self,
        session: Any,
        tokenizer: Any,
        *,
        labels: Sequence[str] | None = None,
        mask_id: int | None = None,
        unk_id: int | None = None,
        pad_id: int | None = None,
        special_ids: Sequence[int] = (),
        max_length: int | None = None,
        keep: Side | None = None,
        output: str | None = None,
        outputs: Kind = "auto",
        multilabel: bool = False,
        name: str | None = None,
    ) -> None:
        path = Path(session).absolute() if isinstance(session, str | os.PathLike) else None
        if tokenizer is None:
            raise OptionError(
                "an ONNX session has no tokenizer, expected Explainer(session, tokenizer) or OnnxModel(session, "
                "tokenizer)"
            )
        roles = {"mask": mask_id, "unk": unk_id, "pad": pad_id}
        if path is not None:
            self.sha256, self.session = _opened(path)
            arguments = {"session": path, "tokenizer": tokenizer, "labels": labels, "special_ids": special_ids}
            arguments |= {f"{role}_id": token for role, token in roles.items()}
            arguments |= {"max_length": max_length, "keep": keep, "outputs": outputs, "multilabel": multilabel}
            self.origin = OnnxFile(OnnxModel, {**arguments, "output": output, "name": name})
        else:
            self.session = session
        own = tokenizing(tokenizer, roles, special_ids)
        name = name or (path.name if path is not None else self.session.get_modelmeta().graph_name) or "onnx"
        run = Run.of(self.session, name, own.roles.get("pad", 0), output)
        self._output = run.output
        if outputs == "auto" and run.output == "logits":  # which numbers that are probabilities correct
            outputs = "logits"
        if max_length is None:
            max_length = own_limit(tokenizer)
        longest = min((limit for limit in (max_length, run.length) if limit is not None), default=None)
        super().__init__(
            run, own, name=name, labels=labels, max_length=longest,
            keep=kept_end(keep, own_side(tokenizer)), outputs=outputs, multilabel=multilabel,
            last_operation=last_operation(_graph(self.session), run.output),
        )  # fmt: skip

    def reads(self) -> dict[str, Any]:
        """Return what `TokenIds.reads` does, and the output where it is neither the usual nor the first one."""
        is_usual = self._output == usual_output(self.session.get_outputs())
        return super().reads() | ({} if is_usual else {"output": self._output})

    def __getstate__(self) -> Any:
        raise NotPicklableError(
            "a session of onnxruntime cannot be sent to another process, expected a model that was opened by its path; "
            "pass mase.models.OnnxModel('model.onnx', tokenizer)"
        )


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """The origin of a model that was opened by a path: another process opens the same file.

    Attributes
    ----------
    load
        The function that opened it.
    arguments
        Its arguments; paths are absolute.
    """

    load: Function[..., Any]
    arguments: Mapping[str, Any]

    def reduced(self, model: Any) -> Reduced:
        """Return the call that opens the model again and compares the checksums."""
        return reopened, (self.load, dict(self.arguments), None, model.sha256)


def _graph(session: Any) -> bytes | str | None:
    """Return the bytes or the path that a session was opened with, which only private attributes know."""
    return getattr(session, "_model_bytes", None) or getattr(session, "_model_path", None)


def _opened(path: Path) -> tuple[str, Any]:
    """Return the checksum of a file and of the files that hold its weights, and a session of it.

    ONNX Runtime refuses external weights that are outside of the folder.
    """
    content = read_bytes(path, limits.ONNX_BYTES)
    session, digest = open_session(path), hashlib.sha256(content)
    for location in _locations(content):
        beside = path.parent / location
        if is_file(beside):  # also other entries can have the key "location", such as those of the metadata
            with beside.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest(), session


def _locations(content: bytes) -> list[str]:
    """Return the paths, relative to the folder of a graph, of the files that hold its tensors, in order of name."""
    result = set()
    for match in _LOCATION.finditer(content):
        length = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(match[1]))
        result.add(content[match.end() : match.end() + length])
    return [os.fsdecode(location) for location in sorted(result)]


def open_session(path: Path) -> Any:
    """Return a session of a file on the CPU, with as many threads as OMP_NUM_THREADS says, and without own
    operators.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    threads = os.environ.get("OMP_NUM_THREADS", "")
    options.intra_op_num_threads = int(threads) if threads.isdecimal() else 0
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = " ".join(str(error).split())
        raise DataError(f"onnxruntime cannot open {path}: {reason:.300}; expected a model without own operators") from (
            error
        )


FILE = "model.onnx"
_CONFIG, _TOKENIZER, _VOCABULARY = "config.json", "tokenizer.json", "vocabulary.txt"

# The classes of a configuration of transformers that names none. The graph may have more or fewer.
_UNNAMED = {0: "LABEL_0", 1: "LABEL_1"}


def read(path: str | os.PathLike[str], *, device: str | None = None) -> OnnxModel:
    """Return the model in a `.onnx` file, or in the `model.onnx` of a folder.

    The folder has a `tokenizer.json`, or the `vocabulary.txt` of a bundled model, and a `config.json`: that of
    transformers, or that of `export_onnx`, with the labels and the longest input.

    Parameters
    ----------
    path
        The file or the folder.
    device
        "cpu" or None; for another device, open a session yourself.
    """
    if device not in (None, "cpu"):
        raise OptionError(
            f"device is {device!r}, expected 'cpu' for an ONNX file; open an onnxruntime.InferenceSession with the "
            "provider of the device and pass it with its tokenizer"
        )
    place = Path(absolute(path))
    file = place / FILE if is_folder(place) else place
    folder = file.parent
    config = _read_object(folder / _CONFIG)
    settings = _own_settings(folder / _CONFIG, config) if "labels" in config else _settings(folder, config)
    tokenizer = _tokenizer(folder)
    model = OnnxModel(file, tokenizer, **settings)
    model.origin = OnnxFile(read, {"path": place})
    return model


def _tokenizer(folder: Path) -> Any:
    if (folder / _TOKENIZER).is_file():
        return read_tokenizer_json(folder)
    if (folder / _VOCABULARY).is_file():
        return Vocabulary.read(folder / _VOCABULARY).encode
    raise DataError(
        f"{folder} has no {_TOKENIZER}, expected the tokenizer of the model beside it; save it there, or pass "
        "mase.models.OnnxModel(path, tokenizer)"
    )


def _own_settings(path: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model that `export_onnx` wrote."""
    missing = {"name", "labels", "max_length", "keep"} - config.keys()
    if missing:
        raise DataError(f"{path} has no {', '.join(sorted(missing))}, expected a configuration of export_onnx")
    check_configuration(path, config)
    roles = {} if (path.parent / _TOKENIZER).is_file() else {"unk_id": UNKNOWN_ID, "pad_id": PAD_ID}
    return {name: config[name] for name in ("name", "labels", "max_length", "keep")} | {"outputs": "logits", **roles}


def _settings(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the options that follow from the `config.json` of transformers."""
    path = folder / _CONFIG
    check_numbers(path, config)
    labels = {} if config.get("id2label") is None else config["id2label"]
    if not isinstance(labels, dict):
        raise DataError(f"{path} has the id2label {labels!r:.60}, expected an object from number to name")
    try:
        names = {index: str(labels[str(index)]) for index in range(len(labels))}
    except KeyError as error:
        raise DataError(f"{path} has no class {error} in id2label, expected the numbers 0, 1, ...") from error
    head = Head(names or _UNNAMED, config.get("problem_type"))
    scores = head_scores(head, str(folder), outputs="auto", multilabel=None)
    own = _read_object(folder / "tokenizer_config.json")
    check_tokenizer_config(folder / "tokenizer_config.json", own)
    positions, pad_id = config.get("max_position_embeddings"), config.get("pad_token_id")
    return {
        "name": str(folder.name),
        # Of one column, the name of its class is the last one.
        "labels": head_labels(head, scores)[-len(names) :] if names else None,
        "max_length": longest_input(own.get("model_max_length"), config.get("model_type"), positions, pad_id),
        "keep": kept_end(None, own.get("truncation_side")),
        "outputs": "values" if scores.output.kind == "values" else "auto",
        "multilabel": scores.output.multilabel,
    }


def _read_object(path: Path) -> dict[str, Any]:
    content = read_json(path) if path.is_file() else {}
    if not isinstance(content, dict):
        raise DataError(f"{path} does not describe a model, expected a JSON object")
    return content

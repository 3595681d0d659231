"""Sessions of ONNX Runtime with a tokenizer, explained by masking token ids. This is the only module that opens one."""

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
from mase.models.document import is_file, read_bytes
from mase.models.onnx_graph import last_operation
from mase.models.options import kept_end
from mase.models.origin import Reduced, reopened
from mase.models.outputs import Kind
from mase.models.positions import longest_input
from mase.models.token_ids import TokenIds
from mase.models.tokenizing import tokenizing
from mase.text import Side

__all__ = ["OnnxFile", "OnnxModel", "open_session"]

# What the inputs of a session hold, by their usual names. The only input of a session holds ids, whatever its name.
_INPUTS = {
    "input_ids": "ids", "ids": "ids", "attention_mask": "mask", "input_mask": "mask", "token_type_ids": "types",
    "segment_ids": "types", "position_ids": "positions",
}  # fmt: skip
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_OUTPUTS = ("logits", "probabilities", "probs", "scores")
_FATAL = 4  # the only messages that sessions print; errors are raised
# How a graph says where the data of a tensor are: the key of an entry of Protocol Buffers, and the length of its value,
# seven bits per byte. All bytes of the length but the last have the eighth bit.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x80-\xff]{0,4}[\x00-\x7f])")
_MEMORY = ("Failed to allocate memory", "bad_alloc", "bad allocation", "out of memory")


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
    outputs, multilabel
        What the session returns: "logits", "probabilities", or "auto" (see `mase.models.outputs.recognise`). An output
        of the name "logits" holds logits. With `multilabel` the k columns are separate questions.
    name
        Name for provenance; by default the name of the file, or that of the graph.

    Raises
    ------
    DataError
        If the file cannot be opened, or is beyond the limits (`mase.models.limits`).
    CapabilityError
        If the inputs of the session are not token ids with masks and types, or the tokenizer gives no spans.
    OptionError
        If an option has an invalid value.
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
            self.origin = OnnxFile(OnnxModel, {**arguments, "name": name})
        else:
            self.session = session
        own = tokenizing(tokenizer, roles, special_ids)
        name = name or (path.name if path is not None else self.session.get_modelmeta().graph_name) or "onnx"
        run = _Run.of(self.session, name, own.roles.get("pad", 0))
        if outputs == "auto" and run.output == "logits":
            outputs = "logits"
        if max_length is None:
            max_length = longest_input(getattr(tokenizer, "model_max_length", None), None, None, None)
        longest = min((limit for limit in (max_length, run.length) if limit is not None), default=None)
        super().__init__(
            run, own, name=name, labels=labels, max_length=longest,
            keep=kept_end(keep, getattr(tokenizer, "truncation_side", None)), outputs=outputs, multilabel=multilabel,
            last_operation=last_operation(_graph(self.session), run.output),
        )  # fmt: skip

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


@dataclass(frozen=True, slots=True)
class _Run:
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
    def of(cls, session: Any, name: str, pad_id: int) -> Self:
        """Return the function of a session, checked.

        Raises
        ------
        CapabilityError
            If its inputs are not token ids with masks and types `(b, t)`.
        """
        inputs = session.get_inputs()
        roles = {one.name: "ids" if len(inputs) == 1 else _INPUTS.get(one.name) for one in inputs}
        shown = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
        fits = all(roles[one.name] and one.type in _TYPES and len(one.shape) in (0, 2) for one in inputs)
        if not fits or list(roles.values()).count("ids") != 1:
            raise CapabilityError(
                f"{name} has the inputs {shown}, expected input_ids and perhaps attention_mask, token_type_ids and "
                "position_ids, integers of shape (b, t); wrap the session in mase.models.Callable"
            )
        sizes = (*inputs[0].shape, None, None)[:2] if inputs[0].shape else (None, None)
        n_rows, length = (size if isinstance(size, int) else None for size in sizes)
        names = [one.name for one in session.get_outputs()]
        output = next((usual for usual in _OUTPUTS if usual in names), names[0])
        kinds = tuple((one.name, str(roles[one.name]), _TYPES[one.type]) for one in inputs)
        return cls(session, name, kinds, output, n_rows, length, pad_id)

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
    found = set()
    for match in _LOCATION.finditer(content):
        length = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(match[1]))
        found.add(content[match.end() : match.end() + length])
    return [os.fsdecode(location) for location in sorted(found)]


def open_session(path: Path) -> Any:
    """Return a session of a file on the CPU, with as many threads as OMP_NUM_THREADS says, and without own operators.

    Raises
    ------
    DataError
        If it cannot be opened.
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

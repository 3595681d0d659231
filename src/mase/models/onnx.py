"""Sessions of ONNX Runtime with a tokenizer, explained by masking token ids. This is the only module that opens one."""

import hashlib
import os
import re
from collections.abc import Callable as Function
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime

from mase.errors import DataError, NotPicklableError, OptionError
from mase.models import limits
from mase.models.document import is_file, read_bytes
from mase.models.onnx_graph import last_operation
from mase.models.onnx_run import Run, usual_output
from mase.models.options import kept_end
from mase.models.origin import Reduced, reopened
from mase.models.outputs import Kind
from mase.models.positions import longest_input
from mase.models.token_ids import TokenIds
from mase.models.tokenizing import tokenizing
from mase.text import Side

__all__ = ["OnnxFile", "OnnxModel", "open_session"]

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
        What that output holds: "logits", "probabilities", or "auto" (see `mase.models.outputs.recognise`). An output
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
            max_length = longest_input(getattr(tokenizer, "model_max_length", None), None, None, None)
        longest = min((limit for limit in (max_length, run.length) if limit is not None), default=None)
        super().__init__(
            run, own, name=name, labels=labels, max_length=longest,
            keep=kept_end(keep, getattr(tokenizer, "truncation_side", None)), outputs=outputs, multilabel=multilabel,
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

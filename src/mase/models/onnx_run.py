"""A session of ONNX Runtime as a function from ids to scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mase.arrays import Ints
from mase.errors import CapabilityError, MaseError, ModelError, OptionError

__all__ = ["Run", "usual_output"]

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
        chosen = _output(session.get_outputs(), name, output)
        kinds = tuple((one.name, str(roles[one.name]), _TYPES[one.type]) for one in inputs)
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
    shown = ", ".join(f"{one.name} {one.type} {one.shape}" for one in outputs)
    if wanted is not None:
        if wanted not in [one.name for one in outputs if one.type in _FLOATS]:
            raise OptionError(f"output is {wanted!r}, expected an output of {owner} with floats, of: {shown}")
        return wanted
    # One column may have no axis of its own, and a shape that is not known is empty.
    fits = [str(one.name) for one in outputs if one.type in _FLOATS and len(one.shape) <= 2]
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
    names = [str(one.name) for one in outputs]
    return next((usual for usual in _OUTPUTS if usual in names), names[0])

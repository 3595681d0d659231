"""Training of the upper layers of an MPNet: the frozen lower layers read each text once, and their outputs are kept.

A text of t tokens has one state of width d per token, the output of the last frozen layer, stored in half precision.
"""

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mase.arrays import Ints
from mase.errors import DataError, OptionError
from mase.files import replacing, writing
from mase.models.limits import read_json
from mase_paper.training.examples import Examples, sorted_batches

__all__ = ["States", "freeze", "lower_states", "read_states", "upper_logits"]

_ROWS, _PROGRESS_BATCHES = 16, 20  # texts per batch, and batches between two notes of the progress


@dataclass(frozen=True, slots=True)
class States(Examples):
    """n texts as the outputs of frozen layers.

    `states` `(total tokens, d)` has them in order of `ids`, from rows `first` `(n,)` on. Computing them took `seconds`.
    """

    states: npt.NDArray[np.float16]
    first: Ints
    seconds: float

    def batch(self, rows: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """Return states `(b, t, d)`, in float32 and padded at the end by zeros, and class numbers `(b,)`."""
        longest = max(len(self.ids[row]) for row in rows)
        padded = np.zeros((len(rows), longest, self.states.shape[1]), dtype=np.float32)
        for place, row in enumerate(rows):
            n = len(self.ids[row])
            padded[place, :n] = self.states[self.first[row] : self.first[row] + n]
        return torch.from_numpy(padded), torch.from_numpy(self.labels[rows])


def read_states(module: Any, n_layers: int, examples: Examples, path: Path, base_sha256: str) -> States:
    """Return the outputs of the embedding block and the first `n_layers` layers of an MPNet classifier.

    They are computed once and written to `path`. A call that was stopped goes on where it was: after each few batches
    the number of finished ones is written beside, to `path` with the suffix `.json`.

    Parameters
    ----------
    module
        The classifier in evaluation mode.
    n_layers
        Number of the frozen layers.
    examples
        The texts.
    path
        File of the states, n tokens times 2 d bytes.
    base_sha256
        Checksum of the pretrained weights, which are those of the frozen layers. With the texts and the number of
        layers it identifies the states, so that those of another training are recognised.

    Raises
    ------
    OptionError
        If the module is no MPNet, or has no layer above the frozen ones.
    DataError
        If the files cannot be written, or are of another training.
    """
    _check(module, n_layers)
    lengths = np.array([len(ids) for ids in examples.ids], dtype=np.int64)
    shape = (int(lengths.sum()), int(module.config.hidden_size))
    note = path.with_suffix(".json")
    key = hashlib.sha256(f"{base_sha256} {n_layers} {examples.ids}".encode()).hexdigest()
    done, seconds = _done(note, key) if path.is_file() else (0, 0.0)
    start = time.perf_counter() - seconds
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        states = np.memmap(path, np.float16, "r+" if done else "w+", shape=shape)
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    batches = sorted_batches(examples, _ROWS)
    for index in range(done, len(batches)):
        rows = batches[index]
        ids, _ = examples.batch(rows)
        mask = torch.arange(ids.shape[1]) < torch.from_numpy(lengths[rows])[:, None]
        with torch.inference_mode():
            outputs = lower_states(module, n_layers, ids, mask).half().numpy()
        for row, output in zip(rows.tolist(), outputs, strict=True):
            states[first[row] : first[row] + lengths[row]] = output[: lengths[row]]
        if (index + 1) % _PROGRESS_BATCHES == 0 or index + 1 == len(batches):
            states.flush()
            seconds = time.perf_counter() - start
            with writing(note), replacing(note) as draft:
                draft.write_text(json.dumps({"key": key, "done": index + 1, "seconds": seconds}), encoding="utf-8")
    return States(examples.ids, examples.labels, states, first, seconds)


def freeze(module: Any, n_layers: int) -> None:
    """Remove the first `n_layers` layers of an MPNet classifier, in place; `upper_logits` does without them.

    The other layers keep their numbers.
    """
    for index in range(n_layers):
        module.mpnet.encoder.layer[index] = nn.Identity()


def lower_states(module: Any, n_layers: int, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the output `(b, t, d)` of the first `n_layers` layers for ids `(b, t)`; real are those in `mask`."""
    states: torch.Tensor = module.mpnet.embeddings(input_ids=ids)
    bias = _bias(module, states, mask)
    for layer in module.mpnet.encoder.layer[:n_layers]:
        states = _layer(layer, states, states, bias)
    return states


def upper_logits(module: Any, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return logits `(b, k)` for the outputs `(b, t, d)` of the layers that `freeze` removed.

    Notes
    -----
    The classifier reads the first token's last state only, so the last layer is computed for that token alone.
    """
    bias = _bias(module, states, mask)
    *layers, last = [layer for layer in module.mpnet.encoder.layer if not isinstance(layer, nn.Identity)]
    for layer in layers:
        states = _layer(layer, states, states, bias)
    scores: torch.Tensor = module.classifier(_layer(last, states[:, :1], states, bias[:, :, :1]))
    return scores


def _bias(module: Any, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return what is added to the attention scores `(b or 1, heads, t, t)`: the positions' bias, -inf for padding."""
    bias: torch.Tensor = module.mpnet.encoder.compute_position_bias(states[:1])
    return bias if bool(mask.all()) else bias.masked_fill(~mask[:, None, None, :], float("-inf"))


def _layer(layer: Any, rows: torch.Tensor, states: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the output of a layer for the tokens in `rows`, which attend to all `states`."""
    attention, n = layer.attention.attn, len(states)
    query, key, value = (
        part(inputs).view(n, -1, attention.num_attention_heads, attention.attention_head_size).transpose(1, 2)
        for part, inputs in ((attention.q, rows), (attention.k, states), (attention.v, states))
    )
    mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    mixed = attention.o(mixed.transpose(1, 2).reshape(n, rows.shape[1], -1))
    attended = layer.attention.LayerNorm(layer.attention.dropout(mixed) + rows)
    result: torch.Tensor = layer.output(layer.intermediate(attended), attended)
    return result


def _check(module: Any, n_layers: int) -> None:
    config = module.config
    if config.model_type != "mpnet":
        raise OptionError(
            f"the pretrained model is of type {config.model_type!r}, expected 'mpnet': the recipe keeps the outputs of "
            "its lower layers; pass another base, or train a recipe without frozen layers"
        )
    if not 0 < n_layers < config.num_hidden_layers:
        raise OptionError(
            f"the recipe freezes {n_layers} layers, expected 1 to {config.num_hidden_layers - 1} of the "
            f"{config.num_hidden_layers} of the pretrained model"
        )


def _done(note: Path, key: str) -> tuple[int, float]:
    """Return the number of finished batches, and the seconds that they took.

    Raises
    ------
    DataError
        If they are of another training.
    """
    if not note.is_file():
        return 0, 0.0
    content: Any = read_json(note)
    if not isinstance(content, dict) or content.get("key") != key:
        raise DataError(f"{note.parent} belongs to another training; remove the folder, or name another (--output)")
    return int(content["done"]), float(content["seconds"])

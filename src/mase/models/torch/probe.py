"""Scores and gradients of a torch module at coordinates, and a check that they are those of changed ids.

The ids of a text with other tokens are one way to ask a module about changed words, and perturbed vectors are another.
Both have to give the same scores.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn

from mase.arrays import Floats, Ints
from mase.attribution.response import Note
from mase.errors import CapabilityError, ModelError
from mase.links import FLOOR, Contrast, Output
from mase.models.base import Binding, Probe
from mase.models.scores import Scores, check_numbers
from mase.models.torch.engine import Engine, as_float64, multiplies_bfloat16, rounds
from mase.responses import function_of
from mase.rng import row_noise
from mase.spaces import Noise


class _Torch:
    """The functions that links need, in torch; see `mase.links.Functions`."""

    def log(self, probabilities: torch.Tensor) -> torch.Tensor:
        return torch.log(probabilities.clamp(min=FLOOR))

    def expm1(self, exponents: torch.Tensor) -> torch.Tensor:
        return torch.expm1(exponents)

    def sigmoid(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(logits)

    def log_sigmoid(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.logsigmoid(logits)

    def softmax(self, logits: torch.Tensor) -> torch.Tensor:
        return self.log_softmax(logits).exp()

    def log_softmax(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(logits, dim=1)

    def best_other(self, scores: torch.Tensor, target: int) -> torch.Tensor:
        return torch.cat([scores[:, :target], scores[:, target + 1 :]], dim=1).max(dim=1).values


def response(table: torch.Tensor, output: Output, link: str | Contrast, target: int) -> torch.Tensor:
    """Return the response `(b,)` to scores `(b, k)`, differentiable, in float64."""
    values: torch.Tensor = function_of(link, output).respond(table.double(), output, target, _Torch())
    return values


# Scores may differ by this share of what the tokens change, and by the rounding of the data type.
_SHARE = 0.02
_SELF_CHECK_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4}
_COARSE = 0.02

# The layers and reference tokens with which each module has been checked.
_CHECKED: "WeakKeyDictionary[nn.Module, set[tuple[str, int | None]]]" = WeakKeyDictionary()
_ADVICE = "use another layer or reference, or wrap it: mase.models.Callable(lambda texts: ..., labels=[...])"


def check_layer(engine: Engine, ids: torch.Tensor, movable: torch.Tensor, reference_id: int | None) -> None:
    """Check that a module reads the movable tokens of a text at the layer of the engine, and nowhere else.

    A module is checked once with each reference, on the first text with several movable tokens that it can be checked
    with. One that draws random numbers cannot be checked. A module that is refused is asked again each time.

    Parameters
    ----------
    engine
        How to run the module.
    ids, movable
        The ids `(1, t)`, and whether each of the tokens may be masked `(t,)`.
    reference_id
        The token that masks others; None for another token of the text.
    """
    checked, key = _CHECKED.setdefault(engine.module, set()), (engine.embedding, reference_id)
    if key in checked or int(movable.sum()) < 2:
        return
    rows = _rows(ids, movable, reference_id)
    try:
        vectors, expected, captured = engine.capture(rows)
        result = captured.forward_from(rows[:1].repeat(len(rows), 1), lambda: vectors)
    except ModelError:  # as for rows with other numbers of end tokens, of which some models want the same
        return
    first_half = (rows[2] == rows[1])[: vectors.shape[1], None]
    in_place = _near(vectors[2], torch.where(first_half, vectors[1], vectors[0]), vectors - vectors[:1])
    alone = _near(result, expected, expected - expected[:1])
    if (in_place and alone) or not torch.equal(expected, replace(engine, seed=engine.seed + 1).forward(rows)):
        checked.add(key)
        return
    if not in_place:
        raise CapabilityError(
            f"layer {engine.embedding!r} returns vectors that do not belong to the tokens one by one: the module puts "
            f"the tokens in another order before it embeds them, or mixes them there; {_ADVICE}"
        )
    raise CapabilityError(
        f"the module reads the tokens elsewhere, too, and not only by the layer {engine.embedding!r}: with other "
        f"tokens it returned {_told(expected)}, and with their vectors {_told(result)}; {_ADVICE}"
    )


def _rows(ids: torch.Tensor, movable: torch.Tensor, reference_id: int | None) -> torch.Tensor:
    """Return the text, the text with all movable tokens replaced, and with the first half of them replaced `(r, t)`."""
    places = movable.nonzero()[:, 0]
    other, half = ids.clone(), ids.clone()
    other[0, places] = ids[0, places].roll(1) if reference_id is None else reference_id
    half[0, places[: len(places) // 2]] = other[0, places[: len(places) // 2]]
    rows = torch.cat([ids, other, half])
    return torch.cat([rows, ids]) if len(rows) == ids.shape[1] else rows  # `capture` wants other numbers of both


def _near(values: torch.Tensor, expected: torch.Tensor, changes: torch.Tensor) -> bool:
    """Return whether values are the expected ones, up to a share of what the tokens change, and rounding.

    An infinite value, such as the logit of a class that is ruled out, has to be the same.
    """
    allowed = _SHARE * _largest(changes) + _SELF_CHECK_ROUNDING.get(expected.dtype, _COARSE) * max(
        _largest(expected), 1.0
    )
    apart = torch.where(values == expected, 0.0, (values.float() - expected.float()).abs())
    return bool((apart <= allowed).all())


def _largest(values: torch.Tensor) -> float:
    """Return the largest absolute value that is finite; 0 if there is none."""
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if len(finite) else 0.0


def _told(scores: torch.Tensor) -> str:
    return ", ".join(f"{value:.4g}" for value in scores[1].flatten()[:3].tolist())


# Bytes of embeddings in one batch. On a CPU a batch should fit into the second-level cache of a core; on a GPU it
# should occupy all processors. A recurrent layer processes one position of all rows at a time, so it needs more rows.
_CPU_BYTES, _RECURRENT_BYTES, _GPU_BYTES = 2 << 20, 4 << 20, 256 << 20

# The largest change of a response that is taken for rounding, as a share of the highest score.
_TORCH_PROBE_ROUNDING = 0.1


@dataclass(frozen=True, slots=True)
class TorchProbe(Probe):
    """A torch model bound to one text. See `mase.models.base.Probe`.

    Attributes
    ----------
    engine, kind, binding
        How to run the module, what its scores are, and how the text is bound to p coordinates.
    ids
        `(1, t)`: the ids of the text.
    text, offset
        `(t, d)`: the embeddings of the text, and what one unit of a coordinate adds to them, in float32 or float64. A
        coordinate near 1 would lose most of its deviation in half precision.
    dtype
        Data type of the model's embeddings.
    spread
        `(t,)`: the coordinate that moves each token; p for a fixed token.
    scale, start, n_setup, batch_size
        As in the protocol.
    """

    engine: Engine
    kind: Scores
    binding: Binding
    ids: torch.Tensor
    text: torch.Tensor
    offset: torch.Tensor
    dtype: torch.dtype
    spread: torch.Tensor
    scale: Floats
    start: Floats
    n_setup: int
    batch_size: int

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.kind.output

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if the scores are not what they were declared as."""
        return self.kind.notes

    @property
    def rounding(self) -> float:
        """How much the other rows of a batch may change a response if the module computes with few bits.

        A larger change is one of the module itself, as by a normalisation over the batch.
        """
        return _TORCH_PROBE_ROUNDING if self.engine.half or rounds(self.engine.module, self.engine.device) else 0.0

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; `rows` `(b,)` are their indices in the design."""
        with self.opened() as scores:
            return scores(coordinates, rows)

    @contextmanager
    def opened(self) -> Iterator[Callable[[Floats, Ints], Floats]]:
        """Yield the function `scores`, with the module prepared once for all batches."""
        with self.engine.entered() as forward:

            def scores(coordinates: Floats, rows: Ints) -> Floats:
                ids = self.ids.repeat(len(rows), 1)  # a new copy, because the module may write to it
                raw = forward(ids, lambda: self._apply(self._tensor(coordinates), self._noise(rows)))
                return as_float64(self.kind.table(raw))

            yield scores

    def seeded(self, seed: int) -> "TorchProbe":
        """Return the same probe, whose module runs from the random state of `seed`."""
        return replace(self, engine=replace(self.engine, seed=seed))

    @torch.inference_mode(mode=False)
    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` of the response with respect to the coordinates."""
        noise = self._noise(rows)

        raw, slopes = self.engine.derive(
            self.ids.repeat(len(rows), 1),
            self._tensor(coordinates),
            lambda c: self._apply(c, noise),
            self._response(link, target),
        )
        return as_float64(self.kind.table(raw)), as_float64(slopes)

    @torch.inference_mode(mode=False)
    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return `(b, p)`: the norm of the response's gradient with respect to all vectors that a coordinate moves."""
        with torch.no_grad():
            placed = self._apply(self._tensor(coordinates), self._noise(rows))

        _, slopes = self.engine.derive(
            self.ids.repeat(len(rows), 1), placed, lambda vectors: vectors, self._response(link, target)
        )
        squares = slopes.double().square().sum(dim=2)
        by_word = squares.new_zeros(len(rows), self.binding.n_coordinates + 1).index_add_(1, self.spread, squares)
        return as_float64(by_word[:, :-1].sqrt())

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i has the vectors of word `sources[:, i]`; `sources` is `(b, p)`.

        If the words differ in their number of tokens, see `mase.models.base.Binding.token_sources`.
        """
        token = torch.as_tensor(self.binding.token_sources(sources), device=self.text.device)
        ids = self.ids.repeat(len(sources), 1)
        return as_float64(self.kind.table(self.engine.forward_from(ids, lambda: self.text[token].to(self.dtype))))

    @torch.inference_mode(mode=False)
    def contributions(self, link: str | Contrast, target: int) -> Floats:
        """Return DeepLIFT contributions `(p,)` of an LSTM classifier; see `mase.models.torch.deep_lift`."""
        from mase.models.torch.deep_lift import contributions

        with torch.no_grad():
            placed = self._apply(self._tensor(np.repeat([[1.0], [0.0]], self.binding.n_coordinates, axis=1)), None)
        raw = self.engine.forward_from(self.ids.repeat(2, 1), placed.clone)

        by_token = contributions(self.engine.module, self._response(link, target), placed, raw)
        by_word = by_token.new_zeros(self.binding.n_coordinates + 1).index_add_(0, self.spread, by_token)
        return as_float64(by_word[:-1])

    def half(self) -> "TorchProbe | None":
        """Return the same probe in bfloat16, except for the last layer; None where that would be slower."""
        return (
            replace(self, engine=replace(self.engine, half=True)) if multiplies_bfloat16(self.engine.device) else None
        )

    def _response(self, link: str | Contrast, target: int) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return the function from the module's output to the response `(b,)`."""
        return lambda raw: response(self.kind.table(raw), self.output, link, target)

    def _tensor(self, coordinates: Floats) -> torch.Tensor:
        return torch.as_tensor(coordinates, dtype=self.text.dtype, device=self.text.device)

    def _apply(self, coordinates: torch.Tensor, noise: Noise | None) -> torch.Tensor:
        fixed = coordinates.new_ones(len(coordinates), 1)
        of_token = torch.cat([coordinates, fixed], dim=1).index_select(1, self.spread)
        placed: torch.Tensor = self.binding.space.apply(of_token, self.text, self.offset, noise)
        return placed.to(self.dtype)

    def _noise(self, rows: Ints) -> Noise | None:
        if not self.binding.space.noisy:
            return None
        t, d = self.text.shape
        draws = [row_noise(self.binding.noise_key, int(row), t, d) for row in rows]
        moves = (self.spread < self.binding.n_coordinates).to(self.text.dtype)
        normal = torch.as_tensor(np.stack([normal for normal, _ in draws])).to(self.text) * moves[:, None]
        uniform = torch.as_tensor(np.stack([uniform for _, uniform in draws])).to(self.text)
        return Noise(normal, uniform, self.binding.sigma)


@torch.inference_mode(mode=False)  # inference tensors cannot be part of a derivative
def bind(
    engine: Engine, kind: Scores, binding: Binding, reference_id: int | None, padding: Collection[int | None]
) -> TorchProbe:
    """Return the probe of one text, perturbed at the engine's layer.

    `reference_id` is the token whose embedding, at each position, is the reference. None is the zero vector. `padding`
    are the ids that the module may leave out.
    """
    tokens, p = binding.tokens, binding.n_coordinates
    engine.check_ids((*tokens.ids, *([] if reference_id is None else [reference_id])))
    ids = engine.ids(tokens.ids, 1)
    check_numbers(ids)
    spread = torch.as_tensor(
        np.where(binding.coordinate_of_token < 0, p, binding.coordinate_of_token), device=ids.device
    )
    is_left_out = reference_id in padding  # as an id, while its vector in the place of a word is read
    check_layer(engine, ids, spread < p, None if is_left_out else reference_id)
    inputs = ids if reference_id is None else torch.cat([ids, torch.where(spread == p, ids, reference_id)])
    captured, raw, engine, n_setup = _captured(engine, inputs)
    both = _at_least_float32(captured)
    text = both[0]
    reference = torch.zeros_like(text) if reference_id is None else both[1]
    offset = binding.space.offset(text, reference)
    scale = _scale(binding, text, offset)
    row_bytes = captured[0].numel() * captured.element_size()
    batch = int(np.clip(_batch_bytes(engine.module, text.device) // max(row_bytes, 1), 8, 1024))
    return TorchProbe(
        engine=engine,
        kind=kind,
        binding=binding,
        ids=ids,
        text=text,
        offset=offset,
        dtype=captured.dtype,
        spread=spread,
        scale=scale,
        start=as_float64(kind.table(raw[:1])),
        n_setup=n_setup,
        batch_size=batch,
    )


def _captured(engine: Engine, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Engine, int]:
    """Return vectors `(r, t, d)` of r rows of ids, scores `(1, columns)` of the first, the engine, and the evaluations.

    Each row runs alone: the answer to the text must not depend on its reference, and T5 and BART want the same number
    of end tokens in all rows of a batch, of which the reference may replace one that is written in the text.
    """
    n_again = 1 + (rows.shape[1] == 1)  # a second row tells batch first from time first by the shape
    each = [engine.capture(row.repeat(n_again, 1)) for row in rows]
    vectors = torch.cat([vectors[:1] for vectors, _, _ in each])
    return vectors, each[0][1][:1], each[0][2], n_again * len(rows)


def _batch_bytes(module: torch.nn.Module, device: torch.device) -> int:
    if device.type != "cpu":
        return _GPU_BYTES
    recurrent = any(isinstance(layer, (torch.nn.RNNBase, torch.nn.RNNCellBase)) for layer in module.modules())
    return _RECURRENT_BYTES if recurrent else _CPU_BYTES


def _at_least_float32(vectors: torch.Tensor) -> torch.Tensor:
    return vectors if vectors.dtype == torch.float64 else vectors.to(torch.float32)


def _scale(binding: Binding, text: torch.Tensor, offset: torch.Tensor) -> Floats:
    """Return `(p,)`: for each coordinate the smallest scale of the tokens that it moves, 0 if it moves none."""
    moved = (offset != 0).any(dim=1).cpu().numpy()
    token_scale = as_float64(binding.space.scale(text))
    scale = np.full(binding.n_coordinates, np.inf)
    movable = (binding.coordinate_of_token >= 0) & moved
    # Vectors with NaN give no scale. The scores of the model are checked later, and refused for such vectors.
    with np.errstate(invalid="ignore"):
        np.minimum.at(scale, binding.coordinate_of_token[movable], token_scale[movable])
    return np.where(np.isfinite(scale), scale, 0.0)

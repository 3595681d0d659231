"""The probe of a torch model: coordinates in, scores out, with the big arrays built per batch on the model's device."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from mase.arrays import Floats, Ints
from mase.links import Link, Output
from mase.models.devices import multiplies_bfloat16
from mase.models.engine import Engine, as_float64
from mase.models.outputs import Scores
from mase.models.protocol import Binding
from mase.models.torch_links import response
from mase.rng import row_noise
from mase.spaces.protocol import Noise

__all__ = ["TorchProbe", "bind"]

# Bytes of embeddings in one batch: about what the second cache of a CPU core holds, and what fills a GPU. A recurrent
# layer multiplies one position of all rows at a time, so it needs more rows for the same product.
_CPU_BYTES, _RECURRENT_BYTES, _GPU_BYTES = 2 << 20, 4 << 20, 256 << 20


@dataclass(frozen=True, slots=True)
class TorchProbe:
    """A torch model bound to one text. See `mase.models.protocol.Probe`.

    `text` and `offset` `(t, d)` are the embeddings and what one unit of a coordinate adds to them, in float32 at
    least: near 1 a coordinate in half precision would lose most of its deviation. `dtype` is the model's own; `spread`
    `(t,)` says which coordinate moves which token (p: none).
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

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; `rows` `(b,)` number them in the design."""
        with self.opened() as scores:
            return scores(coordinates, rows)

    @contextmanager
    def opened(self) -> Iterator[Callable[[Floats, Ints], Floats]]:
        """Give the function `scores`, with the module made ready once for all batches."""
        with self.engine.entered() as forward:

            def scores(coordinates: Floats, rows: Ints) -> Floats:
                ids = self.ids.repeat(len(rows), 1)  # a fresh copy: the module may write to it
                raw = forward(ids, lambda: self._apply(self._tensor(coordinates), self._noise(rows)))
                return as_float64(self.kind.table(raw))

            yield scores

    def seeded(self, seed: int) -> "TorchProbe":
        """Return the same probe, its module run from torch's random state of `seed`."""
        return replace(self, engine=replace(self.engine, seed=seed))

    @torch.inference_mode(mode=False)
    def gradients(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` of the response by the coordinates."""
        noise = self._noise(rows)

        raw, slopes = self.engine.derive(
            self.ids.repeat(len(rows), 1),
            self._tensor(coordinates),
            lambda c: self._apply(c, noise),
            self._response(link, target),
        )
        return as_float64(self.kind.table(raw)), as_float64(slopes)

    @torch.inference_mode(mode=False)
    def gradient_norms(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> Floats:
        """Return `(b, p)`: the norm of the response's gradient by all entries of the vectors that a coordinate moves."""
        with torch.no_grad():
            placed = self._apply(self._tensor(coordinates), self._noise(rows))

        _, slopes = self.engine.derive(
            self.ids.repeat(len(rows), 1), placed, lambda vectors: vectors, self._response(link, target)
        )
        squares = slopes.double().square().sum(dim=2)
        by_word = squares.new_zeros(len(rows), self.binding.n_coordinates + 1).index_add_(1, self.spread, squares)
        return as_float64(by_word[:, :-1].sqrt())

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where the words of coordinates i have the vectors of those of `sources[:, i]`, `(b, p)`.

        A word of several tokens takes the other's vectors in turn, from the first again where it has more of them.
        """
        token = torch.as_tensor(self.binding.token_sources(sources), device=self.text.device)
        ids = self.ids.repeat(len(sources), 1)
        return as_float64(self.kind.table(self.engine.forward_from(ids, lambda: self.text[token].to(self.dtype))))

    @torch.inference_mode(mode=False)
    def contributions(self, link: Link, target: int) -> Floats:
        """Return DeepLIFT contributions `(p,)` of an LSTM classifier; see `mase.models.deep_lift`."""
        from mase.models.deep_lift import contributions

        with torch.no_grad():
            placed = self._apply(self._tensor(np.repeat([[1.0], [0.0]], self.binding.n_coordinates, axis=1)), None)
        raw = self.engine.forward_from(self.ids.repeat(2, 1), placed.clone)

        by_token = contributions(self.engine.module, self._response(link, target), placed, raw)
        by_word = by_token.new_zeros(self.binding.n_coordinates + 1).index_add_(0, self.spread, by_token)
        return as_float64(by_word[:-1])

    def half(self) -> "TorchProbe | None":
        """Return the same probe, its model run in bfloat16 but for the last layer; None where that would be slower."""
        return (
            replace(self, engine=replace(self.engine, half=True)) if multiplies_bfloat16(self.engine.device) else None
        )

    def _response(self, link: Link, target: int) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return the function from what the module answers to the response `(b,)`."""
        return lambda raw: response(self.kind.table(raw), self.output, link, target)

    def _tensor(self, coordinates: Floats) -> torch.Tensor:
        return torch.as_tensor(coordinates, dtype=self.text.dtype, device=self.text.device)

    def _apply(self, coordinates: torch.Tensor, noise: Noise | None) -> torch.Tensor:
        still = coordinates.new_ones(len(coordinates), 1)
        of_token = torch.cat([coordinates, still], dim=1).index_select(1, self.spread)
        placed: torch.Tensor = self.binding.space.apply(of_token, self.text, self.offset, noise)
        return placed.to(self.dtype)

    def _noise(self, rows: Ints) -> Noise | None:
        if not self.binding.space.noisy:
            return None
        t, d = self.text.shape
        drawn = [row_noise(self.binding.noise_key, int(row), t, d) for row in rows]
        moves = (self.spread < self.binding.n_coordinates).to(self.text.dtype)
        normal = torch.as_tensor(np.stack([normal for normal, _ in drawn])).to(self.text) * moves[:, None]
        return Noise(
            normal, torch.as_tensor(np.stack([uniform for _, uniform in drawn])).to(self.text), self.binding.sigma
        )


@torch.inference_mode(mode=False)  # else what is kept of the text could never be part of a derivative
def bind(engine: Engine, kind: Scores, binding: Binding, reference_id: int | None) -> TorchProbe:
    """Return the probe of one text, entered at the engine's layer.

    `reference_id` is the token whose embedding, in each place, stands for absence; None is the zero vector.
    """
    tokens, p = binding.tokens, binding.n_coordinates
    ids = engine.ids(tokens.ids, 1)
    spread = torch.as_tensor(
        np.where(binding.coordinate_of_token < 0, p, binding.coordinate_of_token), device=ids.device
    )
    asked = ids if reference_id is None else torch.cat([ids, torch.where(spread == p, ids, reference_id)])
    if len(asked) == asked.shape[1]:
        asked = torch.cat([asked, ids])  # one more row: else batch and time first could not be told apart
    captured, raw = engine.capture(asked)
    both = _at_least_float32(captured)
    text = both[0]
    reference = torch.zeros_like(text) if reference_id is None else both[1]
    offset = binding.space.offset(text, reference)
    scale = _widths(binding, text, offset)
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
        n_setup=len(asked),
        batch_size=batch,
    )


def _batch_bytes(module: torch.nn.Module, device: torch.device) -> int:
    if device.type != "cpu":
        return _GPU_BYTES
    recurrent = any(isinstance(layer, (torch.nn.RNNBase, torch.nn.RNNCellBase)) for layer in module.modules())
    return _RECURRENT_BYTES if recurrent else _CPU_BYTES


def _at_least_float32(vectors: torch.Tensor) -> torch.Tensor:
    return vectors if vectors.dtype == torch.float64 else vectors.to(torch.float32)


def _widths(binding: Binding, text: torch.Tensor, offset: torch.Tensor) -> Floats:
    """Return `(p,)`: per coordinate the smallest width of the tokens it moves, 0 if it moves none."""
    moved = (offset != 0).any(dim=1).cpu().numpy()
    token_widths = as_float64(binding.space.scale(text))
    scale = np.full(binding.n_coordinates, np.inf)
    inside = (binding.coordinate_of_token >= 0) & moved
    with np.errstate(
        invalid="ignore"
    ):  # vectors that are not finite give no width; the model's answer is refused for them
        np.minimum.at(scale, binding.coordinate_of_token[inside], token_widths[inside])
    return np.where(np.isfinite(scale), scale, 0.0)

"""A model that caches its scores of the current text, so that methods that evaluate the same rows share the cost.

`mase-paper` and `mase-sparse` evaluate the same rows, and a sweep over N evaluates ever longer prefixes of them. The
cache holds whole batches, not rows. A batch that was evaluated before gets the same scores, bit for bit. Any other
batch goes to the model unchanged. So no score differs from that of a model without a cache.
"""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from mase.arrays import Floats, Ints
from mase.links import Output
from mase.models.protocol import Binding, HalfProbe, Model, Opened, Probe
from mase.models.wrapper import Wrapper

__all__ = ["CachedModel"]


@dataclass(slots=True)
class _Cache:
    """Scores by the digest of a batch, with the seconds that they took; `saved` is the time of repeated batches."""

    scores: dict[bytes, tuple[Floats, float]] = field(default_factory=dict)
    saved: float = 0.0


class CachedModel(Wrapper):
    """A model whose probes cache their scores until `clear` is called. See `mase.models.protocol.Model`.

    It serves methods that only need scores at coordinates. Its probes have no gradients.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._cache = _Cache()

    @property
    def saved(self) -> float:
        """Seconds that the cached scores would have taken, since the model was created."""
        return self._cache.saved

    def clear(self) -> None:
        """Drop all cached scores: they are of no use for the next text."""
        self._cache.scores.clear()

    def bind(self, binding: Binding) -> Probe:
        """Return the caching probe of one text."""
        probe = self.model.bind(binding)
        noise = (binding.noise_key, binding.sigma) if binding.space.noisy else None
        key = repr((binding.tokens.text, binding.space, binding.coordinate_of_token.tolist(), noise)).encode()
        kind = _CachedHalfProbe if isinstance(probe, HalfProbe) else _CachedProbe
        return kind(probe, self._cache, key, binding.space.noisy)


@dataclass(frozen=True, slots=True)
class _CachedProbe:
    """A probe with a cache; `key` identifies the binding, `noisy` says whether scores depend on the row numbers."""

    probe: Probe
    cache: _Cache
    key: bytes
    noisy: bool

    @property
    def output(self) -> Output:
        return self.probe.output

    @property
    def scale(self) -> Floats:
        return self.probe.scale

    @property
    def start(self) -> Floats:
        return self.probe.start

    @property
    def n_setup(self) -> int:
        return self.probe.n_setup

    @property
    def batch_size(self) -> int:
        return self.probe.batch_size

    def opened(self) -> Opened:
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        digest = blake2b(self.key, digest_size=16)
        digest.update(repr(coordinates.shape).encode())
        digest.update(np.ascontiguousarray(coordinates).data)
        if self.noisy:
            digest.update(np.ascontiguousarray(rows).data)
        cached = self.cache.scores.get(digest.digest())
        if cached is not None:
            self.cache.saved += cached[1]
            return cached[0].copy()
        start = time.perf_counter()
        scores = self.probe.scores(coordinates, rows)
        self.cache.scores[digest.digest()] = (scores.copy(), time.perf_counter() - start)
        return scores


@dataclass(frozen=True, slots=True)
class _CachedHalfProbe(_CachedProbe):
    """A caching probe that also has half precision, whose scores are cached separately."""

    def half(self) -> _CachedProbe | None:
        assert isinstance(self.probe, HalfProbe)
        half = self.probe.half()
        return None if half is None else _CachedProbe(half, self.cache, b"half" + self.key, self.noisy)

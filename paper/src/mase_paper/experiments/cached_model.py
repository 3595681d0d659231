"""A model that caches its scores of the current text, so that methods that evaluate the same rows share the cost.

`mase-paper` and `mase-sparse` evaluate the same rows, and a sweep over N evaluates ever longer prefixes of them. The
cache holds whole batches, not rows. A batch that was evaluated before gets the same scores, bit for bit. Any other
batch goes to the model unchanged. So no score differs from that of a model without a cache. Answers may also be kept
in a folder, for later runs.
"""

import time
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from mase.arrays import Floats, Ints
from mase.links import Output
from mase.models.base import Binding, Model, Probe, Wrapper, probe_of
from mase_paper.experiments.answers import Answer, Answers

__all__ = ["CachedModel"]


@dataclass(slots=True)
class _Cache:
    """Answers by the digest of a batch; `saved` is the time of repeated batches, `n_kept` the number in the folder."""

    answers: dict[bytes, Answer] = field(default_factory=dict)
    saved: float = 0.0
    n_kept: int = 0


class CachedModel(Wrapper):
    """A model whose probes cache their scores of one text. See `mase.models.base.Model`.

    It serves methods that only need scores at coordinates. Its probes have no gradients.

    Parameters
    ----------
    model
        The model to ask.
    kept
        The folder in which answers are kept for later runs. Without one, they are gone when `clear` is called.
    """

    def __init__(self, model: Model, kept: Answers | None = None) -> None:
        super().__init__(model)
        self._cache, self._kept = _Cache(), kept

    @property
    def saved(self) -> float:
        """Seconds that the cached scores would have taken, since the model was created."""
        return self._cache.saved

    def load(self, text: str) -> None:
        """Read the answers about a text that the folder has, instead of those about the text before."""
        self.clear()
        if self._kept is not None:
            self._cache.answers.update(self._kept.read(text))
            self._cache.n_kept = len(self._cache.answers)

    def save(self, text: str) -> None:
        """Write the answers about a text to the folder, if there are new ones."""
        if self._kept is not None and len(self._cache.answers) > self._cache.n_kept:
            self._kept.write(text, self._cache.answers)
            self._cache.n_kept = len(self._cache.answers)

    def clear(self) -> None:
        """Drop all cached scores: they are of no use for the next text."""
        self._cache.answers.clear()
        self._cache.n_kept = 0

    def bind(self, binding: Binding) -> Probe:
        """Return the caching probe of one text."""
        probe = probe_of(self.model, binding)
        noise = (binding.noise_key, binding.sigma) if binding.space.noisy else None
        key = repr((binding.tokens.text, binding.space, binding.coordinate_of_token.tolist(), noise)).encode()
        return _CachedProbe(probe, self._cache, key, binding.space.noisy)


@dataclass(frozen=True, slots=True)
class _CachedProbe(Probe):
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

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        digest = blake2b(self.key, digest_size=16)
        digest.update(repr(coordinates.shape).encode())
        digest.update(np.ascontiguousarray(coordinates).data)
        if self.noisy:
            digest.update(np.ascontiguousarray(rows).data)
        cached = self.cache.answers.get(digest.digest())
        if cached is not None:
            self.cache.saved += cached.seconds
            return cached.scores.copy()
        start = time.perf_counter()
        scores = self.probe.scores(coordinates, rows)
        self.cache.answers[digest.digest()] = Answer(scores.copy(), time.perf_counter() - start)
        return scores

    def half(self) -> "_CachedProbe | None":
        """Return the probe in half precision, whose scores are cached separately."""
        half = self.probe.half()
        return None if half is None else _CachedProbe(half, self.cache, b"half" + self.key, self.noisy)

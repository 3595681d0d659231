"""A model that remembers what it was asked about the text in hand, so that methods that ask the same rows pay once.

`mase-paper` and `mase-sparse` ask the same rows, and a sweep over N asks longer and longer beginnings of the same rows.
Whole batches are remembered rather than rows: a batch that was asked before gets its own earlier answer, bit for bit,
and any other batch goes to the model as it is. So no score can differ from that of a model without memory.
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

__all__ = ["Remembering"]


@dataclass(slots=True)
class _Memory:
    """Answers by the digest of a batch, each with the seconds that it took; `saved` are those of the repeated ones."""

    answers: dict[bytes, tuple[Floats, float]] = field(default_factory=dict)
    saved: float = 0.0


class Remembering(Wrapper):
    """A model whose probes remember their answers until `forget` is called. See `mase.models.protocol.Model`.

    It is for methods that ask for scores at coordinates; its probes have none of the model's other powers (gradients).
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._memory = _Memory()

    @property
    def saved(self) -> float:
        """Seconds that the remembered answers would have taken, since the model was made."""
        return self._memory.saved

    def forget(self) -> None:
        """Drop all answers: the next text needs others."""
        self._memory.answers.clear()

    def bind(self, binding: Binding) -> Probe:
        """Return the remembering probe of one text."""
        probe = self.model.bind(binding)
        noise = (binding.noise_key, binding.sigma) if binding.space.noisy else None
        key = repr((binding.tokens.text, binding.space, binding.coordinate_of_token.tolist(), noise)).encode()
        remembering = _HalfProbe if isinstance(probe, HalfProbe) else _Probe
        return remembering(probe, self._memory, key, binding.space.noisy)


@dataclass(frozen=True, slots=True)
class _Probe:
    """A probe that remembers; `key` names the question, `noisy` says whether a row's number is part of it."""

    probe: Probe
    memory: _Memory
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
        known = self.memory.answers.get(digest.digest())
        if known is not None:
            self.memory.saved += known[1]
            return known[0].copy()
        began = time.perf_counter()
        answer = self.probe.scores(coordinates, rows)
        self.memory.answers[digest.digest()] = (answer.copy(), time.perf_counter() - began)
        return answer


@dataclass(frozen=True, slots=True)
class _HalfProbe(_Probe):
    """A remembering probe that can also answer in half precision, which are other answers."""

    def half(self) -> _Probe | None:
        assert isinstance(self.probe, HalfProbe)
        half = self.probe.half()
        return None if half is None else _Probe(half, self.memory, b"half" + self.key, self.noisy)

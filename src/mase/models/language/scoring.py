"""Log-probabilities of given tokens after prompts, with few and short forward passes, and greedy continuations.

Sequences of prompt and answer that begin alike share the pass over their beginning (`mase.models.language.plan`). All
else goes in batches of similar length. Rows are padded at the end, where a causal model does not look, so that the
positions of all tokens are those without padding.
"""

import copy
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from mase.arrays import Floats, Ints
from mase.errors import ModelError
from mase.models.batching import in_batches
from mase.models.language.forward import Cache, Forward
from mase.models.language.plan import Branch, Costs, batches, branches, common
from mase.models.language.trial import Caching, caching

__all__ = ["Row", "Scorer", "chosen_log_probabilities", "costs_of", "enough_memory"]

# On a core of a Xeon, a short pass of SmolLM2 costs 30 to 50 tokens of a long one more than its own in float32, and 80
# to 100 in bfloat16; batches of 500 to 2,000 tokens cost the same. A GPU has to be occupied; none was measured.
CPU, CPU_HALF, GPU = Costs(per_pass=48, most=1024), Costs(per_pass=96, most=1024), Costs(per_pass=1024, most=16384)
AT_ONCE = 256  # sequences that are planned together
_NORMALISED = 16  # positions whose probabilities are normalised at once


@dataclass(frozen=True, slots=True)
class Row:
    """A sequence of tokens, of which those from `start` on are the answer."""

    ids: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Read:
    """One log-probability to find: of the token `target` after a position, which is a number `column` of a `row`."""

    position: int
    target: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Prefix:
    """Ids that a model has read, and their cache."""

    ids: tuple[int, ...]
    cache: Cache


class Scorer:
    """Log-probabilities of answers by one model.

    Parameters
    ----------
    forward
        The model.
    tried
        What a cache is good for; None for a trial before the first rows.
    """

    def __init__(self, forward: Forward, *, tried: Caching | None = None) -> None:
        self.forward, self.tried = forward, tried
        self._costs = costs_of(forward)
        self._prefix: Prefix | None = None

    def reading(self, ids: Sequence[int]) -> "Scorer":
        """Return a scorer that reads ids now, so that rows which begin alike cost less; the same if it cannot.

        Raises
        ------
        ModelError
            If the model fails, or runs out of memory.
        """
        if not ids or self._switched(len(ids)) or (self._prefix is not None and self._prefix.ids == tuple(ids)):
            return self
        with self.forward.running(), enough_memory():
            cache = self.forward([ids], [], keep=True)[1] if self.caching(ids).shortens else None
        if cache is None or cache.without(1) is None:  # the trial was shorter
            return self
        scorer = copy.copy(self)
        scorer._prefix = Prefix(tuple(ids), cache)
        return scorer

    def log_probabilities(self, rows: Sequence[Row]) -> list[Floats]:
        """Return, for each row, the log-probabilities `(t,)` of the t tokens of its answer.

        Raises
        ------
        ModelError
            If the model fails, or runs out of memory on a single row.
        """
        found = [np.empty(len(row.ids) - row.start) for row in rows]
        reads: dict[tuple[int, ...], list[Read]] = defaultdict(list)
        for index, row in enumerate(rows):
            targets = enumerate(row.ids[row.start :])
            # The last token is only a target: nothing is read after it.
            reads[row.ids[:-1]] += [Read(row.start - 1 + column, token, index, column) for column, token in targets]
        sequences = sorted(reads)
        with self.forward.running(), enough_memory():
            for some, shares in self._together(sequences):
                known = [self._known(ids, min(read.position for read in reads[ids])) for ids in some]
                continues = self.caching(some[-1]).continues and shares
                shared = branches(some, self._costs.per_pass, known) if continues else ()
                walk = _Walk(self, some, [reads[ids] for ids in some])
                for read, value in walk.below(Branch(0, len(some), 0, 0, shared)):
                    found[read.row][read.column] = value
        return found

    def greedy(self, ids: Sequence[int], n: int, stops: Collection[int]) -> list[int]:
        """Return the most probable next token, again and again: up to n tokens, without the first of `stops`."""
        answer: list[int] = []
        with self.forward.running(), enough_memory():
            keep, known = self.caching(ids).continues, self._known(ids, len(ids) - 1)
            cache, fresh = self.first(known), list(ids[known:])
            while len(answer) < n:
                logits, cache = self.forward([fresh], [len(fresh) - 1], cache, keep=keep)
                token = int(logits[0].argmax())
                if token in stops:
                    break
                answer.append(token)
                n_read = len(ids) + len(answer)
                cache = None if self._switched(n_read) and not self._switched(n_read - 1) else cache
                fresh = [*ids, *answer] if cache is None else [token]
        return answer

    def replaced(self, forward: Forward) -> "Scorer":
        """Return the scorer of the same model in another precision."""
        return Scorer(forward, tried=self.tried)

    def caching(self, ids: Sequence[int]) -> Caching:
        """Return what a cache is good for, as a trial on some valid ids shows once.

        Raises
        ------
        CapabilityError
            If the model is not causal.
        """
        if self.tried is None:
            self.tried = caching(self.forward, ids)
        return self.tried

    def first(self, n: int) -> Cache | None:
        """Return a cache of the first n of the ids that were read, which the model may write to; None for none."""
        return None if self._prefix is None or not n else self._prefix.cache.without(len(self._prefix.ids) - n)

    def _known(self, ids: Sequence[int], most: int) -> int:
        """Return how many of the ids, up to `most`, are the first of those that were read."""
        return 0 if self._prefix is None or self._switched(len(ids)) else min(common(self._prefix.ids, ids), most)

    def _switched(self, n: int) -> bool:
        """Return whether positions of rows of n tokens are encoded otherwise, so that no shorter cache serves them."""
        return self.forward.switch is not None and n > self.forward.switch

    def _together(self, sequences: Sequence[tuple[int, ...]]) -> Iterator[tuple[list[tuple[int, ...]], bool]]:
        """Yield the sequences that are planned together, and whether they may share the pass over their beginning."""
        for switched in (False, True):
            alike = [ids for ids in sequences if self._switched(len(ids)) == switched]
            for first in range(0, len(alike), AT_ONCE):
                yield alike[first : first + AT_ONCE], not switched

    def batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield the indices of the rows of each batch."""
        yield from batches(lengths, self._costs)

    def asked(self, n: int) -> None:
        """Take note of a batch; see `mase.models.batching.Watch`."""

    def halved(self, batch_size: int) -> None:
        """Take note that memory ran out: later batches have half as many tokens."""
        del batch_size
        self._costs = replace(self._costs, most=max(self._costs.most // 2, 1))


@dataclass(frozen=True, slots=True)
class _Walk:
    """The passes over sequences of ids, and what is to be read of each of them."""

    scorer: Scorer
    sequences: list[tuple[int, ...]]
    reads: list[list[Read]]

    def below(self, branch: Branch, cache: Cache | None = None) -> Iterator[tuple[Read, float]]:
        """Yield what is read of a branch after its own tokens, which are in the cache."""
        rest = {*range(branch.first, branch.last)}
        for inner in branch.branches:
            members = range(inner.first, inner.last)
            rest -= {*members}
            if inner.known:
                yield from self.below(inner, self.scorer.first(inner.end))
                continue
            reads = [read for index in members for read in self.reads[index]]
            own, kept = self._passed([inner.first], inner.start, inner.end, [reads], cache, keep=True)
            yield from own
            yield from self.below(inner, kept)
        # A sequence that ends here is the beginning of others, so that all of it was read.
        last = [index for index in sorted(rest) if len(self.sequences[index]) > branch.end]
        for batch in self.scorer.batches([len(self.sequences[index]) - branch.end for index in last]):
            some: Ints = np.array([last[index] for index in batch])
            for _, found in in_batches(
                lambda some, _: self._read(some, branch.end, cache), some, len(some), watch=self.scorer
            ):
                yield from found

    def _read(self, members: Ints, start: int, cache: Cache | None) -> list[tuple[Read, float]]:
        """Return what is read of sequences in one batch from `start` on."""
        reads = [self.reads[index] for index in members]
        return self._passed(members.tolist(), start, None, reads, cache)[0]

    def _passed(
        self,
        members: list[int],
        start: int,
        end: int | None,
        reads: list[list[Read]],
        cache: Cache | None,
        *,
        keep: bool = False,
    ) -> tuple[list[tuple[Read, float]], Cache | None]:
        """Return what is read of the tokens from `start` to `end` of sequences, with `reads` of each of them."""
        rows = [self.sequences[index][start:end] for index in members]
        width = max(map(len, rows))
        places = [
            (width * row + read.position - start, read)
            for row, (ids, wanted) in enumerate(zip(rows, reads, strict=True))
            for read in wanted
            if start <= read.position < start + len(ids)
        ]
        positions = sorted({place for place, _ in places})
        copies = None if cache is None else cache.copies(len(rows))
        logits, kept = self.scorer.forward(rows, positions, copies, keep=keep)
        at = {place: number for number, place in enumerate(positions)}
        values = chosen_log_probabilities(
            logits, [at[place] for place, _ in places], [read.target for _, read in places]
        )
        return [(read, value) for (_, read), value in zip(places, values, strict=True)], kept


@contextmanager
def enough_memory() -> Iterator[None]:
    """Convert the MemoryError of a pass over one row, which cannot be halved, to a ModelError."""
    try:
        yield
    except MemoryError as error:
        raise ModelError(
            "the model ran out of memory on a single prompt; leave out some of the context, or use a larger device"
        ) from error


def costs_of(forward: Forward) -> Costs:
    """Return what passes cost on the device and in the precision of a model."""
    if forward.device.type != "cpu":
        return GPU
    return CPU_HALF if forward.rounds else CPU


def chosen_log_probabilities(logits: torch.Tensor, rows: list[int], targets: list[int]) -> list[float]:
    """Return the log-probability of each target by a row of logits `(m, vocabulary)`; only a few rows are copied."""
    if not targets:
        return []
    totals = torch.cat([some.float().logsumexp(dim=-1) for some in torch.split(logits, _NORMALISED)])
    row = torch.as_tensor(rows, device=logits.device)
    chosen = logits[row, torch.as_tensor(targets, device=logits.device)].float()
    return [float(value) for value in (chosen - totals[row]).double().cpu()]

"""Log-probabilities of answers with few forward passes: shared beginnings, caches and batches.

The cost of a forward pass is counted in tokens: those of its batch, padding included, and a number that stands for what
a pass costs beside them.

Sequences of prompt and answer that begin alike share the pass over their beginning.
All else goes in batches of similar length. Rows are padded at the end, where a causal model does not look, so that the
positions of all tokens are those without padding.
"""

import copy
import inspect
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError, MaseError, ModelError, NonFiniteError
from mase.models.batching import Watch, in_batches
from mase.models.torch.engine import borrowed, device_of, here, user_code

# The names under which models of transformers return keys and values, or states, and take them again.
_CACHES = ("cache", "past_key_values", "cache_params")

# What a cache raises that cannot be shortened, such as one of states, or of a window that is full.
_UNSHORTENED = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Cache:
    """What a model keeps of n tokens that it has read: a cache of transformers, and the name of its argument."""

    name: str
    value: Any

    def copies(self, n: int) -> "Cache":
        """Return a cache for n rows from one for a single row, which stays as it is."""
        value = copy.deepcopy(self.value)
        value.reorder_cache(torch.zeros(n, dtype=torch.long))
        return Cache(self.name, value)

    def without(self, n: int) -> "Cache | None":
        """Return a cache without the last n tokens; this one stays as it is. None if the model needs all of them."""
        value = copy.deepcopy(self.value)
        try:
            if n:
                value.crop(-n)
        except _UNSHORTENED:
            return None
        return Cache(self.name, value)


@dataclass(frozen=True, slots=True)
class Forward:
    """A causal language model of transformers, as a function from ids to logits at some positions.

    Attributes
    ----------
    module
        The model. It is changed only inside of `running`.
    half
        Weights in half precision, by name; none to run the model as it is.
    """

    module: nn.Module
    half: Mapping[str, torch.Tensor] | None = None

    @property
    def device(self) -> torch.device:
        """The device of the ids."""
        device = device_of(self.module.get_input_embeddings())  # type: ignore[operator]
        return device if device.type != "meta" else device_of(self.module)

    @property
    def rounds(self) -> bool:
        """Whether it computes with 16 bits."""
        weights = (weight.dtype for weight in self.module.parameters() if weight.is_floating_point())
        return self.half is not None or any(dtype.itemsize < torch.float32.itemsize for dtype in weights)

    @property
    def switch(self) -> int | None:
        """The length of a row above which the model encodes all of its positions otherwise; None if there is none.

        Models with "longrope", such as those of the Phi family, have two sets of frequencies. Keys of one set say
        nothing to queries of the other.
        """
        config: Any = self.module.config
        parameters = getattr(config.get_text_config(), "rope_parameters", None) or {}
        # There may be parameters for each layer.
        each = [item for item in (parameters, *parameters.values()) if isinstance(item, Mapping)]
        lengths = [item.get("original_max_position_embeddings") for item in each if item.get("rope_type") == "longrope"]
        return min(filter(None, lengths), default=None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Borrow the module and set its precision, for any number of passes."""
        with ExitStack() as stack:
            stack.enter_context(borrowed(self.module))
            stack.enter_context(torch.autocast(self.device.type, torch.bfloat16, enabled=self.half is not None))
            yield

    def __call__(
        self, rows: Sequence[Sequence[int]], positions: Sequence[int], cache: Cache | None = None, *, keep: bool = False
    ) -> tuple[torch.Tensor, Cache | None]:
        """Return logits `(m, vocabulary)` at m positions, and the cache after them if it is to be kept.

        Parameters
        ----------
        rows
            The ids of b rows. Shorter ones are padded at their end, where they have no effect.
        positions
            The m positions in the padded rows one after the other: w * row + position, where w is the longest length.
        cache
            What the model keeps of the tokens before them, of b rows; the model writes to it.
        keep
            Whether to return a cache; None where the model returns none.
        """
        ids = torch.as_tensor(_padded(rows), device=self.device)
        index = torch.as_tensor(np.asarray(positions, dtype=np.int64))
        arguments: dict[str, Any] = {"input_ids": ids, "use_cache": keep or cache is not None, "return_dict": True}
        if cache is not None:
            arguments[cache.name] = cache.value
        logits, output = self.logits(arguments, index)
        return logits, self.cache_of(output) if keep else None

    def cache_of(self, output: Any) -> Cache | None:
        """Return the cache in an output, with the name of the argument that takes it; None if there is none.

        An output may have it under a name that the model does not know, as that of a newer version of transformers.
        """
        known = inspect.signature(self.module.forward).parameters
        names = [name for name in _CACHES if name in known] or _CACHES  # a wrapper may take any arguments
        result = ((name, getattr(output, name, None)) for name in names)
        return next((Cache(name, value) for name, value in result if value is not None), None)

    def logits(self, arguments: Mapping[str, Any], index: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Return logits `(m, vocabulary)` at m positions of the rows one after the other, and all that is returned."""
        with user_code("the model"), self._only_at(index) as reached:
            output = self._called(arguments)
            logits = output.logits
        if not reached:
            logits = logits.flatten(0, 1)[index.to(logits.device)]
        return logits.reshape(-1, logits.shape[-1])[: len(index)], output

    def _called(self, arguments: Mapping[str, Any]) -> Any:
        if self.half is None:
            return self.module(**arguments)
        return functional_call(self.module, dict(self.half), kwargs=dict(arguments), tie_weights=False)

    @contextmanager
    def _only_at(self, index: torch.Tensor) -> Iterator[list[int]]:
        """Let the head compute logits only at m positions; yield a list that is empty unless the head took part.

        What a model does with logits after its head, such as a cap, is done by the model itself. A head that is asked
        for anything but the vectors `(b, t, d)` of all tokens, such as several predictions for each, stays as it is.
        """
        reached: list[int] = []
        head = self.module.get_output_embeddings()  # type: ignore[operator]
        with ExitStack() as exact, ExitStack() as hooks:

            def select(_: nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
                if args[0].ndim != 3:
                    return args
                vectors = args[0].flatten(0, -2)
                chosen = vectors[index.to(vectors.device)] if len(index) else vectors[:1]
                reached.append(len(index))
                if self.half is not None:  # eight bits would hide differences between rows
                    exact.enter_context(torch.autocast(vectors.device.type, enabled=False))
                    chosen = chosen.float()
                return (chosen[None], *args[1:])

            if isinstance(head, nn.Module):
                hooks.callback(head.register_forward_pre_hook(here(select)).remove)
                hooks.callback(head.register_forward_hook(here(lambda *_: exact.close())).remove)
            yield reached


def half_weights(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return the matrices of a model in bfloat16 by name, except those of the embeddings and of the head."""
    offloaded = next((name for name, weight in module.named_parameters() if weight.is_meta), None)
    if offloaded is not None:
        raise CapabilityError(
            f"the weights {offloaded!r} are offloaded, expected all in memory for precision 'bfloat16'; load the model "
            "with dtype=torch.bfloat16, or use 'float32'"
        )
    ends = [module.get_input_embeddings(), module.get_output_embeddings()]  # type: ignore[operator]
    kept = {id(weight) for layer in ends if isinstance(layer, nn.Module) for weight in layer.parameters()}
    return {
        name: weight.detach().to(torch.bfloat16)
        for name, weight in module.named_parameters()
        if weight.ndim > 1 and weight.is_floating_point() and id(weight) not in kept
    }


def _padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Return rows of ids as an array `(b, w)`, with the first id of each row as padding, which is surely valid."""
    width = max(map(len, rows))
    return np.array([[*row, *[row[0]] * (width - len(row))] for row in rows], dtype=np.int64)


Ids = tuple[int, ...]

# The sequences `first` to `last` - 1, of which `start` tokens are already in a cache; and what a plan for them is: the
# tokens saved, and the branches.
_Part = tuple[int, int, int]
_Plan = tuple[int, "tuple[Branch, ...]"]


@dataclass(frozen=True, slots=True)
class Costs:
    """What forward passes cost on a device, in tokens.

    Attributes
    ----------
    per_pass
        Cost of a pass beside its tokens: reading the weights, and starting its operations.
    most
        Largest number of tokens in a batch of several rows.
    """

    per_pass: int
    most: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A beginning that the sequences `first` to `last` - 1 share; its tokens `start` to `end` - 1 are computed once.

    The sequences continue from `end`, some of them in `branches` of their own. Of a `known` beginning, all tokens were
    computed before.
    """

    first: int
    last: int
    start: int
    end: int
    branches: "tuple[Branch, ...]" = ()
    known: bool = False


def branches(sequences: Sequence[Ids], per_pass: int, known: Sequence[int] | None = None) -> tuple[Branch, ...]:
    """Return the shared beginnings that pay for themselves, of sequences in ascending order without duplicates.

    A beginning saves its tokens for all sequences but one. It costs two passes: its own, and that of the sequences that
    could otherwise be in a batch with others. The first `known` tokens of each sequence are those of one sequence that
    was computed before: there, a beginning saves its tokens for all, and costs one pass.
    """
    shared = [common(left, right) for left, right in pairwise(sequences)]
    planner = _Planner(shared, [0] * len(sequences) if known is None else known, per_pass)
    plans: dict[_Part, _Plan] = {}
    whole = (0, len(sequences), 0)
    waiting = [whole]  # instead of a recursion, which could be as deep as there are sequences
    while waiting:
        part = waiting[-1]
        missing = [item for item in planner.parts(part) if item not in plans]
        if missing:
            waiting += missing
        else:
            plans[waiting.pop()] = planner.best(part, plans)
    return plans[whole][1]


@dataclass(frozen=True, slots=True)
class _Planner:
    """How the best plan for some sequences follows from those for parts of them.

    `shared` has the length of the common beginning of each sequence and the next one.
    """

    shared: Sequence[int]
    known: Sequence[int]
    per_pass: int

    def parts(self, part: _Part) -> list[_Part]:
        """Return the parts whose plans that of a part is made of."""
        first, last, start = part
        end, ranges = self._common(first, last)
        known = self._known(first, last)
        again = [(first, last, known)] if known > start else []
        return [*again, *((*item, begin) for item in ranges for begin in (start, end))]

    def best(self, part: _Part, plans: Mapping[_Part, _Plan]) -> _Plan:
        """Return the plan for a part that saves most, from those for its `parts`."""
        first, last, start = part
        n, end = last - first, self._known(first, last)
        result: list[_Plan] = [self._computed(part, plans) if n > 1 else (0, ())]
        if end > start:
            saved, below = plans[first, last, end]
            branch = Branch(first, last, start, end, below, known=True)
            result.append((saved + n * (end - start) - self.per_pass, (branch,)))
        return max(result, key=lambda plan: plan[0])

    def _computed(self, part: _Part, plans: Mapping[_Part, _Plan]) -> _Plan:
        """Return the best plan where the first beginning, if there is one, is computed."""
        first, last, start = part
        end, ranges = self._common(first, last)
        apart = _joined([plans[*item, start] for item in ranges])
        saved, below = _joined([plans[*item, end] for item in ranges])
        taken = saved + (last - first - 1) * (end - start) - 2 * self.per_pass
        return max(apart, (taken, (Branch(first, last, start, end, below),)), key=lambda plan: plan[0])

    def _common(self, first: int, last: int) -> tuple[int, list[tuple[int, int]]]:
        """Return the length of the beginning that several sequences share, and the ranges of them that share more."""
        if last - first < 2:
            return 0, []
        end = min(self.shared[first : last - 1])
        cuts = [first, *(index + 1 for index in range(first, last - 1) if self.shared[index] == end), last]
        return end, list(pairwise(cuts))

    def _known(self, first: int, last: int) -> int:
        return min(self.known[first:last], default=0)


def batches(lengths: Sequence[int], costs: Costs) -> list[list[int]]:
    """Return the indices of the rows of each batch, so that passes and padding together cost least.

    A row is padded to the longest of its batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    least, cut = [0], [0]  # the lowest cost of the first rows in order, and where their last batch begins
    for last in range(1, len(order) + 1):
        width = lengths[order[last - 1]]
        result = []
        for first in range(last - 1, -1, -1):
            size = last - first
            if size > 1 and size * width > costs.most:
                break
            result.append((least[first] + size * width + costs.per_pass, first))
        lowest, first = min(result)
        least.append(lowest)
        cut.append(first)
    ends = [len(order)]
    while ends[-1]:
        ends.append(cut[ends[-1]])
    return [order[first:last] for first, last in pairwise(reversed(ends))]


def _joined(plans: Sequence[_Plan]) -> _Plan:
    return sum(saved for saved, _ in plans), tuple(branch for _, result in plans for branch in result)


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the common beginning of two sequences."""
    n = min(len(left), len(right))
    return next((index for index in range(n) if left[index] != right[index]), n)


# The trial reads two short sequences of one beginning, and compares the log-probabilities after their last tokens.
_BEGINNING, _LENGTH, _READ = 12, 24, 4

# The largest mean difference that is rounding, with weights of 32 bits and of 16. SmolLM2 has 1e-5 and 0.14; a wrong
# token or position changes it by 0.2 to 1.
_EXACT, _ROUGH = 1e-4, 0.5


@dataclass(frozen=True, slots=True)
class Caching:
    """What a cache is good for.

    Attributes
    ----------
    continues
        Whether several rows of several tokens can continue from one cache.
    shortens
        Whether they can continue from a cache of which the last tokens are left out.
    """

    continues: bool
    shortens: bool


def caching(forward: Forward, sequence: Sequence[int]) -> Caching:
    """Return what a cache is good for, on short pieces of valid ids.

    The model runs in its own precision.
    """
    forward = replace(forward, half=None)
    ids = (list(sequence) * _LENGTH)[:_LENGTH]
    other = [*ids[:_BEGINNING], *ids[: -_BEGINNING - _READ][::-1]]  # shorter, and with other tokens
    with forward.running():
        first, cache = _ends(forward, [ids], keep=True)
        expected = torch.cat([first, _ends(forward, [other])[0]])
        if bool(expected.isnan().any()):
            raise NonFiniteError(
                f"{type(forward.module).__name__} returned NaN for a part of the prompt, expected probabilities; if it "
                "overflows in 16 bits, load it with dtype=torch.float32"
            )
        agree = partial(_agree, expected, _ROUGH if forward.rounds else _EXACT)
        if not agree(_ends(forward, [ids, other])[0]):
            raise CapabilityError(
                f"{type(forward.module).__name__} reads tokens ahead: those after a token change the probabilities "
                "before it, expected a causal language model, as AutoModelForCausalLM loads it; of a model such as "
                "BERT, the configuration says is_decoder=True; of one that is quantized dynamically, load the "
                "weights as they were before"
            )
        continued = partial(_continued, forward, [ids[_BEGINNING:], other[_BEGINNING:]])
        shorter = None if cache is None else cache.without(_LENGTH - _BEGINNING)
        if shorter is not None and agree(continued(shorter)):
            return Caching(continues=True, shortens=True)
        _, cache = _ends(forward, [ids[:_BEGINNING]], keep=True)
        return Caching(continues=cache is not None and agree(continued(cache)), shortens=False)


def _ends(forward: Forward, rows: list[list[int]], *, keep: bool = False) -> tuple[torch.Tensor, Cache | None]:
    """Return the log-probabilities `(m, vocabulary)` after the last tokens of all rows, read as one batch."""
    logits, cache = forward(rows, _last(rows), keep=keep)
    return logits.float().log_softmax(dim=-1), cache


def _continued(forward: Forward, rests: list[list[int]], cache: Cache) -> torch.Tensor | None:
    """Return the same, of rows that continue from one cache; None if the model takes none, or not in this way."""
    try:
        logits, _ = forward(rests, _last(rests), cache.copies(len(rests)))
    except MaseError:
        return None
    return logits.float().log_softmax(dim=-1)


def _last(rows: Sequence[Sequence[int]]) -> list[int]:
    width = max(map(len, rows))
    return [width * index + at for index, row in enumerate(rows) for at in range(len(row) - _READ, len(row))]


def _agree(expected: torch.Tensor, tolerance: float, values: torch.Tensor | None) -> bool:
    if values is None:
        return False
    apart = (expected - values).abs().masked_fill(expected == values, 0.0)  # both minus infinity: it is never written
    return bool(apart.mean() <= tolerance)


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


class Scorer(Watch):
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
        """Return a scorer that reads ids now, so that rows which begin alike cost less; the same if it cannot."""
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
        """Return, for each row, the log-probabilities `(t,)` of the t tokens of its answer."""
        result = [np.empty(len(row.ids) - row.start) for row in rows]
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
                    result[read.row][read.column] = value
        return result

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
        """Return what a cache is good for, as a trial on some valid ids shows once."""
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
            for _, result in in_batches(
                lambda some, _: self._read(some, branch.end, cache), some, len(some), watch=self.scorer
            ):
                yield from result

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

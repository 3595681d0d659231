"""Partition SHAP, Sobol' indices, permutation importance, and random scores."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Note
from mase.defaults import check_integer
from mase.errors import TooFewSamplesError
from mase.solve.distributions import no_scatter, scatter, widening
from mase.solve.oracle import Oracle
from mase.solve.problem import Estimate
from mase.solve.strategy import Solution, Stopping, Strategy


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    """Words `first` to `last` (exclusive) as one player, in a context of other words `(p,)`.

    `low` and `high` are the responses without and with the part. `weight` is the share of the orders of the hierarchy
    that have this context. Parts sort by `priority`, which is -|high - low| times the weight, and then by `number`, the
    order in which they were made.
    """

    priority: float
    number: int
    first: int = field(compare=False)
    last: int = field(compare=False)
    context: Floats = field(compare=False)
    low: float = field(compare=False)
    high: float = field(compare=False)
    weight: float = field(compare=False)

    @property
    def middle(self) -> int:
        """Index of the word at which the part is split."""
        return (self.first + self.last) // 2

    def with_half(self, first: int, last: int) -> Floats:
        """Return the context `(p,)` with the words `first` to `last` (exclusive) added."""
        row = self.context.copy()
        row[first:last] = 1.0
        return row


@dataclass(frozen=True, slots=True)
class PartitionShap(Strategy):
    """Owen values of the words over a balanced binary tree of the text, in which each part is split in the middle.

    The value of a part is the change in response when it is added, averaged over the two orders of the part and its
    sibling in each context. The parts with the largest change times weight are split first, `per_round` at a time. When
    the budget is spent, the value of a part is divided evenly among its words, so the scores always sum to
    F(text) - F(reference). With a sufficient budget they are the Owen values of the tree: the Shapley values over all
    orders that never interleave two siblings.

    Notes
    -----
    The algorithm is that of `shap.explainers.Partition` (0.51, `fixed_context=None`, its default). The text masker of
    shap builds its tree from punctuation and by joining neighbours; the tree here is balanced for all texts.
    """

    per_round: int = 16

    def __post_init__(self) -> None:
        check_integer("per_round", self.per_round, 1)

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)`, which is deterministic; without Owen values of all words it has a `fallback`."""
        del rng, stopping
        p, gamma = oracle.size, np.zeros(oracle.size)
        empty = np.zeros(p)
        root = _Part(0.0, 0, 0, p, empty, float(oracle.responses(empty[None])[0]), oracle.text, 1.0)
        queue, n_evaluated, number = [root], 1, 0
        while queue:
            parts = _next_parts(queue, min(self.per_round, (budget - n_evaluated) // 2), gamma)
            if not parts:
                break
            rows = [row for part in parts for row in _halves(part)]
            responses = oracle.responses(np.array(rows)).reshape(-1, 2)
            n_evaluated += len(rows)
            for part, (left, right) in zip(parts, responses.tolist(), strict=True):
                for child in _children(part, left, right, number):
                    heapq.heappush(queue, child)
                number += 4
        for part in queue:
            _credit(part, gamma)
        shared = None
        if gamma.any() and any(part.last - part.first > 1 for part in queue):
            shared = (
                f"n_samples leaves {budget:,} for the scores, which do not split the text into all of its {p:,} units, "
                f"so some share the value of a phrase evenly; all of them take {_enough(p):,}: use a larger n_samples, "
                "or another method"
            )
        return Solution.of(oracle, Estimate(gamma, no_scatter(p), float(p), shared))


def _enough(p: int) -> int:
    """Return how many rows split all parts of p words."""
    rows, contexts, sizes = 1, 1, [p]
    while max(sizes) > 1:
        several = [size for size in sizes if size > 1]
        rows, contexts = rows + 2 * contexts * len(several), 2 * contexts
        sizes = [half for size in several for half in (size // 2, size - size // 2)]
    return rows


def _next_parts(queue: list[_Part], limit: int, gamma: Floats) -> list[_Part]:
    """Pop at most `limit` parts of several words from the heap; add the values of single words to gamma."""
    parts: list[_Part] = []
    while queue and len(parts) < limit:
        part = heapq.heappop(queue)
        if part.last - part.first == 1:
            _credit(part, gamma)
        else:
            parts.append(part)
    return parts


def _halves(part: _Part) -> tuple[Floats, Floats]:
    return part.with_half(part.first, part.middle), part.with_half(part.middle, part.last)


def _children(part: _Part, left: float, right: float, number: int) -> Iterator[_Part]:
    """Yield both halves of a part, each without and with the other half in its context.

    `left` and `right` are the responses with only the left or the right half added.
    """
    half_left, half_right = _halves(part)
    weight = part.weight / 2
    children = (
        (part.first, part.middle, part.context, part.low, left),
        (part.middle, part.last, part.context, part.low, right),
        (part.first, part.middle, half_right, right, part.high),
        (part.middle, part.last, half_left, left, part.high),
    )
    for i, (first, last, context, low, high) in enumerate(children, start=1):
        yield _Part(-abs(high - low) * weight, number + i, first, last, context, low, high, weight)


def _credit(part: _Part, gamma: Floats) -> None:
    """Divide the value of a part evenly among its words, in place."""
    size = part.last - part.first
    gamma[part.first : part.last] += (part.high - part.low) * part.weight / size


# A spread of responses below this share of their magnitude is rounding. That of the rows A says nothing of the variance
# below this share of that of all rows.
_NOISE, _FLAT = 1e-12, 1e-6
_FEWEST = 4

_MESSAGE = (
    "scores are shares of the variance of the explained number, while every word is masked at random; where words act "
    "together the shares overlap"
)


@dataclass(frozen=True, slots=True)
class SobolIndices(Strategy):
    """Total indices S_j = E[(F(A) - F(A_j))^2] / (4 Var F(A)), where A masks each word with probability 1/2.

    A_j is A with word j put back or taken out. S_j is the share of the variance that is due to word j and to its
    interactions, which count for each of their words, so that indices may add up to more than 1. They have no sign: a
    word that lowers the response scores as high as one that raises it.

    The budget allows for k = n_samples / (p + 1) independent rows A, each with all of its A_j. If it allows for all 2^p
    masks, the indices are exact.

    Notes
    -----
    Fel et al. (2021, arXiv 2111.04138) explain predictions by total indices, with the estimator of Jansen (1999): word
    j of A is drawn anew instead. Half of these rows are A itself and say nothing, so that some words would not be asked
    about at all. Changing the word always has twice the expected square, hence 4 instead of 2. They draw the rows by a
    Sobol' sequence; here they are independent, which makes standard errors possible. The package interpreto does as
    they do, and has indices of first order by default.

    With few rows A, as of a long text, all indices tend to be too high together, because the variance is estimated from
    these rows. The order of the words does not depend on it. A word that changed nothing in any row scores 0 with an
    error of 0, although it may have an effect that is rarer. Where a model gives two answers to one row, this noise
    counts as variance that every word takes part in.
    """

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the indices as gamma `(p,)` with the covariance of a ratio of means over the rows A.

        Raises
        ------
        TooFewSamplesError
            If the budget does not allow for four rows A.
        """
        del stopping
        p = oracle.size
        if p <= np.log2(budget):
            numbers, words = np.arange(2**p)[:, None], 2 ** np.arange(p)
            responses = oracle.responses((numbers & words > 0).astype(np.float64))
            exact = Estimate(_shares(responses, responses[numbers ^ words], 0), no_scatter(p), float(p))
            return replace(Solution.of(oracle, exact, signed=False).noted(Note("shares", _MESSAGE)), exact=True)
        k = budget // (p + 1)
        if k < _FEWEST:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {_FEWEST * (p + 1)}: {_FEWEST} copies of "
                f"the text with random words masked, and each of them with one of {p} words changed; use a larger "
                "n_samples"
            )
        kept: Bools = rng.random((k, p)) < 0.5
        changed = kept[:, None] ^ np.eye(p, dtype=np.bool_)
        responses = oracle.responses(np.concatenate([kept, changed.reshape(-1, p)]).astype(np.float64))
        estimate = self.estimate(responses[:k], responses[k:].reshape(k, p))
        return Solution.of(oracle, estimate, signed=False).noted(Note("shares", _MESSAGE))

    def estimate(self, responses: Floats, changed: Floats) -> Estimate:
        """Return the indices with their covariance, from the responses to A `(k,)` and to all A_j `(k, p)`.

        The covariance is that of a ratio by the delta method, with the term 2 / (k (k - 1)) of the variance of a sample
        variance, which the method leaves out. It is widened by Student's distribution: 1.96 of the standard errors are
        as wide as a 95 % interval that knows the number of rows A. It is NaN where the responses to A do not vary.
        """
        k, p = changed.shape
        shares = _shares(responses, changed, 1)
        if not shares.any():
            return Estimate(shares, no_scatter(p), float(p))
        if _flat(responses, changed):
            return Estimate(shares, np.full_like(no_scatter(p), np.nan), float(p))
        squares = np.square(responses - responses.mean()) * k / (k - 1)
        changes = np.square(responses[:, None] - changed) / 4
        influence = (changes - np.outer(squares, shares)) / responses.var(ddof=1)
        covariance = (scatter(influence) + 2 * scatter(shares[None])) * widening(k - 1) / (k * (k - 1))
        return Estimate(shares, covariance, float(p))


def _flat(responses: Floats, changed: Floats) -> bool:
    """Return whether the responses to A do not vary, although those to the changed rows do."""
    return bool(np.ptp(responses) <= _FLAT * np.ptp(np.append(responses, changed)))


def _shares(responses: Floats, changed: Floats, ddof: int) -> Floats:
    """Return the indices `(p,)`, which are 0 where responses only differ by rounding."""
    everything = np.append(responses, changed)
    if np.ptp(everything) <= _NOISE * np.abs(everything).max():
        return np.zeros(changed.shape[1])
    variance = everything.var() if _flat(responses, changed) else responses.var(ddof=ddof)
    return np.asarray(np.square(responses[:, None] - changed).mean(axis=0) / (4 * variance))


@dataclass(frozen=True, slots=True)
class PermutationImportance(Strategy):
    """gamma_i = F(text) - mean_r F(text with word i replaced by word pi_r(i)), over random permutations pi_r.

    One word is replaced at a time and all others are kept. Every pi_r is a single cycle through all words (Sattolo), so
    that no word replaces itself. The budget allows n_samples / (p + 1) permutations: each is compared with an answer to
    the text of its own, in case the model does not give the same one twice.

    Notes
    -----
    Altmann et al. (2010) permute the response over a data set and refit, which is not possible for a single text. The
    paper permutes "the input vector". That is implemented here: the vectors of the text are permuted, and each entry of
    the permuted text is evaluated separately.
    """

    needs_reference = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with the covariance of a mean over permutations, which is NaN for one permutation.

        Raises
        ------
        TooFewSamplesError
            If the budget is smaller than one permutation.
        """
        p = oracle.size
        rounds = budget // (p + 1) or budget // p
        if not rounds:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {p} for one permutation of {p} words; "
                "use a larger n_samples"
            )
        if p == 1:
            fallback = "the text has a single word, so there is no other word to replace it with; use another method"
            return Solution.of(oracle, Estimate(np.zeros(1), np.zeros((1, 1)), 1.0, fallback))
        words = np.arange(p)
        sources = np.tile(words, (rounds, p + 1, 1))  # the last row of each permutation is the text
        for r in range(rounds):
            sources[r, words, words] = _cycle(rng, p)
        responses = oracle.exchanged(sources.reshape(-1, p)).reshape(rounds, p + 1)
        drops = responses[:, -1:] - responses[:, :-1]
        spread = drops - drops.mean(axis=0)
        with np.errstate(invalid="ignore"):  # the spread of a single permutation is unknown
            covariance = scatter(spread) / (rounds * (rounds - 1)) * widening(rounds - 1)
        unknown = (
            f"n_samples leaves {budget:,} for the scores; with one permutation the standard errors are unknown, and "
            f"two take {2 * (p + 1):,}: use a larger n_samples"
        )
        return Solution.of(oracle, Estimate(drops.mean(axis=0), covariance, float(p), unknown if rounds == 1 else None))


def _cycle(rng: np.random.Generator, p: int) -> Ints:
    """Return a uniformly random cyclic permutation `(p,)`: the index of the word that replaces each word."""
    order = rng.permutation(p)
    successors: Ints = np.empty(p, dtype=np.int64)
    successors[order] = np.roll(order, -1)
    return successors


@dataclass(frozen=True, slots=True)
class Random(Strategy):
    """Independent uniform scores in [0, 1), so that all orders of the words are equally likely, without the model."""

    needs_reference = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return p draws; their covariance is NaN, because they estimate nothing."""
        del budget, stopping
        p = oracle.size
        return Solution.of(oracle, Estimate(rng.random(p), np.full_like(no_scatter(p), np.nan), float(p)))

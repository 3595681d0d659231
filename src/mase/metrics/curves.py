"""Metrics of masking more and more words: flips, log-odds, AOPC, deletion, insertion and rationales."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.defaults import KS, check_integer
from mase.errors import OptionError, ShapeError
from mase.metrics.base import Better, Column, Instance, Metric
from mase.metrics.masking import Masker, check_ks, check_shares, share_counts, without_top


def target_probabilities(instance: Instance, kept: Bools) -> Floats:
    """Return probabilities `(n,)` of the target for rows of kept words `(n, w)`."""
    check_scores(instance.masker, instance.scores)
    return instance.masker.probabilities(kept)[:, instance.target]


def check_scores(masker: Masker, scores: Floats) -> None:
    """Check that there is one score per word."""
    if np.shape(scores) != (len(masker.words),):
        raise ShapeError(
            f"scores have shape {np.shape(scores)}, expected ({len(masker.words)},): one per word of the text"
        )


def stepwise(n_words: int) -> range:
    """Return how many words are masked at each of the `n_words` + 1 steps: 0, 1, ..., all."""
    return range(n_words + 1)


def area(values: Floats) -> float:
    """Return the area under a curve `(w + 1,)` over the share of words from 0 to 1, by the trapezoidal rule.

    Examples
    --------
    >>> area(np.array([1.0, 0.5, 0.0]))
    0.5
    """
    return float((values[1:] + values[:-1]).mean() / 2)


@dataclass(frozen=True, slots=True)
class Aopc(Metric):
    """Area over the perturbation curve: mean over i = 1..w of p(target | text) - p(target | text without i words).

    "top first" (comprehensiveness in Edin et al.) masks the words of highest score first; higher is better. "bottom
    first" (sufficiency in Edin et al.) masks those of lowest score first; lower is better. From Samek et al., IEEE
    TNNLS 2017, with one step per word as in Edin et al., arXiv 2408.08137. Each costs one evaluation per word.
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """Top first, bottom first."""
        return Column("top first", "higher"), Column("bottom first", "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the two areas `(2,)`."""
        order = instance.ranked
        return np.array([mean_drop(instance, order), mean_drop(instance, order[::-1])])


def mean_drop(instance: Instance, order: Ints) -> float:
    """Return the mean over i = 1..w of p(text) - p(text without the first i words of `order` `(w,)`)."""
    steps = stepwise(len(order))[1:]
    return instance.text_probability - float(target_probabilities(instance, without_top(order, steps)).mean())


def areas(masker: Masker, target: int, orders: Sequence[Ints]) -> Floats:
    """Return deletion and insertion `(o, 2)` for o orders of the words `(w,)`.

    These are the values of `Deletion` and `Insertion`, for orders instead of scores. The model is evaluated for all
    orders at once.
    """
    masked = np.stack([without_top(order, stepwise(len(masker.words))) for order in orders])
    rows = np.stack([masked, ~masked], axis=1)
    probability = masker.probabilities(rows.reshape(-1, rows.shape[-1]))[:, target].reshape(rows.shape[:3])
    return np.array([[area(curve) for curve in pair] for pair in probability])


@dataclass(frozen=True, slots=True)
class Deletion(Metric):
    """Area under p(target) over the share of masked words, from none to all; lower is better.

    The trapezoidal rule is used. Petsiuk et al., RISE, BMVC 2018. Costs one evaluation per word.
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column("area", "lower"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the area `(1,)`."""
        return np.array(
            [area(target_probabilities(instance, without_top(instance.ranked, stepwise(len(instance.masker.words)))))]
        )


@dataclass(frozen=True, slots=True)
class Insertion(Metric):
    """Area under p(target) over the share of restored words, from none to all; higher is better.

    The trapezoidal rule is used. Petsiuk et al., RISE, BMVC 2018. Costs one evaluation per word.
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column("area", "higher"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the area `(1,)`."""
        return np.array(
            [area(target_probabilities(instance, ~without_top(instance.ranked, stepwise(len(instance.masker.words)))))]
        )


# DeYoung et al., ERASER, ACL 2020, section 4: the top 1 %, 5 %, 10 %, 20 % and 50 % of the words.
ERASER_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
LOG_ODDS_SHARE = 0.2

# A black box may return exactly 0, whose logarithm would dominate the mean over texts.
_SMALLEST = 1e-12


def rationale_columns(shares: Sequence[float], ks: Sequence[int], better: Better) -> tuple[Column, ...]:
    """Return the columns: the mean over the shares, each k, and each share (which tables leave out)."""
    parts = tuple(Column(f"{100 * share:g}%", better, headline=False) for share in shares)
    return (Column("mean", better), *(Column(f"k={k}", better) for k in ks), *parts)


def drops(instance: Instance, shares: Sequence[float], ks: Sequence[int], *, keep_top: bool) -> Floats:
    """Return p(text) - p(masked text) `(1 + len(ks) + len(shares),)` in the order of `rationale_columns`.

    With `keep_top` only the top words are kept; otherwise the top words are masked.
    """
    check_scores(instance.masker, instance.scores)
    counts = (*share_counts(len(instance.masker.words), shares), *ks)
    without, alone = _probabilities(
        instance.masker, instance.target, [instance.ranked], *(((), counts) if keep_top else (counts, ()))
    )
    differences = instance.text_probability - (alone if keep_top else without)[0]
    by_share, by_k = differences[: len(shares)], differences[len(shares) :]
    return np.concatenate([by_share.mean(keepdims=True), by_k, by_share])


def eraser(masker: Masker, target: int, orders: Sequence[Ints]) -> Floats:
    """Return comprehensiveness, sufficiency and log-odds `(o, 3)` for o orders of the words.

    These are the first columns of `Comprehensiveness` and `Sufficiency` (means over `ERASER_SHARES`) and of `LogOdds`
    (`LOG_ODDS_SHARE`), for orders of the words `(w,)` instead of scores. The model is evaluated for all orders at once.
    """
    counts = share_counts(len(masker.words), (*ERASER_SHARES, LOG_ODDS_SHARE))
    without, alone = _probabilities(masker, target, orders, counts, counts[:-1])
    unmasked = float(masker.text_probabilities[target])
    means = [unmasked - probability.mean(axis=1) for probability in (without[:, :-1], alone)]
    return np.stack([*means, log_change(without[:, -1], unmasked)], axis=1)


def log_change(masked: Floats, unmasked: float) -> Floats:
    """Return log p(masked text) - log p(text) `(n,)` from probabilities `(n,)`; those below 1e-12 count as 1e-12.

    Examples
    --------
    >>> log_change(np.array([0.45, 0.0]), 0.9).round(2).tolist()
    [-0.69, -27.53]
    """
    return np.asarray(np.log(np.maximum(masked, _SMALLEST)) - np.log(max(unmasked, _SMALLEST)))


def _probabilities(
    masker: Masker, target: int, orders: Sequence[Ints], n_masked: Sequence[int], n_kept: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return probabilities of the target for o orders of the words.

    The first array `(o, len(n_masked))` is without the first `n_masked` words of each order. The second
    `(o, len(n_kept))` is with the first `n_kept` words alone.
    """
    rows = [np.concatenate([without_top(order, n_masked), ~without_top(order, n_kept)]) for order in orders]
    probability = masker.probabilities(np.concatenate(rows))[:, target].reshape(len(orders), -1)
    return probability[:, : len(n_masked)], probability[:, len(n_masked) :]


@dataclass(frozen=True, slots=True)
class Comprehensiveness(Metric):
    """p(target | text) - p(target | text without its top words), averaged over shares of the words; higher is better.

    Parameters
    ----------
    shares
        Shares of the words to mask, rounded up to numbers of words. By default those of ERASER (DeYoung et al., ACL
        2020), whose code also averages over them.
    ks
        Further numbers of words to mask, each with its own column.
    """

    shares: tuple[float, ...] = ERASER_SHARES
    ks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_shares(self.shares)
        check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The mean over the shares, each k, each share."""
        return rationale_columns(self.shares, self.ks, "higher")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the differences of probability `(1 + len(ks) + len(shares),)`."""
        return drops(instance, self.shares, self.ks, keep_top=False)


@dataclass(frozen=True, slots=True)
class Sufficiency(Metric):
    """p(target | text) - p(target | its top words alone), averaged over shares of the words; lower is better.

    Parameters
    ----------
    shares
        Shares of the words to keep, rounded up to numbers of words. By default those of ERASER (DeYoung et al., ACL
        2020).
    ks
        Further numbers of words to keep, each with its own column.
    """

    shares: tuple[float, ...] = ERASER_SHARES
    ks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_shares(self.shares)
        check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The mean over the shares, each k, each share."""
        return rationale_columns(self.shares, self.ks, "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the differences of probability `(1 + len(ks) + len(shares),)`."""
        return drops(instance, self.shares, self.ks, keep_top=True)


Goal = Literal["area", "end"]


@dataclass(frozen=True, slots=True)
class Step:
    """The c distinct sets of i masked words that step i of the search reached, the best set first.

    Attributes
    ----------
    kept
        `(c, w)`: the words that are kept.
    orders
        `(c, i)`: the masked words, in the best order that was found.
    probabilities
        `(c, k)`: class probabilities of the masked text.
    objectives
        `(c,)`: what the search minimises or maximises.
    """

    kept: Bools
    orders: Ints
    probabilities: Floats
    objectives: Floats


def steps(masker: Masker, target: int, *, beam: int = 5, lowest: bool = True, goal: Goal = "area") -> Iterator[Step]:
    """Yield each step of a beam search, until all words are masked. The parameters are those of `best_order`."""
    beam = check_integer("beam", beam, 1)
    if goal not in ("area", "end"):
        raise OptionError(f"goal is {goal!r}, expected 'area' or 'end'")
    w = len(masker.words)
    start = Step(np.ones((1, w), np.bool_), np.empty((1, 0), np.int64), masker.text_probabilities[None], np.zeros(1))
    return _search(masker, target, start, beam, 1.0 if lowest else -1.0, goal)


def best_order(
    masker: Masker,
    target: int,
    *,
    beam: int = 5,
    depth: int | None = None,
    lowest: bool = True,
    goal: Goal = "area",
) -> Ints:
    """Return the order of words `(w,)`, found by beam search, that decreases the target's probability fastest.

    The search optimises the metric itself. Its result is therefore not an explanation, but an upper bound (by search)
    for explanations.

    Parameters
    ----------
    masker, target
        The text with its masking operator, and the class whose probability counts.
    beam
        Number of orders that each step keeps; 1 is greedy. Of several orders of the same words only the best is kept.
    depth
        Number of words after which to stop, all by default. The other words follow in reading order.
    lowest
        Whether to minimise the probability; False maximises it.
    goal
        What to optimise. ``"area"``: the sum of probabilities over the steps so far (AOPC, Edin et al., arXiv
        2408.08137). ``"end"``: the probability after the last step, for Delta Accuracy.

    Notes
    -----
    Costs about beam x w evaluations per step: 16,000 for a text of 80 words with a beam of 5.
    """
    if depth is not None:
        check_integer("depth", depth, 1)
    *_, last = islice(steps(masker, target, beam=beam, lowest=lowest, goal=goal), depth)
    return np.concatenate([last.orders[0], np.flatnonzero(last.kept[0])])


def _search(masker: Masker, target: int, step: Step, beam: int, sign: float, goal: Goal) -> Iterator[Step]:
    for _ in range(len(masker.words)):
        step = _next_step(masker, target, step, sign, goal)
        yield step
        step = Step(step.kept[:beam], step.orders[:beam], step.probabilities[:beam], step.objectives[:beam])


def _next_step(masker: Masker, target: int, step: Step, sign: float, goal: Goal) -> Step:
    """Mask each of the remaining words in turn; of several orders of the same words keep the best."""
    parents, masked = np.nonzero(step.kept)
    kept = step.kept[parents]
    kept[np.arange(len(masked)), masked] = False
    probabilities = masker.probabilities(kept)
    objectives = step.objectives[parents] * (goal == "area") + probabilities[:, target]
    ranked = np.argsort(sign * objectives, kind="stable")
    _, first = np.unique(np.packbits(kept[ranked], axis=1), axis=0, return_index=True)
    chosen = ranked[np.sort(first)]
    orders = np.concatenate([step.orders[parents[chosen]], masked[chosen, None]], axis=1)
    return Step(kept[chosen], orders, probabilities[chosen], objectives[chosen])


# A smaller range between the bounds is floating-point noise.
_SMALLEST_RANGE = 1e-9


@dataclass(frozen=True, slots=True)
class NormalisedAopc(Metric):
    """(AOPC - floor) / (ceiling - floor), where floor and ceiling bound the AOPC of this text.

    The bounds are the AOPCs of the worst and the best order that beam search finds. NAOPC is from Edin et al. (arXiv
    2408.08137). It makes AOPC comparable between models, whose ranges of AOPC differ. For "top first" higher is better,
    for "bottom first" lower. The value is NaN if no order changes the probability. Beam search is not exact, so a value
    can be slightly above 1 or below 0.

    Parameters
    ----------
    beam
        Width of the beam; 5 by default, as in Edin et al. Costs about beam x w^2 evaluations per text.
    """

    beam: int = 5

    def __post_init__(self) -> None:
        check_integer("beam", self.beam, 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Top first, bottom first, and the two bounds, which tables leave out."""
        return (
            Column("top first", "higher"),
            Column("bottom first", "lower"),
            Column("ceiling", "higher", headline=False),
            Column("floor", "lower", headline=False),
        )

    def evaluate(self, instance: Instance) -> Floats:
        """Return the two normalised areas, the ceiling and the floor `(4,)`."""
        low, high = instance.cache.get_or_compute(("naopc", self.beam, instance.target), lambda: self._bounds(instance))
        order = instance.ranked
        drops = np.array([mean_drop(instance, order), mean_drop(instance, order[::-1])])
        if high - low < _SMALLEST_RANGE:
            return np.array([np.nan, np.nan, high, low])
        return np.array([*((drops - low) / (high - low)), high, low])

    def _bounds(self, instance: Instance) -> tuple[float, float]:
        """Return the floor and the ceiling of the text."""
        low, high = (
            mean_drop(instance, best_order(instance.masker, instance.target, beam=self.beam, lowest=lowest))
            for lowest in (False, True)
        )
        return low, high


@dataclass(frozen=True, slots=True)
class DeltaAccuracy(Metric):
    """Whether the prediction flips when the k words of highest score are masked, for each k; higher is better.

    Notes
    -----
    Equation (9) of the paper, ``|CC - MC| / CC``, calls MC the texts *misclassified* after masking. With that reading a
    method that flips 9.5 % of the predictions would score 0.905, but the paper's prose and tables say 0.095. So MC is
    read as the texts *still classified correctly*: Delta Accuracy is the share of flipped predictions among texts that
    were classified correctly. Complete words are masked, in descending order of their signed scores, ties by
    position. k is capped by the number of words. `docs/paper.md` compares this with the paper.

    In multi-label classification the prediction flips when the probability of the target falls below 0.5. A text has no
    value (NaN) if the model does not predict the target for the unmasked text.
    """

    ks: tuple[int, ...] = KS

    def __post_init__(self) -> None:
        check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One per k."""
        return tuple(Column(f"k={k}", "higher", share=True) for k in self.ks)

    def evaluate(self, instance: Instance) -> Floats:
        """Return for each k 1 if the prediction flips, else 0 `(len(ks),)`; NaN if the target is not predicted."""
        flipped = flips(instance.masker, instance.ranked, instance.target, self.ks).astype(np.float64)
        predicted = not instance.masker.flipped(instance.masker.text_probabilities[None, :], instance.target)[0]
        return flipped if predicted else np.full(len(self.ks), np.nan)


def flips(masker: Masker, order: Ints, target: int, ks: Sequence[int]) -> Bools:
    """Return for each of `ks` whether the prediction is no longer `target` without the first k words `(len(ks),)`.

    The words are masked in the given order, and k is capped by the number of words w. Delta Accuracy is the share
    of texts for which this is true, among texts that were predicted correctly; `mase.statistics` summarises it.
    `Masker.flipped` defines what counts as predicted.
    """
    if len(order) != len(masker.words):
        raise ShapeError(f"order has {len(order)} words, expected {len(masker.words)}: those that the model reads")
    return masker.flipped(masker.probabilities(without_top(order, ks)), target)


@dataclass(frozen=True, slots=True)
class LogOdds(Metric):
    """log p(target | text without its top words) - log p(target | text); lower is better.

    The name is from Shrikumar et al. (ICML 2017). In the literature on integrated gradients it is this difference of
    log-probabilities. Probabilities below 1e-12 count as 1e-12.

    Parameters
    ----------
    share
        Share of the words to mask, rounded up to a number of words. The code of Sanyal and Ren (EMNLP 2021) rounds
        down.
    """

    share: float = LOG_ODDS_SHARE

    def __post_init__(self) -> None:
        check_shares((self.share,))

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column(f"top {100 * self.share:g}%", "lower"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the difference of log-probabilities `(1,)`."""
        kept = without_top(instance.ranked, share_counts(len(instance.masker.words), (self.share,)))
        return log_change(target_probabilities(instance, kept), instance.text_probability)

"""The methods that are compared: each takes a number of evaluations and returns one score per unit.

Other packages choose the rows and compute the scores by their own code. Only the model's evaluation is replaced, so
that every method asks the same one, and a row that several methods ask for is evaluated once.
"""

import contextlib
import io
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.stats.qmc import Sobol
from scoring import Asked

from mase.arrays import Floats, Ints
from mase.citing import sources
from mase.links import Output
from mase.measure import measure
from mase.methods import Method, resolve
from mase.models.protocol import Opened
from mase.rng import generator

__all__ = ["METHODS", "TooFewError", "scores_of"]

SEED = 0


class TooFewError(Exception):
    """A method cannot run with so few evaluations of so many units."""


def context_cite(asked: Asked, n: int) -> Floats:
    """ContextCite: masks of fair coins and a lasso."""
    import nltk

    nltk.download = lambda *_: True  # the package downloads a splitter of sentences when it is imported
    from context_cite import context_citer
    from context_cite.utils import _create_mask

    def evaluated(*_: Any, num_masks: int = n) -> tuple[Any, Floats]:
        masks = np.array([_create_mask(asked.n_units, 0.5, seed) for seed in range(num_masks)])
        logs = np.minimum(asked.log_probabilities(masks), -1e-12)
        return masks, (logs - np.log(-np.expm1(logs))).astype(np.float32)

    citer = object.__new__(context_citer.ContextCiter)
    masks, logits = evaluated()
    citer._cache, citer.solver = {"reg_masks": masks, "reg_logit_probs": logits}, context_citer.LassoRegression()
    weights, _ = citer._get_attributions_for_ids_range(0, logits.shape[1])
    return np.asarray(weights, dtype=np.float64)


def _captum(asked: Asked, method: Callable[[Any], Any], **options: Any) -> Floats:
    """Return the scores of `LLMAttribution` for the sum of the answer's log-probabilities."""
    from captum.attr import LLMAttribution, TextTemplateInput

    class Scored(LLMAttribution):
        def _forward_func(self, perturbed_tensor: Any, *_: Any, **__: Any) -> Any:
            logs = asked.log_probabilities(perturbed_tensor.numpy() > 0)
            return torch.tensor(np.c_[logs.sum(axis=1), logs])

    units = TextTemplateInput(lambda *pieces: " ".join(pieces), [f"unit {i}" for i in range(asked.n_units)])
    scored = Scored(method(torch.nn.Linear(1, 1)), asked.scorer.model.tokenizer)
    target = torch.tensor(asked.scorer.answer)
    torch.manual_seed(SEED)
    return scored.attribute(units, target=target, **options).seq_attr.double().numpy()


def captum_shapley(asked: Asked, n: int) -> Floats:
    """Shapley value sampling of captum: as many permutations of the units as fit, each with p evaluations."""
    from captum.attr import ShapleyValueSampling

    n_samples = (n - 1) // asked.n_units
    if n_samples < 1:
        raise TooFewError(f"one permutation takes {asked.n_units + 1} evaluations")
    return _captum(asked, ShapleyValueSampling, n_samples=n_samples)


def captum_ablation(asked: Asked, n: int) -> Floats:
    """Feature ablation of captum: each unit deleted once, with p + 1 evaluations."""
    from captum.attr import FeatureAblation

    if n < asked.n_units + 1:
        raise TooFewError(f"it takes {asked.n_units + 1} evaluations")
    return _captum(asked, FeatureAblation)


def _shap(asked: Asked, explainer: Callable[[Any, Any], Any], clustering: Any = None, **options: Any) -> Floats:
    import shap

    nothing, everything = np.zeros((1, asked.n_units)), np.ones((1, asked.n_units))
    masker = shap.maskers.Partition(nothing, clustering=clustering) if clustering is not None else nothing
    found = explainer(lambda rows: asked.log_odds(np.asarray(rows) > 0), masker)(everything, silent=True, **options)
    return np.asarray(found.values[0], dtype=np.float64)


def shap_permutation(asked: Asked, n: int) -> Floats:
    """The permutation explainer of shap: permutations forward and backward, each with 2 p + 1 evaluations."""
    import shap

    if n < 2 * asked.n_units + 1:
        raise TooFewError(f"one permutation takes {2 * asked.n_units + 1} evaluations")
    return _shap(asked, lambda f, masker: shap.PermutationExplainer(f, masker, seed=SEED), max_evals=n)


def shap_partition(asked: Asked, n: int) -> Floats:
    """The partition explainer of shap: Owen values over halves of the context."""
    import shap

    return _shap(asked, shap.PartitionExplainer, _halves(asked.n_units), max_evals=n)


def shap_kernel(asked: Asked, n: int) -> Floats:
    """The kernel explainer of shap: it also evaluates the context with all units and with none."""
    import shap

    nothing, everything = np.zeros((1, asked.n_units)), np.ones((1, asked.n_units))
    explainer = shap.KernelExplainer(lambda rows: asked.log_odds(np.asarray(rows) > 0), nothing)
    return np.asarray(explainer.shap_values(everything, nsamples=n - 2, silent=True)[0], dtype=np.float64)


def _halves(p: int) -> Floats:
    """Return the linkage matrix `(p - 1, 4)` of a context that is halved, and its halves again."""
    rows: list[tuple[float, ...]] = []

    def joined(start: int, end: int) -> tuple[int, float]:
        if end - start == 1:
            return start, 0.0
        middle = (start + end) // 2
        (first, one), (second, other) = joined(start, middle), joined(middle, end)
        rows.append((first, second, max(one, other) + 1.0, end - start))
        return p + len(rows) - 1, max(one, other) + 1.0

    joined(0, p)
    return np.array(rows)


def _interpreto(asked: Asked, perturbator: Any, aggregator: Any, n: int | None = None) -> Floats:
    """Return scores from the masks and the aggregation of interpreto, where 1 is a unit that is masked.

    The package writes a new token in the place of masked ones, also in those of the chat template; here, units are
    deleted, as for the other methods.
    """
    masks = perturbator.get_mask(asked.n_units)[:n]
    logs = torch.tensor(asked.log_probabilities(masks.numpy() < 0.5), dtype=torch.float32)
    return aggregator(logs, masks).sum(dim=0).double().numpy()


def interpreto_lime(asked: Asked, n: int) -> Floats:
    """LIME of interpreto, with its defaults. Its rows are independent, so that fewer are the first ones of more."""
    from interpreto.attributions.aggregations.linear_regression_aggregation import (
        DistancesFromMask,
        Kernels,
        LinearRegressionAggregator,
    )
    from interpreto.attributions.perturbations.random_perturbation import RandomMaskedTokenPerturbator

    aggregator = LinearRegressionAggregator(DistancesFromMask.COSINE, Kernels.EXPONENTIAL)
    return _interpreto(asked, RandomMaskedTokenPerturbator(n_perturbations=128), aggregator, n)


def interpreto_kernel_shap(asked: Asked, n: int) -> Floats:
    """Kernel SHAP of interpreto, with its defaults. Its rows are independent, too."""
    from interpreto.attributions.aggregations.linear_regression_aggregation import Kernels, LinearRegressionAggregator
    from interpreto.attributions.perturbations.shap_perturbation import ShapTokenPerturbator

    aggregator = LinearRegressionAggregator(None, Kernels.ONES)
    return _interpreto(asked, ShapTokenPerturbator(n_perturbations=128), aggregator, n)


def interpreto_sobol(asked: Asked, n: int) -> Floats:
    """First-order Sobol indices of interpreto, which have no sign; they take k (p + 2) evaluations, k at least 2."""
    from interpreto.attributions.aggregations.sobol_aggregation import SobolAggregator
    from interpreto.attributions.perturbations.sobol_perturbation import SobolTokenPerturbator

    k = n // (asked.n_units + 2)
    if k < 2:
        raise TooFewError(f"it takes {2 * (asked.n_units + 2)} evaluations")
    perturbator = SobolTokenPerturbator(n_token_perturbations=k)
    perturbator.sampler_class = partial(Sobol, rng=SEED)
    return _interpreto(asked, perturbator, SobolAggregator(k))


@dataclass(frozen=True, slots=True)
class MaskProbe:
    """The log-odds of the answer as a probe. See `mase.models.protocol.Probe`."""

    asked: Asked
    start: Floats
    n_setup: int = 1
    batch_size: int = 256
    output: Output = Output("values")  # noqa: RUF009 - it is frozen

    @property
    def scale(self) -> Floats:
        """Ones `(p,)`."""
        return np.ones(self.asked.n_units)

    def opened(self) -> Opened:
        """Return a context that yields `scores`."""
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return log-odds `(b, 1)` at coordinates `(b, p)`."""
        del rows
        return self.asked.log_odds(coordinates == 1)[:, None]


def by_mase(method: str | Method) -> Callable[[Asked, int], Floats]:
    """Return how a method of mase explains the log-odds of the answer."""

    def scored(asked: Asked, n: int) -> Floats:
        if method == "occlusion" and n < asked.n_units + 2:
            raise TooFewError(f"it takes {asked.n_units + 2} evaluations")
        probe = MaskProbe(asked, asked.log_odds(np.ones((1, asked.n_units), dtype=bool))[:, None])
        chosen = resolve(method, n_samples=n - probe.n_setup - 1, link="value")  # the prompt is asked twice
        case = asked.scorer.case
        rng = generator(SEED, sources(case.context, case.query).key)  # that of `mase.cite`
        return measure(probe, chosen, 0, rng).estimate.gamma

    return scored


METHODS: dict[str, Callable[[Asked, int], Floats]] = {
    "mase-cite": by_mase("mase-cite"),
    "context-cite": context_cite,
    "captum, Shapley sampling": captum_shapley,
    "captum, ablation": captum_ablation,
    "shap, Permutation": shap_permutation,
    "shap, Partition": shap_partition,
    "shap, Kernel": shap_kernel,
    "interpreto, LIME": interpreto_lime,
    "interpreto, Kernel SHAP": interpreto_kernel_shap,
    "interpreto, Sobol": interpreto_sobol,
    "lime": by_mase("lime"),
    "kernel-shap": by_mase("kernel-shap"),
    "occlusion": by_mase("occlusion"),
}


def scores_of(name: str, asked: Asked, n: int) -> Floats:
    """Return the scores `(p,)` of a method with n evaluations, without what packages print and warn of.

    Packages draw from the generators of numpy and torch, which are seeded.

    Raises
    ------
    TooFewError
        If the method cannot run with so few.
    """
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        np.random.seed(SEED)  # noqa: NPY002
        torch.manual_seed(SEED)
        return METHODS[name](asked, n)

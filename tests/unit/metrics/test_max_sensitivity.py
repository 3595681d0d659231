"""Tests of `mase.metrics.max_sensitivity`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.metrics.additive import case

from mase import Explainer
from mase.errors import CapabilityError, OptionError
from mase.metrics import METRICS
from mase.metrics.evaluation import evaluate
from mase.metrics.masking import masker
from mase.metrics.max_sensitivity import MaxSensitivity
from mase.metrics.perturbed_model import Nearby
from mase.metrics.protocol import Instance

TEXT = "the cast is superb but the plot is dull and that's all"


def test_max_sensitivity_is_the_largest_relative_change(lstm_model):
    bound, seen, seeds = masker(lstm_model, TEXT), [], []

    def rescore(model, seed):
        found = Explainer(model, method="mase-paper", n_samples=64, seed=seed)(TEXT, target=0).scores
        seen.append((model, np.array(found)))
        seeds.append(seed)
        return found

    base = np.array(rescore(lstm_model, 5))
    one = Instance(lstm_model, TEXT, 0, bound, base, 5, rescore)
    (found,) = MaxSensitivity(radius=0.1, n_draws=3).evaluate(one)
    assert seeds == [5] * 4  # so that sampling error is no sensitivity
    assert found == pytest.approx(max(np.sqrt(((s - base) ** 2).sum() / (base**2).sum()) for _, s in seen[1:]))
    factors = np.array([model.factors for model, _ in seen[1:]])
    assert 0.9 <= factors.min() < 0.93
    assert 1.07 < factors.max() <= 1.1
    assert found > MaxSensitivity(radius=0.001, n_draws=3).evaluate(one)[0] > 0
    assert np.isnan(MaxSensitivity().evaluate(replace(one, scores=0 * base))).all()


def test_neighbours_in_half_precision(mlp_model, fast_bfloat16):
    """The neighbour's scores are those of half precision too, so that the metric compares like with like."""
    texts, metrics, n = [TEXT], ["max-sensitivity"], 64
    exact, half = (
        evaluate(mlp_model, texts, ["lime"], metrics=metrics, n_samples=n, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    ours, theirs = exact.summaries("lime")[0].mean, half.summaries("lime")[0].mean
    assert ours / 2 < theirs < 2 * ours
    assert theirs != ours
    with pytest.raises(OptionError, match="precision"):
        evaluate(mlp_model, texts, [], metrics=metrics, precision="float16")


def test_neighbours_without_instructions_for_half_precision(lstm_model, slow_bfloat16):
    exact, asked = (
        evaluate(lstm_model, [TEXT], ["mase-nlgp"], metrics=["max-sensitivity"], n_samples=64, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert asked.summaries("mase-nlgp")[0].mean == exact.summaries("mase-nlgp")[0].mean


def test_what_has_no_neighbours_is_said(additive_model, lstm_model):
    def rescore(model, seed):
        return Explainer(model, method="mase", seed=seed, n_samples=64)(TEXT).scores

    with pytest.raises(CapabilityError, match="expected a model with embeddings"):
        MaxSensitivity().evaluate(case(additive_model, rescore=rescore))
    for metric in (METRICS["max-sensitivity"](), METRICS["seed-agreement"]()):
        with pytest.raises(CapabilityError, match="given attributions"):
            metric.evaluate(case(additive_model))
    with pytest.raises(CapabilityError, match="one per word"):
        Explainer(Nearby(lstm_model, np.ones(2)))(TEXT)

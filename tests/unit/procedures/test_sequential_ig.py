"""Tests of `mase.procedures.sequential_ig`."""

import numpy as np
import pytest

import mase
from mase.errors import TooFewSamplesError

TEXT = "I went in expecting a dull film and left delighted: superb acting, a clever story and a wonderful ending"


def test_sequential_ig_is_occlusion_by_another_road(lstm):
    for reference in ("unk", "zero"):
        white = mase.Explainer(lstm, method="sequential-ig", reference=reference)(TEXT).scores
        box = mase.Explainer(lstm, method="occlusion", reference=reference)(TEXT).scores
        assert white == pytest.approx(box, abs=2e-3 * np.abs(box).max())


def test_sequential_ig_needs_a_gradient_for_every_word(lstm):
    with pytest.raises(TooFewSamplesError, match="n_samples leaves 5 for the scores, expected at least 19"):
        mase.Explainer(lstm, method="sequential-ig", n_samples=5)(TEXT)

"""Tests of `mase.regression.precision`."""

import pytest

import mase
from mase.errors import CapabilityError, OptionError
from mase.models import Callable
from mase.testing import LogisticClassifier

bag = LogisticClassifier({"good": 2.0, "bad": -2.0})


def test_half_precision_is_used_where_it_is_precise_enough(small_bert, fast_bfloat16):
    from scipy.stats import spearmanr

    text = "An unbelievably good film, isn't it? I would gladly see it again, although the middle drags."
    exact = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=400, sigma=0.3)(text)
    half = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=400, sigma=0.3, precision="bfloat16")(text)
    assert "float32-instead" not in {note.code for note in half.notes}
    assert half.scores.tolist() != exact.scores.tolist()
    assert spearmanr(half.scores, exact.scores).statistic > 0.99
    assert exact.fit.n_queries + 32 <= half.fit.n_queries <= exact.fit.n_queries + 36
    assert half.method["precision"] == half.fit.precision == "bfloat16"
    assert exact.fit.precision == "float32"
    procedure = mase.Explainer(*small_bert, method="partition-shap", precision="bfloat16")(text)
    assert (procedure.fit.precision == "float32") == ("float32-instead" in {note.code for note in procedure.notes})


def test_half_precision_falls_back_and_says_so(small_bert, fast_bfloat16):
    tiny = mase.Explainer(*small_bert, method="mase-nlgp", n_samples=60, sigma=1e-4, precision="bfloat16")(
        "A good film"
    )
    assert "float32-instead" in {note.code for note in tiny.notes}
    assert (tiny.method["precision"], tiny.fit.precision) == ("bfloat16", "float32")
    assert tiny.scores == pytest.approx(
        mase.Explainer(*small_bert, method="mase-nlgp", n_samples=60, sigma=1e-4)("A good film").scores
    )
    with pytest.raises(CapabilityError, match="half precision"):
        mase.Explainer(Callable(bag), precision="bfloat16")("A good film")
    with pytest.raises(OptionError, match="precision"):
        mase.Explainer(Callable(bag), precision="int8")


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "partition-shap", "occlusion", "mase-paper"])
def test_without_instructions_for_half_precision_float32_answers(small_bert, slow_bfloat16, method):
    asked, exact = (
        mase.Explainer(*small_bert, method=method, n_samples=60, precision=precision)("A good film")
        for precision in ("bfloat16", "float32")
    )
    assert asked.scores.tolist() == exact.scores.tolist()
    assert asked.fit.n_queries == exact.fit.n_queries
    (note,) = [note for note in asked.notes if note.code == "float32-instead"]
    assert "no bfloat16 instructions" in note.message
    assert asked.fit.precision == "float32"

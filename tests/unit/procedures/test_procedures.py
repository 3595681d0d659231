"""Every baseline under the one call: links, black boxes, half precision, memory."""

import json

import numpy as np
import pytest
import torch
from tests.regressions import run

import mase
from mase.errors import CapabilityError
from mase.methods import METHODS, resolve
from mase.models import Callable
from mase.testing import FunctionProbe

TEXT = "I went in expecting a dull film and left delighted: superb acting, a clever story and a wonderful ending"


WHITE = ["gradient", "gradient-x-input", "integrated-gradients", "smoothgrad", "sequential-ig", "deep-shap"]


SEARCHES = ["greedy-search", "beam-search"]


WITHOUT_ERRORS = ["random", "proxy-spex", *SEARCHES]


BLACK = [
    "lime", "lime-paper", "glime", "context-cite", "proxy-spex", "kernel-shap", "leverage-shap", "partition-shap",
    "occlusion", *SEARCHES, "permutation-importance", "sobol-indices", "random",
]  # fmt: skip


BASELINES = [*WHITE, *BLACK]


FASTER = {"proxy-spex": "boosted-trees(trees=40)"}


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize("link", ["probability", "margin"])
@pytest.mark.slow
def test_one_call_for_all(lstm, method, link):
    first, second = (
        mase.Explainer(lstm, method=resolve(method, estimator=FASTER.get(method)), link=link, seed=5)(TEXT)
        for _ in range(2)
    )
    assert first == second
    assert len(first.scores) == 19
    assert first.link == link
    assert first.fit.n_queries + 2 * first.fit.n_gradients <= 1006  # a gradient costs about three evaluations
    assert (first.fit.n_gradients > 0) == (method in WHITE) == METHODS[method].needs_gradients
    assert np.isfinite(first.standard_errors).all() == (method not in WITHOUT_ERRORS)
    assert "nan" not in json.dumps(first.to_dict()).lower()


@pytest.mark.parametrize(
    "method",
    [name for name in BASELINES if name not in ("gradient", "random", "permutation-importance", "sobol-indices")],
)
@pytest.mark.slow
def test_superb_speaks_for_a_positive_review(lstm, method):
    found = mase.Explainer(lstm, method=method)(TEXT, target="pos")
    assert found.scores[found.words.index("superb")] > 0
    assert found.scores[found.words.index("dull")] < 0 or method == "lime-paper"


@pytest.mark.parametrize("method", BASELINES)
def test_black_boxes(method):
    def judge(texts):
        chance = np.array([0.2 + 0.3 * ("good" in t.split()) + 0.3 * ("fine" in t.split()) for t in texts])
        return np.stack([1 - chance, chance], axis=1)

    model = Callable(judge, labels=["neg", "pos"])
    if method in WHITE:
        with pytest.raises(CapabilityError, match="embedding"):
            mase.Explainer(model, method=method)
        return
    found = mase.Explainer(model, method=method)("a good and a fine film", target="pos")
    if method == "random":
        return
    assert {word.text for word in found.top(2)} == {"good", "fine"}
    if method in ("kernel-shap", "leverage-shap", "partition-shap", "occlusion"):
        assert found.scores == pytest.approx([0, 0.3, 0, 0, 0.3, 0], abs=1e-9)


@pytest.mark.parametrize(
    "method", ["kernel-shap", "partition-shap", "gradient", "sequential-ig", "integrated-gradients"]
)
def test_half_precision_is_tried_first_and_never_for_gradients(small_bert, fast_bfloat16, method):
    found = mase.Explainer(*small_bert, method=method, precision="bfloat16", n_samples=40)("a dull story")
    exact = mase.Explainer(*small_bert, method=method, n_samples=40)("a dull story")
    instead = "float32-instead" in [note.code for note in found.notes]
    if METHODS[method].needs_gradients:
        assert instead
        assert found.fit.n_queries == exact.fit.n_queries
    else:
        assert exact.fit.n_queries < found.fit.n_queries <= exact.fit.n_queries + 32
        assert np.abs(found.scores - exact.scores).max() < 0.3 * np.abs(exact.scores).max()
    assert not instead or found.scores.tolist() == exact.scores.tolist()


@pytest.mark.parametrize("method", WHITE)
def test_a_users_inference_mode_changes_nothing(lstm, method):
    explainer = mase.Explainer(lstm, method=method, n_samples=20)
    with torch.inference_mode():
        inside = explainer("a dull story")
        assert torch.is_inference_mode_enabled()
    assert inside.scores.tolist() == explainer("a dull story").scores.tolist()


def test_half_precision_leaves_the_draws_alone(small_bert, fast_bfloat16):
    plain, half = (
        mase.Explainer(*small_bert, method="random", precision=p)("a dull story") for p in ("float32", "bfloat16")
    )
    assert plain.scores.tolist() == half.scores.tolist()


@pytest.mark.slow
def test_words_equal_to_the_reference_score_zero_where_there_is_one(lstm):
    text = "a superb xyzzyx film"
    for method in set(BASELINES) - {"gradient", "gradient-x-input", "integrated-gradients", "smoothgrad"}:
        score = mase.Explainer(lstm, method=method, reference=None)(text).scores[2]
        assert (score == 0) == (method not in ("random", "permutation-importance")), method


def test_memory_that_runs_out_halves_the_batch():
    class Small(FunctionProbe):
        __slots__ = ()

        def scores(self, coordinates, rows):
            if len(rows) > 4:
                raise MemoryError
            return FunctionProbe.scores(self, coordinates, rows)

    probe = Small(lambda c: c @ np.arange(9.0), 9)
    assert run(probe, "partition-shap").estimate.gamma == pytest.approx(np.arange(9.0), abs=1e-12)

"""Tests of `mase.metrics.curves`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.metrics.additive import case, rows_of

from mase.errors import ShapeError
from mase.metrics import METRICS
from mase.metrics.curves import DeltaAccuracy, eraser, flips
from mase.metrics.evaluation import evaluate
from mase.metrics.masking import masker
from mase.models import Callable, TorchModule
from mase.testing import whitespace_ids

TEXT = "the cast is superb but the plot is dull and that's all"


WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "good": 0.09, "all": 0.03, "but": -0.05}


def test_flips_one_by_one(lstm_model):
    bound = masker(lstm_model, TEXT, "unk")
    order = np.random.default_rng(0).permutation(len(bound.words))
    for target in (0, 1):
        slow = []
        for k in (1, 2, 5, 99):
            kept = np.array([[word not in order[:k] for word in range(len(order))]])
            slow.append(bool(bound.probabilities(kept)[0].argmax() != target))
        assert flips(bound, order, target, (1, 2, 5, 99)).tolist() == slow
    with pytest.raises(ShapeError, match="those that the model reads"):
        flips(bound, order[:3], 0, (1,))


def test_delta_accuracy_is_the_share_of_flipped_texts(additive_model):
    opposite = {word: -worth for word, worth in WORTH.items()}
    given = {"true": [WORTH, WORTH, opposite]}
    found = evaluate(
        additive_model,
        [TEXT, "a good film", "a dull film"],
        [],
        attributions=given,
        metrics={"da": DeltaAccuracy((1, 3))},
    )
    # Without "superb" 0.61 is 0.41; without "good" 0.59 is 0.5, a tie that goes to the first class; without "dull" 0.39
    # is 0.5, which stays with it.
    assert found.values("true")[:, 0].tolist() == [1.0, 1.0, 0.0]
    assert found.summaries("true")[0].mean == pytest.approx(2 / 3)


def questions(texts):
    """Answer the questions "good" and "long" with 0.9 if the word is there, else 0.4; and a third with 0.45."""
    return [[0.9 if word in text.split() else 0.4 for word in ("good", "long")] + [0.45] for text in texts]


@pytest.mark.parametrize("kind", ["box", "torch-mask", "torch-delete"])
def test_a_flip_of_separate_questions_is_an_answer_below_one_half(kind, small_lstm):
    """The answers to other questions do not matter: below 0.5, "good" is no longer a yes, whether highest or not."""
    if kind == "box":
        model = Callable(questions, multilabel=True)
        bound = masker(model, "a good long film")
        order = np.array([1, 2, 0, 3])
        # Without "good" its answer is 0.4, while "long" stays at 0.9; without "long" "good" is still yes.
        assert flips(bound, order, 0, (0, 1, 2)).tolist() == [False, True, True]
        assert flips(bound, order[::-1], 0, (1, 2, 3)).tolist() == [False, False, False]
        assert flips(bound, order, 1, (0, 1, 2)).tolist() == [False, False, True]
        scores = np.array([0.0, 1.0, 0.0, 0.0])
        assert METRICS["delta-accuracy"]((1,)).evaluate(case(model, "a good long film", scores)).tolist() == [1.0]
        # Nothing is predicted for "a film", so nothing can flip.
        assert np.isnan(METRICS["delta-accuracy"]((1,)).evaluate(case(model, "a film", scores[:2]))).all()
        return
    operator = kind.removeprefix("torch-")
    model = TorchModule(small_lstm, tokenize=whitespace_ids, multilabel=True, outputs="logits", unk_id=1, mask_id=2)
    bound = masker(model, "one two three four", operator)
    assert bound.multilabel
    assert np.allclose(bound.text_probabilities, model.predict(["one two three four"])[0], atol=1e-6)
    kept = rows_of(4)
    chances = bound.probabilities(kept)
    assert not np.allclose(chances.sum(axis=1), 1)
    for target in (0, 1):
        assert bound.flipped(chances, target).tolist() == [bool(chance[target] < 0.5) for chance in chances]


def test_log_odds_have_one_floor():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts])
    bound = masker(model, "a good film")
    one = METRICS["log-odds"]().evaluate(case(model, "a good film", [0.0, 1.0, 0.0]))
    assert eraser(bound, 1, [np.array([1, 0, 2])])[0, 2] == one[0] == pytest.approx(np.log(1e-12))


def test_log_odds_of_an_impossible_class_is_finite():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts])
    assert METRICS["log-odds"]().evaluate(case(model, "a good film", [0.0, 1.0, 0.0])) == pytest.approx(np.log(1e-12))
    appears = replace(case(model, "a good film", [0.0, 1.0, 0.0]), target=0)
    assert METRICS["log-odds"]().evaluate(appears) == pytest.approx(-np.log(1e-12))

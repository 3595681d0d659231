"""Tests of `mase.metrics.word_scores`."""

import re

import pytest

from mase.errors import ShapeError
from mase.metrics.word_scores import scores_of_words
from mase.text import Words, find_words


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

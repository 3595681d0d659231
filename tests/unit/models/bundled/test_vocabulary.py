"""Tests of `mase.models.bundled.vocabulary`."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mase.errors import DataError
from mase.models import bundled, load
from mase.models.bundled.vocabulary import Vocabulary, words


def test_vocabularies_that_do_not_fit_are_refused(tmp_path):
    place = Path(shutil.copytree(bundled.folder("lstm-imdb"), tmp_path / "own"))
    for content in (b"", b"<pad>\n", b"\xff\xfe", b"<pad>\n<unk>\na\na\n", b"<pad>\n<unk>\na\n"):
        (place / "vocabulary.txt").write_bytes(content)
        with pytest.raises(DataError, match=r"vocabulary"):
            load(place)
    with (place / "vocabulary.txt").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(DataError, match=r"vocabulary\.txt has more than"):
        load(place)


def test_words_are_lower_cased_runs_of_letters_and_digits_with_inner_apostrophes():
    text = "It's 'RAW'<br /><br/>N°1—don’t snake_case <b>Éclair</b> 2nd."
    found = list(words(text))
    assert [word for word, _ in found] == ["it's", "raw", "n", "1", "don’t", "snake", "case", "b", "éclair", "b", "2nd"]
    assert [text[start:end] for _, (start, end) in found][:2] == ["It's", "RAW"]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_spans_are_ordered_and_hold_the_words(text):
    found = list(words(text))
    assert all(text[start:end].lower() == word for word, (start, end) in found)
    ends = [0, *(end for _, (_, end) in found)]
    assert all(before <= start < end for before, (_, (start, end)) in zip(ends, found, strict=False))


def test_a_vocabulary_comes_back_from_its_file(tmp_path):
    vocabulary = Vocabulary.of(["a", "b", "d"])
    assert dict(vocabulary.ids) == {"a": 2, "b": 3, "d": 4}
    assert vocabulary.encode("A zebra, D!") == ([2, 1, 4], [(0, 1), (2, 7), (9, 10)])
    (tmp_path / "vocabulary.txt").write_text(vocabulary.dumps())
    assert Vocabulary.read(tmp_path / "vocabulary.txt") == vocabulary
    assert len(vocabulary) == 5
    (tmp_path / "vocabulary.txt").write_text("a\nb\n")
    with pytest.raises(DataError, match="is not a vocabulary"):
        Vocabulary.read(tmp_path / "vocabulary.txt")

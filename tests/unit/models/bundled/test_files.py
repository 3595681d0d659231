"""Tests of `mase.models.bundled.files`."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.model_folders import CONTENTS

from mase.cli import main
from mase.errors import DataError
from mase.models import bundled, load
from mase.models.bundled.files import Vocabulary, words


@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_width": -1, "rank": -1}, {"hidden_width": 10**12, "rank": 10**12}, {"hidden_width": 0, "rank": 0},
        {"embedding_width": "x", "alpha": "x"}, {"embedding_width": 2.5, "alpha": float("inf")}, {"labels": []},
        {"labels": [1, 2]}, {"labels": "no"}, {"labels": ["a", "a"]}, {"labels": [str(i) for i in range(100_001)]},
        {"max_length": -5}, {"max_length": 10**12}, {"max_length": True}, {"keep": "middle"}, {"keep": ["end"]},
        {"name": 5},
        {"pool": "best", "base": {"name": 5, "sha256": 5}}, {"pool": ["max"], "base": {"name": "../x", "sha256": "0"}},
        {"labels": ["a", "b", "c"]}, {"hidden_width": 1_000_000, "alpha": None},
    ],
)  # fmt: skip
def test_folders_of_ours_that_do_not_fit_are_refused(name, changes, tmp_path):
    place = Path(shutil.copytree(bundled.folder(name), tmp_path / "own"))
    config = json.loads((place / "config.json").read_text())
    if not changes.keys() & config.keys():
        pytest.skip("no such setting")
    (place / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(DataError):
        load(place)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
def test_damaged_configurations_of_ours_are_refused(name, content, tmp_path):
    place = Path(shutil.copytree(bundled.folder(name), tmp_path / "own"))
    (place / "config.json").write_bytes(content)
    with pytest.raises(DataError):
        load(place)
    found = CliRunner().invoke(main, ["models", str(place)])
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)


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

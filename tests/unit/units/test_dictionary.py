import pytest

from mase.errors import MissingDependencyError
from mase.units.dictionary import Dictionary


@pytest.mark.parametrize(
    "words",
    [
        ["我们", "明天", "去", "北京", "大学", "读书。"],
        ["私", "は", "「東京」", "で", "勉強"],
        ["ประเทศไทย", "มี", "อากาศ", "ร้อน!"],
        ["𠮷", "野家", "で", "👨‍👩‍👧", "ok!"],
    ],
)
def test_words_of_scripts_without_spaces(words):
    text = "".join(words)
    assert [text[start:end] for start, end in Dictionary().split(text)] == words


def test_other_scripts_are_split_as_words():
    text = "(I don't like it!!) - ok 4.9"
    assert [text[start:end] for start, end in Dictionary().split(text)] == [
        "(I", "don't", "like", "it!!)", "-", "ok", "4.9",
    ]  # fmt: skip


def test_what_to_install_is_said(monkeypatch):
    monkeypatch.setattr("mase.lazy.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"icu4py .* 'mase-xai\[icu\]'"):
        Dictionary()

import sys

import pytest

from mase.errors import MissingDependencyError, OptionError
from mase.units.phrase import Phrase
from mase.units.sentence import Sentence


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith paid $3.50 at 5 p.m.", "It rained, e.g. in the U.S.", "No final stop"],
        ['He said "I am done."', "Then he left.", '"Really?" she asked.'],
        ["Wait... what?", "I do not know!"],
        ["今天天气很好。", "我们去公园吧！", "好吗？"],
        ["これは本です。", "あれは何ですか？"],
        ["यह पहला वाक्य है।", "यह दूसरा है।"],
        ["مرحبا.", "كيف حالك؟"],
        ["👍👍 good.", "😀 Bad one!", "𠮷野家。"],
        ["One line\nof a sentence.", "Another."],
        ["A heading\n\n", "A text below it."],
    ],
)
def test_sentences_of_many_languages(sentences):
    space = "" if "。" in sentences[0] and sentences[0] != "👍👍 good." else " "
    text = f"  {space.join(sentences)} \n"
    assert [text[start:end] for start, end in Sentence().split(text)] == [one.strip() for one in sentences]


def test_abbreviations_are_those_of_the_language():
    text = "Am 3. Okt. kam er z. B. mit dem Zug."
    assert len(Sentence("de").split(text)) < len(Sentence("en").split(text))
    assert (Sentence("de").name, Sentence().name) == ("sentence(language=de)", "sentence")
    assert len(Sentence("de-at").split(text)) == len(Sentence("de").split(text))


@pytest.mark.parametrize("wrong", [3, "", "german", "DE", "de_DE", "d", "de-", None])
def test_what_is_no_code_of_a_language_is_refused(wrong):
    for unit in (Sentence, Phrase):
        with pytest.raises(OptionError, match=f"language is {wrong!r}, expected the code of a language, such as 'de'"):
            unit(wrong)


def test_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    monkeypatch.setattr("mase.lazy.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"sentencex .* 'mase-xai\[sentences\]'"):
        Sentence()

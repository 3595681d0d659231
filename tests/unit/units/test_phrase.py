import pytest

from mase.units.phrase import Phrase


@pytest.mark.parametrize(
    "phrases",
    [
        ["The cast is superb,", "but the plot is dull."],
        ["I came,", "saw it", "and left", "because it was long."],
        ["It was long", "(two hours)", "– too long.", "At 4:30,", "3,5", "or 6?"],
        ["今天很好，", "我们去公园。"],
        ["قال لي،", "نعم"],
        ["He came—", "and went"],
        ["no comma"],
    ],
)
def test_phrases_end_at_punctuation_and_before_conjunctions(phrases):
    text = ("" if "今" in phrases[0] else " ").join(phrases)
    assert [text[start:end] for start, end in Phrase().split(text)] == phrases


def test_conjunctions_are_known_of_english_only():
    assert len(Phrase("de").split("Sie ging, and er kam")) == 2

import pytest

from mase.units.word import Word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't like it!!", ["I", "don't", "like", "it!!"]),
        ("state-of-the-art (1987)", ["state-", "of-", "the-", "art", "(1987)"]),
        ("wait...what foo(bar) 'x' \"y z\".", ["wait...", "what", "foo", "(bar)", "'x'", '"y', 'z".']),
        ("a - b --- :) c", ["a", "-", "b", "---", ":)", "c"]),
        ("4.9 mln, $5 or 5% #tag", ["4.9", "mln,", "$5", "or", "5%", "#tag"]),
        ("¿Qué? ¡Sí!¿No? «oui»", ["¿Qué?", "¡Sí!", "¿No?", "«oui»"]),
        ("good👍! ❤️ 👨‍👩‍👧(ok)", ["good", "👍!", "❤️", "👨‍👩‍👧", "(ok)"]),
        ("你好，世界。“是的”《书》", ["你", "好，", "世", "界。", "“是", "的”", "《书》"]),
        ("ดี! มาก", ["ดี!", "มา", "ก"]),
        ("مرحبا، بالعالم!", ["مرحبا،", "بالعالم!"]),
        ("\u200fabc x_y a\x00b", ["\u200fabc", "x_", "y", "a\x00", "b"]),
        (" \n", []),
    ],
)
def test_punctuation_joins_the_word_it_touches(text, expected):
    assert [text[start:end] for start, end in Word().split(text)] == expected

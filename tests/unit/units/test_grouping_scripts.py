"""Units of scripts without spaces, as the tokens of a BERT-like tokenizer and of a function of texts form them."""

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import mase
from mase.document import Document
from mase.text import Tokens
from mase.units import splitter
from mase.units.grouping import group


def wordpieces(text):
    """Return the tokens of a text: whole ideographs, and single letters of everything else, as rare words are cut."""
    letters = {character for character in text if not character.isspace()}
    vocabulary = {"[UNK]": 0} | {
        piece: number for number, piece in enumerate([*sorted(letters), *(f"##{one}" for one in sorted(letters))], 1)
    }
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(handle_chinese_chars=True, lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    found = tokenizer.encode(text)
    assert "[UNK]" not in found.tokens
    n = len(found.ids)
    return Tokens(Document.of(text), tuple(found.ids), tuple(found.tokens), tuple(found.offsets), (False,) * n)


@pytest.mark.parametrize(
    ("text", "units", "expected"),
    [
        ("我们明天去北京。", "word", ["我", "们", "明", "天", "去", "北", "京。"]),
        ("我们明天去北京。", "dictionary", ["我们", "明天", "去", "北京。"]),
        ("私は東京で勉強。", "word", ["私", "は", "東", "京", "で", "勉", "強。"]),
        ("私は東京で勉強。", "dictionary", ["私", "は", "東京", "で", "勉強。"]),
        ("ประเทศไทยร้อน!", "word", ["ป", "ระ", "เท", "ศ", "ไท", "ย", "ร้", "อ", "น!"]),
        ("ประเทศไทยร้อน!", "dictionary", ["ประเทศไทย", "ร้อน!"]),
        ("今天很好。我们去吧！", "sentence", ["今天很好。", "我们去吧！"]),
    ],
)
def test_tokenizers_and_black_boxes_have_the_same_units(text, units, expected):
    grouped = group(wordpieces(text), splitter(units))
    assert [text[start:end] for start, end in grouped.spans] == expected
    assert set(grouped.of_token) == set(range(len(expected)))
    seen = []
    model = mase.models.Callable(lambda texts: seen.extend(texts) or [[0.5, 0.5]] * len(texts), ["a", "b"])
    found = mase.Explainer(model, units=units, method="occlusion")(text)
    assert list(found.words) == expected
    assert {"".join(expected[:one] + expected[one + 1 :]) for one in range(len(expected))} <= set(seen)
    assert not any(" " in asked for asked in seen)

"""Units of scripts without spaces, as the tokens of a BERT-like tokenizer and of a function of texts form them."""

import re

import pytest
from tests.splitters import Fixed
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import mase
from mase.document import Document
from mase.errors import UnitsError
from mase.text import Tokens
from mase.units import splitter
from mase.units.splitters import Function, Line, Regex, WordPunct, group


def tokens(text, spans, fixed=None):
    n = len(spans)
    return Tokens(Document.of(text), tuple(range(n)), ("x",) * n, tuple(spans), tuple(fixed or (False,) * n))


def test_subwords_belong_to_their_word():
    text = "unbelievable film"
    grouped = group(
        tokens(text, [None, (0, 2), (2, 12), (13, 17), None], [True, False, False, False, True]), WordPunct()
    )
    assert [text[s:e] for s, e in grouped.spans] == ["unbelievable", "film"]
    assert grouped.of_token == (-1, 0, 0, 1, -1)


def test_a_token_over_two_words_makes_them_one():
    grouped = group(tokens("a b c", [(0, 3), (4, 5)]), WordPunct())
    assert grouped.spans == ((0, 3), (4, 5))
    assert grouped.of_token == (0, 1)


def test_a_token_of_no_word_is_a_word_and_one_of_no_width_joins_the_next():
    grouped = group(tokens("a \x00 b", [(0, 1), (1, 4), (5, 5), (5, 6)]), WordPunct())
    assert grouped.of_token == (0, 1, 2, 2)


def test_white_space_in_tokens_is_no_part_of_words():
    """Byte-level tokenizers (GPT-2) count the space before a word into its token, and have tokens of spaces."""
    text = "An unbelievably  good film "
    grouped = group(tokens(text, [(0, 2), (2, 12), (12, 15), (15, 16), (16, 21), (21, 26), (26, 27)]), WordPunct())
    assert [text[s:e] for s, e in grouped.spans] == ["An", "unbelievably", "good", "film"]
    assert grouped.of_token == (0, 1, 1, 2, 2, 3, -1)
    assert len(group(tokens("  ", [(0, 1), (1, 2)]), WordPunct())) == 0


def test_words_without_tokens_are_left_out():
    assert group(tokens("one two", [(4, 7)]), WordPunct()).spans == ((4, 7),)


def test_tokens_outside_of_the_units_stay_fixed_unless_the_splitter_is_complete():
    given = tokens("a good film", [(0, 1), (1, 2), (2, 6), (6, 7), (7, 11)])
    assert group(given, Regex(re.compile("good"))).of_token == (-1, 0, 0, -1, -1)
    assert group(given, Function(lambda _: [(7, 11), (0, 1)])).of_token == (0, -1, -1, 1, 1)


def test_a_unit_grows_to_the_ends_of_its_tokens():
    grouped = group(tokens("unbelievable", [(0, 2), (2, 9), (9, 12)]), Regex(re.compile("nbe")))
    assert (grouped.spans, grouped.of_token) == (((0, 9),), (0, 0, -1))


def test_units_end_with_their_field():
    """The texts of the fields are joined for the pipeline; a unit never crosses from one into the next."""
    seen = []
    document = Document.of({"title": "Not bad", "stars": 4, "text": "Good.\nBad."}, background={"stars": 0})
    given = Tokens(document, (0, 1, 2, 3), ("x",) * 4, ((0, 7), (8, 9), (10, 15), (16, 20)), (False,) * 4)
    assert group(given, Function(lambda text: seen.append(text) or [(0, 3)])).of_token == (0, 1, 2, -1)
    assert seen == ["Not bad", "Good.\nBad."]
    assert group(given, Line()).of_token == (0, 1, 2, 3)


@pytest.mark.parametrize("fixed", [["a"], ["b"]])
def test_fixed_fields_are_not_split(fixed):
    document = Document.of({"a": "one", "b": "two"}, fixed=fixed)
    seen = []
    found = group(
        Tokens(document, (0, 1), ("x",) * 2, ((0, 3), (4, 7)), (False,) * 2),
        Function(lambda text: seen.append(text) or [(0, 3)]),
    )
    assert seen == [{"a": "two", "b": "one"}[fixed[0]]]
    assert found.of_token == ((-1, 0) if fixed == ["a"] else (0, -1))


def test_white_space_at_the_end_of_a_field_joins_no_unit_of_the_next():
    grouped = group(tokens(("ab ", "cd"), [(0, 2), (2, 3), (4, 6)]), WordPunct())
    assert grouped.of_token == (0, -1, 1)
    grouped = group(
        tokens(("ab ", "cd"), [None, (0, 2), (2, 3), None, (4, 6)], [True, False, False, True, False]), WordPunct()
    )
    assert grouped.of_token == (-1, 0, -1, -1, 1)


def test_the_spans_of_any_splitter_are_checked_and_sorted():
    read = tokens("one two three", [(0, 3), (4, 7), (8, 13)])
    assert group(read, Fixed([(8, 13), (0, 3)])).spans == ((0, 3), (8, 13))
    for spans in ([(0, 5), (4, 7)], [(8, 14)], [(4, 4)], None):
        with pytest.raises(UnitsError, match="fixed"):
            group(read, Fixed(spans))


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

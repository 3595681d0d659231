"""Tests of `mase.models.rewriting`."""

import re
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mase
from mase.document import Document
from mase.metrics.masking import masker
from mase.models import Callable
from mase.models.rewriting import Rewriter, rewritten, word_tokens
from mase.text import find_words


def asked(text, kept, units="wordpunct", **options):
    """Return the string that a black box gets for the words kept."""
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    bound = masker(Callable(record, ["a", "b"], **options), text, units=units)
    seen.clear()
    bound.probabilities(np.array([kept], dtype=bool))
    return seen[0] if seen else text  # the text itself is known


def without(text, *gone, **options):
    words = [text[start:end] for start, end in find_words(text)]
    return asked(text, [word not in gone for word in words], **options)


@pytest.mark.parametrize(
    ("text", "gone", "expected"),
    [
        ("open-source code", ["-"], "open source code"),
        ("open-source code", ["open"], "-source code"),
        ("state-of-the-art", ["-", "the"], "state of art"),
        ("1987/1988", ["/"], "1987 1988"),
        ("snake_case", ["_"], "snake case"),
        ("cafe\u0301-bar", ["-"], "cafe\u0301 bar"),
        ("(good)", ["good"], "()"),
        ("good,fine", [","], "good fine"),
        ("good, fine", [","], "good fine"),
        ("a-b, c", ["-", "b"], "a, c"),
        ("我-你", ["-"], "我你"),
        ("カ・ナ", ["・"], "カナ"),
        ("很好看", ["好"], "很看"),
        ("很x好", ["x"], "很好"),
        ("A good film", ["A"], "good film"),
        ("A good film", ["film"], "A good"),
        ("A good  film", ["film"], "A good"),
        ("A good\tfilm", ["film"], "A good"),
        (" A good film ", ["A", "film"], " good "),
        ("A good film", ["A", "good", "film"], ""),
        (" good ", ["good"], " "),
        ("one  two three", ["two"], "one  three"),
        ("one\n\ntwo three", ["two"], "one\n\nthree"),
        ("one two\n\nthree", ["two"], "one\n\nthree"),
        ("one\ntwo   three", ["two"], "one\nthree"),
    ],
)
def test_words_that_are_taken_out_leave_the_others_as_they_were(text, gone, expected):
    assert without(text, *gone) == expected


def test_no_mask_token_glues_words_either():
    assert without("open-source", "-", mask_token="MASK") == "open MASK source"
    assert without("open-source", "-", mask_token="[M]") == "open[M]source"


@st.composite
def texts_and_kept(draw):
    pieces = st.sampled_from(
        ["open", "x1", "é", "cafe\u0301", "don't", "-", "...", "_", "我", "カ", "👍", "مرحبا", " ", "  ", "\n", "\t "]
    )
    text = "".join(draw(st.lists(st.one_of(pieces, st.text(max_size=3)), min_size=1, max_size=12)))
    text = text.encode("utf-8", "ignore").decode()
    n = len(find_words(text))
    return text, draw(st.lists(st.booleans(), min_size=n, max_size=n))


UNSPACED = r"(HALFWIDTH )?(CJK|IDEOGRAPHIC|HIRAGANA|KATAKANA|THAI|LAO|MYANMAR|KHMER|TAI|NEW TAI|AHOM)\b"


def runs(text):
    """Return the runs of letters and digits, of scripts without spaces one by one; written without `find_words`."""
    found, last = [], False
    for character in text:
        letter = unicodedata.category(character)[0] == "L" or character == "〇"
        single = letter and re.match(UNSPACED, unicodedata.name(character, ""))
        if not character.isalnum():
            joining = last and (unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or character == "\xad")
            last = last and joining
            continue
        if single or not last:
            found.append("")
        found[-1] += character
        last = not single
    return found


@settings(max_examples=200, deadline=None)
@given(texts_and_kept())
def test_taking_words_out_joins_none_and_adds_no_space(case):
    text, kept = case
    spans = find_words(text)
    if not spans or all(kept):
        return
    words = [text[start:end] for (start, end), keep in zip(spans, kept, strict=True) if keep]
    found = asked(text, kept)
    squeezed = "".join(found.split())
    assert squeezed == "".join("".join(words).split())  # the words that are kept, in their order
    plain = all(unicodedata.category(character)[0] not in "MC" for character in text if not character.isspace())
    if plain:  # marks and joiners that follow no letter are punctuation, and may follow one now
        assert runs(found) == [run for word in words for run in runs(word)]
    gaps = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), len(text))])]
    inner = re.findall(r"(?<=\S)\s+(?=\S)", found)
    assert all(gap in gaps or gap == " " for gap in inner)  # no two spaces that the text did not have
    if words:
        assert found[: len(found) - len(found.lstrip())] == gaps[0]
        assert found[len(found.rstrip()) :] == gaps[-1]


def test_words_in_the_place_of_others_are_not_glued():
    """Permutation importance writes words in other words' places."""
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    mase.Explainer(Callable(record, ["a", "b"]), method="permutation-importance", n_samples=60)("open-source code")
    found = {run for text in seen for run in re.findall(r"\w+", text)}
    assert found == {"open", "source", "code"}


@pytest.mark.parametrize(
    ("text", "units", "out", "removed", "replaced"),
    [
        ("A (dull) start.", "word", 1, "A start.", "A [M] start."),
        ("state-of-the-art", "word", 1, "state-the-art", "state-[M]the-art"),
        ("One. Two words.", "re:Two.*", 0, "One.", "One. [M] [M]"),
        ("这部电影很好。我喜欢。", "re:很好。", 0, "这部电影我喜欢。", "这部电影[M]我喜欢。"),
        ("これは本です。", "re:本", 0, "これはです。", "これは[M]です。"),
        ("หนังดีมาก", "re:ดี", 0, "หนังมาก", "หนัง[M]มาก"),
        ("很好ok吗", "word", 2, "很好吗", "很好[M]吗"),
    ],
)
def test_a_unit_of_several_words_is_out_as_one(text, units, out, removed, replaced):
    n = len(mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts), units=units, n_samples=16)(text).units)
    kept = [index != out for index in range(n)]
    assert asked(text, kept, units) == removed
    assert asked(text, kept, units, mask_token="[M]") == replaced


def slowly(rewriter, kept, replacement):
    """Return the texts of rows one by one, word by word."""
    for row in kept:
        words = zip(rewriter.pieces, row, rewriter.continues, strict=True)
        pieces = [piece if keep else None if continues else replacement for piece, keep, continues in words]
        ((own, spans),) = rewriter.words
        yield rewritten(rewriter.document.text, spans, pieces[own])


@pytest.mark.parametrize("replacement", [None, "[MASK]", "x"])
@pytest.mark.parametrize(
    "text", ["open-source, as  ever", "  a b\n\n c, d.e 12 ", "word", "我们 a我\n b", "don't-stop  (now)!"]
)
def test_many_rows_are_rewritten_as_one_by_one(text, replacement):
    tokens = word_tokens(Document.of(text))
    for coordinates in (np.arange(len(tokens.pieces)), np.arange(len(tokens.pieces)) // 2):
        rewriter = Rewriter.of(tokens, coordinates)
        words = np.random.default_rng(0).integers(0, 2, (200, coordinates.max() + 1), dtype=bool)
        words[:2] = [[True], [False]]
        kept = words[:, coordinates]
        assert [one for (one,) in rewriter.masked_rows(kept, replacement)] == [*slowly(rewriter, kept, replacement)]

"""Tests of `mase.windows`: windows cut through no token."""

import re

import pytest

import mase
from mase.document import Document
from mase.options import Windows
from mase.units import splitter
from mase.windows import LongText, places

torch = pytest.importorskip("torch")

VECTORS = {"<pad>": 0, "<unk>": 0, "happy": 1, "unhappy": -1, "not-good": -1, "good": 1, "the": 0, "film": 0}
IDS = {word: index for index, word in enumerate(VECTORS)}


class Sum(torch.nn.Module):
    """Adds a number for each word."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(len(IDS), 2, padding_idx=0)
        self.words.weight.data = torch.tensor([[0.0, float(value)] for value in VECTORS.values()])

    def forward(self, ids):
        return self.words(ids).sum(1)


def by_spaces(text):
    return [IDS.get(word, 1) for word in text.split()]


def by_words(text):
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    return [IDS.get(text[start:end], 1) for start, end in spans], spans


def model(tokenize, length):
    return mase.models.TorchModule(
        Sum(), tokenize=tokenize, labels=["neg", "pos"], pad_id=0, unk_id=1, max_length=length, outputs="logits"
    )


@pytest.mark.parametrize(
    ("tokenize", "units", "word"),
    [(by_spaces, "word", "not-good"), (by_spaces, "wordpunct", "not-good"), (by_words, "re:happy", "unhappy")],
)
@pytest.mark.parametrize("overlap", [0.0, 0.25])
@pytest.mark.parametrize("length", [5, 6, 7])
@pytest.mark.slow
def test_scores_are_those_of_the_words_that_the_model_reads(tokenize, units, word, overlap, length):
    text = " ".join([word, "the"] * 30)
    found = mase.Explainer(model(tokenize, length), units=units, windows=Windows(overlap=overlap))(text, target="pos")
    assert len(found.windows) > 5
    assert {re.sub(r"\S+", "", text[one.start : one.end]).strip() for one in found.windows} == {""}
    assert {text[one.start : one.end].split()[0] for one in found.windows} <= {word, "the"}
    scores = {}
    for unit, score in zip(found.units, found.scores, strict=True):
        scores.setdefault("the" if unit.text == "the" else word, []).append(score)
    assert max(scores[word]) < -0.9
    assert max(map(abs, scores.get("the", [0.0]))) < 1e-9


def test_a_part_that_the_model_does_not_read_whole_is_gone_on_with():
    text = " ".join(f"w{number}-x" if number % 3 else "the" for number in range(1500))
    units = splitter("word").split(text)
    for length in (2, 7, 100):
        found = places(model(by_spaces, length), Document.of(text), 0, units)
        assert [text[start:end] for start, end in found] == text.split()


def test_spans_without_a_token_stay():
    def letters(text):
        spans = [match.span() for match in re.finditer(r"[a-z]+", text)]
        return [IDS.get(text[start:end], 1) for start, end in spans], spans

    text = "the film ! the film " * 20
    found = places(model(letters, 6), Document.of(text), 0, splitter("word").split(text))
    assert [text[start:end] for start, end in found] == text.split()
    document = Document.of("! ! !")
    assert places(model(letters, 6), document, 0, [(0, 1), (2, 3), (4, 5)]) == [(0, 1), (2, 3), (4, 5)]


def test_a_long_unit_before_another_one_needs_no_room_beside_a_second_text():
    pytest.importorskip("transformers")
    from tests.unit.models.tiny import family

    from mase.models.transformers import HuggingFace
    from mase.options import Windows

    module, tokenizer = family("bert", max_position_embeddings=512)
    bert = HuggingFace(module, tokenizer, max_length=24)
    long, short = "w1 " * 30 + ".", "w2 w3 ."
    for text in (f"{long} {short}", f"{short} {long}"):
        found = LongText.of(bert, Document.of((text, "w4 w5")), splitter("sentence"), Windows())
        assert [text[start:end] for start, end in found.spans] == [
            text[: text.index(".") + 1],
            text[text.index(".") + 2 :],
        ]

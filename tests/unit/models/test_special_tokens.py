"""Tests of `mase.models.special_tokens`: texts that hold the special tokens of their tokenizer."""

import pytest
from tests.language_models import parrot
from tests.unit.models.language.causal_models import SIZE, byte_tokenizer, causal_model
from tests.unit.models.modules import Around
from tests.unit.models.tiny import family, word_tokenizer

import mase
from mase.document import Document
from mase.models.special_tokens import literal_spans, unknown_id
from mase.models.tokenizing import shortened, tokenizing


def told(found):
    return [note.message for note in found.notes if note.code == "special-tokens"]


@pytest.mark.parametrize("long", ["cut", "windows"])
def test_a_classifier(long):
    explainer = mase.Explainer(*family("bert"), n_samples=32, long=long)
    (message,) = told(explainer("w1 [SEP] w2 [MASK] w3 [SEP] " * 9))
    assert "'[SEP]' in 'text', '[MASK]' in 'text' as" in message
    assert told(explainer("w1 w2 unknown [UNK] [ SEP ]" * 9)) == []


def test_windows_that_have_different_ones():
    text = "w1 [SEP] w2 " + "w3 w4 w5 w6 " * 9 + "w7 [MASK] w8"
    found = mase.explain(text, *family("bert"), n_samples=32, long="windows")
    (message,) = told(found)
    assert "read '[SEP]' in 'text', '[MASK]' in 'text' as" in message
    assert len(found.windows) > 1


def test_a_pair():
    (message,) = told(mase.explain(("w1 w2", "w3 [SEP] w4"), *family("bert"), n_samples=32))
    assert "'[SEP]' in 'text_pair' as" in message


def test_a_piece_that_is_cut_off_is_not_read():
    assert told(mase.explain("w1 " * 40 + "[SEP]", *family("bert"), n_samples=32)) == []


def test_zero_shot():
    module, tokenizer = family("bert", id2label={0: "entailment", 1: "neutral", 2: "contradiction"})
    model = mase.models.ZeroShot(module, tokenizer, labels=["w5", "w6"], template="w7 {}")
    (message,) = told(mase.explain("w1 [SEP] w2", model, n_samples=32))
    assert "'[SEP]' in 'text' as" in message
    assert told(mase.explain("w1 w2", model, n_samples=32)) == []


def test_a_context_for_a_language_model():
    model, context = (causal_model(), byte_tokenizer()), "It is red.<|end|> Is it?"
    (message,) = told(mase.cite(*model, context=context, query="<|eos|>", answer="red", n_samples=16))
    assert "'<|end|>' in 'context', '<|eos|>' in 'query' as" in message
    assert told(mase.cite(*model, context="It is red. Is it?", answer="red", n_samples=16)) == []
    assert told(mase.cite(parrot, context=context, n_samples=16)) == []


def test_a_tokenizer_that_splits_them_as_text():
    tokenizer = byte_tokenizer(split_special_tokens=True)
    assert told(mase.cite(causal_model(), tokenizer, context="It is.<|end|>", answer="red", n_samples=16)) == []


def test_an_unknown_token_that_is_the_end_of_a_text_too_as_that_of_gpt2():
    tokenizer = byte_tokenizer(unk_token="<|eos|>")
    found = mase.cite(causal_model(vocab_size=SIZE), tokenizer, context="It is. <|eos|>", answer="red", n_samples=16)
    assert len(told(found)) == 1


def test_a_tokenizer_of_tokenizers():
    own = tokenizing(word_tokenizer(), {})
    text = "w1 [SEP] w2 zz [UNK] [MASK]"
    tokens = own.encode(Document.of(text), "a model")
    assert [text[slice(*span)] for span in tokens.special] == ["[SEP]", "[MASK]"]
    assert [text[slice(*span)] for span in shortened(tokens, 5, "start").special] == ["[SEP]"]


def test_what_is_unknown_to_any_tokenizer_is_told():
    bert, entailment = family("bert"), family("bert", id2label={0: "entailment", 1: "neutral", 2: "contradiction"})
    for model in (
        mase.models.HuggingFace(*bert),
        mase.models.ZeroShot(*entailment, labels=["w5", "w6"], template="w7 {}"),
        mase.models.TorchModule(
            Around(in_place=False), tokenize=lambda text: [7 + (piece == "w1") for piece in text.split()], unk_id=7
        ),
    ):
        for text, told in (("zz yy w1", True), ("zz w1 w1", False)):
            found = mase.explain(text, model, n_samples=32)
            assert any(note.code == "unknown-words" for note in found.notes) == told
    tokens = tokenizing(word_tokenizer(), {}).encode(Document.of("zz w1 yy [UNK]"), "a model")
    assert [tokens.text[slice(*span)] for span in shortened(tokens, 5, "start").unknown()] == ["zz", "yy"]
    assert byte_tokenizer(unk_token="<|eos|>").unk_token_id is not None
    assert unknown_id(byte_tokenizer(unk_token="<|eos|>")) is None


def test_the_longest_token_is_found():
    assert literal_spans("a <s><s>> b", ["<s>", "<s>>"]) == ((2, 5), (5, 9))
    assert literal_spans("a", []) == ()

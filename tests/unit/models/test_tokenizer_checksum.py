"""Tests of `mase.models.tokenizer_checksum`."""

import copy

import pytest
import transformers
from tests.unit.models.tiny import word_tokenizer
from tokenizers import AddedToken, normalizers, pre_tokenizers, processors

from mase.models.tokenizer_checksum import slow_tokenizer_checksum, tokenizer_checksum


@pytest.fixture
def backend():
    return word_tokenizer().backend_tokenizer


def test_a_copy_a_saved_one_and_a_used_one_are_the_same(backend, tmp_path):
    tokenizer = word_tokenizer()
    expected = tokenizer_checksum(backend)
    assert tokenizer_checksum(tokenizer.backend_tokenizer) == expected
    assert tokenizer_checksum(copy.deepcopy(backend)) == expected
    tokenizer.save_pretrained(tmp_path)
    assert tokenizer_checksum(transformers.AutoTokenizer.from_pretrained(tmp_path).backend_tokenizer) == expected
    tokenizer(["w1", "w2 w3"], padding=False)
    assert tokenizer_checksum(tokenizer.backend_tokenizer) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.add_tokens(["good film"]),
        lambda one: one.add_tokens([AddedToken("w1", lstrip=True)]),
        lambda one: one.add_special_tokens(["w1"]),
        lambda one: setattr(one, "pre_tokenizer", pre_tokenizers.WhitespaceSplit()),
        lambda one: setattr(one, "normalizer", normalizers.Replace(" ", "")),
        lambda one: setattr(
            one, "post_processor", processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 3)])
        ),
    ],
)
def test_a_tokenizer_that_reads_texts_in_another_way_has_another_checksum(backend, change):
    before = tokenizer_checksum(backend)
    change(backend)
    assert tokenizer_checksum(backend) != before


def test_a_slow_tokenizer_has_a_checksum(tmp_path):
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfilm\nwasn\ngood\n", encoding="utf-8")
    one, same, other = (
        transformers.BertJapaneseTokenizer(
            vocabulary, do_lower_case=lower, word_tokenizer_type="basic", subword_tokenizer_type="character"
        )
        for lower in (True, True, False)
    )
    assert slow_tokenizer_checksum(one) == slow_tokenizer_checksum(same)
    assert slow_tokenizer_checksum(one) != slow_tokenizer_checksum(other)


class Letters:
    """A tokenizer of one's own, without a vocabulary."""

    def __init__(self, offset):
        self.offset = offset

    def __call__(self, text, **_):
        return {"input_ids": [ord(letter) + self.offset for letter in text]}


class Bytes(Letters):
    """One with bytes and strings in its vocabulary."""

    def get_vocab(self):
        return {b"a": 0, "a": 1, b"\xff": 2}


@pytest.mark.parametrize("kind", [Letters, Bytes])
def test_a_tokenizer_of_ones_own_has_a_checksum(kind):
    assert slow_tokenizer_checksum(kind(0)) == slow_tokenizer_checksum(kind(0))
    assert slow_tokenizer_checksum(kind(0)) != slow_tokenizer_checksum(kind(1))

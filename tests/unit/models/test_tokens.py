"""Tests of `mase.models.tokens`."""

import copy
import itertools

import pytest
import transformers
from tests.language_models import parrot
from tests.unit.models.language.causal_models import SIZE, byte_tokenizer, causal_model
from tests.unit.models.modules import Around
from tests.unit.models.tiny import FAMILIES, PLAIN, SIZES, classifier, family, word_tokenizer
from tokenizers import AddedToken, normalizers, pre_tokenizers, processors

import mase
from mase.document import Document
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError
from mase.models import HuggingFace
from mase.models.tokens import (
    TransformersTokenizer,
    literal_spans,
    longest_input,
    shortened,
    slow_tokenizer_checksum,
    tokenizer_checksum,
    tokenizing,
    unknown_id,
)


@pytest.mark.parametrize(
    ("tokenizer", "family", "positions", "pad_id", "longest"),
    [
        (512, "bert", 128, 0, 128),
        (64, "bert", 128, 0, 64),
        (10**30, "bert", None, None, None),
        (None, "xlnet", -1, 5, None),
        (1e30, "roberta", 514, 1, 512),
        (None, "data2vec-text", 514, 1, 512),
        (None, "markuplm", 514, 1, 512),
        (None, "xlm-roberta", 514, None, 513),
        (None, "deberta", 514, 1, 514),
    ],
)
def test_the_longest_input_is_what_tokenizer_and_positions_allow(tokenizer, family, positions, pad_id, longest):
    assert longest_input(tokenizer, family, positions, pad_id) == longest


def told(found):
    return [note.message for note in found.notes if note.code == "special-tokens"]


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.slow
def test_a_classifier(windows):
    explainer = mase.Explainer(*family("bert"), n_samples=32, windows=windows)
    (message,) = told(explainer("w1 [SEP] w2 [MASK] w3 [SEP] " * 9))
    assert "'[SEP]' in 'text', '[MASK]' in 'text' as" in message
    assert told(explainer("w1 w2 unknown [UNK] [ SEP ]" * 9)) == []


def test_windows_that_have_different_ones():
    text = "w1 [SEP] w2 " + "w3 w4 w5 w6 " * 9 + "w7 [MASK] w8"
    found = mase.explain(text, *family("bert"), n_samples=32, windows=True)
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


PAIR = ("An unbelievably overcooked film, isn't it?", "Çà — the\tfilm is overcooked.")


def tokens(backend, content, max_length=None, keep="start", **settings):
    return TransformersTokenizer(backend, "owner", max_length, keep, settings.get("typed", True)).tokens(
        Document.of(content)
    )


def test_a_pair_has_the_ids_and_types_of_the_tokenizer(small_bert):
    backend = small_bert[1]
    found, expected = tokens(backend, PAIR), backend(*PAIR)
    assert found.ids == tuple(expected["input_ids"])
    assert found.types == tuple(expected["token_type_ids"])
    assert found.pieces == tuple(backend.convert_ids_to_tokens(expected["input_ids"]))
    assert [piece for piece, fixed in zip(found.pieces, found.fixed, strict=True) if fixed] == [
        "[CLS]",
        "[SEP]",
        "[SEP]",
    ]
    words = [PAIR[0].find("overcooked"), len(PAIR[0]) + 1 + PAIR[1].find("overcooked")]
    for start in words:
        inside = [span for span in found.spans if span is not None and start <= span[0] < start + len("overcooked")]
        assert "".join(found.text[slice(*span)] for span in inside) == "overcooked"


def test_spans_of_a_pair_are_in_their_fields(small_bert):
    found = mase.Explainer(*small_bert, n_samples=40)({"premise": PAIR[0], "hypothesis": PAIR[1]})
    assert [unit.text for unit in found.units if unit.field == "premise"][-2:] == ["isn't", "it?"]
    assert [unit.text for unit in found.units if unit.field == "hypothesis"][:3] == ["Çà", "—", "the"]
    for token in found.tokens:
        if token.field is not None:
            assert PAIR[token.field == "hypothesis"][token.start : token.end].strip()


def test_fields_of_a_pair_are_known_by_the_names_of_transformers(small_bert):
    """A mapping of `text` and `text_pair` in the other order is the same pair."""
    backend = small_bert[1]
    swapped = tokens(backend, {"text_pair": PAIR[1], "text": PAIR[0]})
    assert swapped.ids == tuple(backend(*PAIR)["input_ids"])
    film = swapped.pieces.index("film")
    assert swapped.text[slice(*swapped.spans[film])] == "film"
    assert swapped.document.located(*swapped.spans[film])[0].name == "text"


def test_a_fixed_field_keeps_its_words(small_bert):
    found = mase.Explainer(*small_bert, n_samples=40, fixed=["text"])(PAIR)
    assert {unit.field for unit in found.units} == {"text_pair"}


@pytest.mark.parametrize("keep", ["start", "end"])
@pytest.mark.parametrize("layout", ["bert", "roberta", "xlnet", "t5"])
def test_a_pair_that_is_too_long_is_cut_as_longest_first(layout, keep):
    backend = word_tokenizer(FAMILIES[layout][2], truncation_side={"start": "right", "end": "left"}[keep])
    for first, second, room in itertools.product(range(1, 7), range(1, 7), range(2, 9)):
        pair = (" ".join(f"w{i}" for i in range(first)), " ".join(f"w{9 - i}" for i in range(second)))
        longest = room + backend.num_special_tokens_to_add(pair=True)
        found = tokens(backend, pair, longest, keep)
        expected = backend(*pair, truncation="longest_first", max_length=longest)
        assert found.ids == tuple(expected["input_ids"]), (pair, room)
        if "token_type_ids" in expected:
            assert found.types == tuple(expected["token_type_ids"])
        cut = first + second > room
        assert (found.truncation is not None) == cut
        assert not cut or (found.truncation.n_total - found.truncation.n_kept, found.truncation.kept) == (
            first + second - room,
            keep,
        )


def test_more_fields_or_values_are_an_error_that_says_what_to_do():
    backend = word_tokenizer()
    for content in ({"a": "w1", "b": "w2", "c": "w3"}, {"a": "w1", "b": 3}):
        with pytest.raises(InvalidTextError, match=r"one text or a pair of texts for owner; join them, .*records"):
            tokens(backend, content)


@pytest.mark.parametrize("content", ["", ("", " ")])
def test_a_document_without_words_is_an_error(content):
    with pytest.raises(EmptyTextError, match="no word"):
        tokens(word_tokenizer(), content)


def test_a_pair_with_one_empty_text_is_explained():
    found = tokens(word_tokenizer(), ("w1 w2", ""))
    assert found.ids == tuple(word_tokenizer()("w1 w2", "")["input_ids"])


def test_types_that_would_be_dropped_are_an_error():
    """DistilBERT reads no types; those of BERT's tokenizer tell nothing in a single text, and something in a pair."""
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}
    model = HuggingFace(classifier(transformers.DistilBertConfig(**sizes, **PLAIN)), word_tokenizer())
    assert model.encode("w1 w2").types is None
    with pytest.raises(CapabilityError, match="token_type_ids other than 0"):
        model.encode(("w1", "w2"))
    untyped = copy.deepcopy(word_tokenizer())
    untyped.model_input_names = ["input_ids", "attention_mask"]
    assert HuggingFace(model.module, untyped).encode(("w1", "w2")).types is None


def test_a_tokenizer_of_tokenizers_is_to_be_wrapped():
    model = classifier(transformers.BertConfig(**SIZES, **PLAIN))
    with pytest.raises(CapabilityError, match=r"PreTrainedTokenizerFast\(tokenizer_object=tokenizer\)"):
        HuggingFace(model, word_tokenizer().backend_tokenizer)
    with pytest.raises(CapabilityError, match="tokenizer list gives no character spans"):
        HuggingFace(model, [])


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

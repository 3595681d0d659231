"""Tests of `mase.models.tokenizer`: texts and pairs to tokens, against the tokenizer of transformers."""

import copy
import itertools

import pytest
import transformers
from tests.unit.models.tiny import FAMILIES, PLAIN, SIZES, classifier, word_tokenizer

import mase
from mase.document import Document
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError
from mase.models import HuggingFace
from mase.models.tokenizer import Tokenizer

PAIR = ("An unbelievably overcooked film, isn't it?", "Çà — the\tfilm is overcooked.")


def tokens(backend, content, max_length=None, keep="start", **settings):
    return Tokenizer(backend, "owner", max_length, keep, settings.get("typed", True)).tokens(Document.of(content))


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

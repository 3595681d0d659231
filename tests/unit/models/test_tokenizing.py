"""Tests of `mase.models.tokens`."""

import pickle

import numpy as np
import pytest

from mase.document import Document
from mase.errors import CapabilityError, OptionError, ShapeError
from mase.models.tokens import ids_and_spans, longest_first, shortened, tokenizing

tokenizers = pytest.importorskip("tokenizers")

VOCABULARY = {"<pad>": 0, "<unk>": 1, "[CLS]": 2, "a": 5, "good": 6, "film": 7}


@pytest.fixture
def backend():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(VOCABULARY, "<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A", "[CLS] $A [CLS]:1 $B:1", [("[CLS]", 2)]
    )
    return tokenizer


def test_a_tokenizer_is_copied_without_its_truncation_and_padding(backend):
    backend.enable_truncation(3)
    backend.enable_padding(length=10)
    tokens = tokenizing(backend, {}).encode(Document.of("a good odd film"), "model")
    assert tokens.ids == (2, 5, 6, 1, 7)
    assert tokens.fixed == (True, False, False, False, False)
    assert tokens.spans == (None, (0, 1), (2, 6), (7, 10), (11, 15))
    assert len(backend.encode("a good odd film").ids) == 10  # the user's is as it was


def test_spans_of_a_pair_are_in_the_text_of_the_document(backend):
    tokens = tokenizing(backend, {}).encode(Document.of({"question": "good", "answer": "a film"}), "model")
    assert [tokens.text[slice(*span)] for span in tokens.spans if span] == ["good", "a", "film"]
    assert tokens.types == (0, 0, 1, 1, 1)


def test_roles_are_the_usual_names_unless_they_are_given(backend):
    assert tokenizing(backend, {"mask": None}).roles == {"unk": 1, "pad": 0}
    assert tokenizing(backend, {"mask": 7, "unk": 5}).roles == {"mask": 7, "unk": 5, "pad": 0}


def test_fast_tokenizers_of_transformers_name_their_roles(backend):
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="film", mask_token="good")
    found = tokenizing(fast, {})
    assert (found.roles["unk"], found.roles["mask"]) == (7, 6)
    assert found.encode(Document.of("a film"), "model").ids == tuple(fast("a film")["input_ids"])


def test_functions_give_ids_and_perhaps_spans():
    function = tokenizing(str.split, {})
    with pytest.raises(ShapeError, match="integer ids"):
        function.encode(Document.of("a b"), "model")
    spans = tokenizing(_first_letter, {"pad": 3}, [9])
    tokens = spans.encode(Document.of("word"), "model")
    assert (tokens.ids, tokens.fixed, tokens.pieces) == ((9, 4), (True, False), ("<9>", "w"))
    again = pickle.loads(pickle.dumps(spans))
    assert (again.roles, again.fixed_ids) == ({"pad": 3}, {3, 9})


def _first_letter(text):
    return [9, 4], [None, (0, 1)]


def test_truth_values_are_no_ids():
    torch = pytest.importorskip("torch")
    for ids in ([True, False], [2, True], np.array([True, False]), torch.tensor([True, False])):
        with pytest.raises(ShapeError, match="integer ids"):
            ids_and_spans(lambda _, ids=ids: ids, "two words")
    assert ids_and_spans(lambda _: torch.tensor([2, 1]), "two words")[0] == [2, 1]


def test_what_is_no_tokenizer():
    with pytest.raises(OptionError, match="int"):
        tokenizing(3, {})
    pre = tokenizers.pre_tokenizers.PreTokenizer.custom(object())
    odd = tokenizers.Tokenizer(tokenizers.models.WordLevel(VOCABULARY, "<unk>"))
    odd.pre_tokenizer = pre
    with pytest.raises(CapabilityError, match="cannot be copied"):
        tokenizing(odd, {})


@pytest.mark.parametrize("keep", ["start", "end"])
@pytest.mark.parametrize("longest", [3, 4, 5, 6, 7, 20])
def test_pairs_are_cut_as_the_library_cuts_them(backend, keep, longest):
    pair = ("a good film good", "film a a")
    tokens = shortened(tokenizing(backend, {}).encode(Document.of(pair), "model"), longest, keep)
    backend.enable_truncation(longest, direction="right" if keep == "start" else "left")
    expected = backend.encode(*pair)
    assert (tokens.ids, tokens.types) == (tuple(expected.ids), tuple(expected.type_ids))
    assert (tokens.truncation is None) == (longest >= 9)


def test_longest_first_never_takes_more_than_there_is():
    for first in range(6):
        for second in range(6):
            for room in range(12):
                one, other = longest_first(first, second, room)
                assert one + other == min(room, first + second)
                assert 0 <= one <= first
                assert 0 <= other <= second

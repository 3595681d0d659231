"""Tests of `mase.models.options`, through the models that share the checks."""

import json

import numpy as np
import pytest
import torch
from tests.unit.models.tiny import family

from mase.document import Document
from mase.errors import OptionError
from mase.models import Callable, HuggingFace, TorchModule, ZeroShot
from mase.models.token_ids import TokenIds
from mase.models.tokenizing import tokenizing


def torch_module(**options):
    module = torch.nn.Sequential(torch.nn.Embedding(9, 2), torch.nn.Flatten())
    return TorchModule(module, tokenize=lambda text: [1] * len(text.split()), **options)


def token_ids(**options):
    return TokenIds(lambda ids, types: ids, None, name="ids", **options)


def black_box(**options):
    return Callable(lambda texts: [[0.5, 0.5]] * len(texts), **options)


def hugging_face(**options):
    return HuggingFace(*family("bert"), **options)


def zero_shot(**options):
    return ZeroShot(*family("bert"), **options)


@pytest.mark.parametrize("model", [torch_module, token_ids, black_box, zero_shot])
@pytest.mark.parametrize("labels", ["ab", [], ["a", "a"], [1, "1"], np.array([]), 2, {"a", "b"}, {0: "a", 1: "b"}])
def test_labels_are_one_name_per_class(model, labels):
    with pytest.raises(OptionError, match="expected one name per class, all different"):
        model(labels=labels)


def test_labels_may_be_an_array():
    assert black_box(labels=np.array([0, 1])).labels == ("0", "1")


@pytest.mark.parametrize("model", [torch_module, token_ids, hugging_face])
@pytest.mark.parametrize("length", [0, "5", 20.5, True, [5]])
def test_the_longest_input_is_an_integer(model, length):
    with pytest.raises(OptionError, match=r"max_length is .*, expected an integer"):
        model(max_length=length)


@pytest.mark.parametrize("model", [torch_module, token_ids, hugging_face])
def test_the_longest_input_may_be_that_of_an_array(model):
    model(max_length=np.array([9])[0])


@pytest.mark.parametrize("model", [torch_module, token_ids, hugging_face])
@pytest.mark.parametrize(
    ("options", "message"),
    [({"keep": "middle"}, "keep is 'middle'"), ({"outputs": "numbers"}, "outputs is 'numbers'"),
     ({"outputs": "values", "multilabel": True}, "multilabel is True")],
)  # fmt: skip
def test_what_is_read_and_what_is_returned_are_checked(model, options, message):
    with pytest.raises(OptionError, match=message):
        model(**options)


def tokenized(*, special_ids=(), **ids):
    roles = {name.removesuffix("_id"): one for name, one in ids.items()}
    return tokenizing(lambda text: [1] + [5] * len(text.split()), roles, special_ids)


@pytest.mark.parametrize("of", [np.array, torch.tensor])
def test_ids_of_numpy_and_torch_are_those_of_python(of):
    model = torch_module(pad_id=of(0), unk_id=of(3), special_ids=of([1]))
    ids = {"roles": {"mask": None, "unk": 3, "pad": 0}, "special_ids": [0, 1]}
    assert ids.items() <= json.loads(json.dumps(model.reads())).items()
    tokenizer = tokenized(pad_id=of(0), unk_id=of(3), special_ids=of([1]))
    assert tokenizer.encode(Document.of("a b"), "model").fixed == (True, False, False)


@pytest.mark.parametrize("model", [torch_module, tokenized])
@pytest.mark.parametrize("option", [{"pad_id": "[PAD]"}, {"unk_id": 1.5}, {"special_ids": ["[CLS]", 1]}])
def test_ids_are_integers(model, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        model(**option)

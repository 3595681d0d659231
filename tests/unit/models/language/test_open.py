"""Tests of `mase.models.language.open`, and of what other ways to a model make of a language model."""

import pickle

import pytest
import torch
import transformers
from tests.model_folders import edit
from tests.unit.models.language.folders import causal_folder, seq2seq_folder

import mase
from mase.errors import DataError, OptionError
from mase.models import load
from mase.models.language.answers import Generated
from mase.models.language.open import language_model, load_language_model
from mase.models.language.torch import CausalLM

PROMPT = "who sat on the mat ?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return causal_folder(tmp_path_factory.mktemp("language") / "llama")


def test_a_folder_is_a_language_model_with_its_name_and_checksum(folder):
    model = load_language_model(folder)
    assert isinstance(model, CausalLM)
    assert model.name == str(folder)
    assert model.sha256 == load_language_model(str(folder)).sha256
    assert language_model(folder).sha256 == model.sha256
    assert language_model(Generated(model)) is model


@pytest.mark.slow
def test_load_takes_a_language_model_for_its_answers(folder):
    found = mase.explain(PROMPT, model=folder, n_samples=16)
    assert found.answer.generated
    assert [response.name for response in found.responses] == ["answer"]
    assert isinstance(load(folder), Generated)
    assert mase.cite(str(folder), context="the cat sat .", query=PROMPT, n_samples=4).model["name"] == str(folder)


def test_a_tokenizer_beside_a_language_model_that_has_its_own_is_an_error(folder):
    model = load_language_model(folder)
    pipe = transformers.pipeline(
        "text-generation", model=model.module, tokenizer=transformers.AutoTokenizer.from_pretrained(folder)
    )
    for one in (folder, model, Generated(model), pipe):
        with pytest.raises(OptionError, match="leave the tokenizer out"):
            mase.cite(one, "not a tokenizer", context="the cat sat .", query=PROMPT)


def test_a_folder_of_an_encoder_and_a_decoder_is_one(tmp_path):
    model = load_language_model(seq2seq_folder(tmp_path))
    assert type(model).__name__ == "Seq2Seq"
    again = pickle.loads(pickle.dumps(load(tmp_path)))
    assert (again.name, again.sha256) == (str(tmp_path), model.sha256)
    found = mase.cite(model, context="the cat sat . the dog ran .", query=PROMPT, answer="the cat", n_samples=4)
    assert len(found.units) == 2


def test_a_loaded_model_is_pickled_as_its_folder_and_a_changed_one_by_its_weights(folder):
    model = load(folder)
    packed = pickle.dumps(model)
    assert len(packed) < 2_000
    again = pickle.loads(packed)
    assert (again.name, again.sha256) == (model.name, model.sha256)
    with torch.no_grad():
        next(model.language_model.module.parameters()).mul_(2)
    changed = pickle.loads(pickle.dumps(model))
    assert changed.sha256 != again.sha256


def test_a_folder_that_changed_since_is_refused_in_another_process(tmp_path):
    packed = pickle.dumps(load(causal_folder(tmp_path)))
    causal_folder(tmp_path, seed=1)
    with pytest.raises(DataError, match="sha256"):
        pickle.loads(packed)


def test_classifiers_are_no_language_models(good, tmp_path):
    with pytest.raises(OptionError, match=r"'lstm-imdb', which is a classifier, .*mase explain"):
        load_language_model("lstm-imdb")
    with pytest.raises(DataError, match="a BertForSequenceClassification, expected a language model"):
        load_language_model(good)
    with pytest.raises(DataError, match=r"no weights .*if it is a language model, name its class"):
        load(edit(causal_folder(tmp_path), architectures=...))
    assert load_language_model(tmp_path).name == str(tmp_path)

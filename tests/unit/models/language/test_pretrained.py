"""Tests of `mase.models.language.pretrained`, and of `kind`, which it asks."""

import pytest
import torch
import transformers
from tests.model_folders import edit, with_code
from tests.unit.models.language.folders import causal_folder, seq2seq_folder, tokenizer

from mase.errors import DataError
from mase.models import limits
from mase.models.language.kind import language_kind
from mase.models.language.pretrained import read_pretrained


def test_a_language_model_opens_in_single_precision_with_its_tokenizer(tmp_path):
    folder = causal_folder(tmp_path)
    module, read = read_pretrained(folder, "causal")
    assert type(module).__name__ == "LlamaForCausalLM"
    assert {weights.dtype for weights in module.parameters()} == {torch.float32}
    assert not module.training
    assert read.chat_template == tokenizer(chat_template=read.chat_template).chat_template
    own = tokenizer()
    assert read_pretrained(str(folder), "causal", own)[1] is own


def test_the_configuration_tells_the_kind(tmp_path):
    folder = causal_folder(tmp_path / "causal")
    assert language_kind(folder) == "causal"
    assert language_kind(edit(folder, architectures=["GPT2LMHeadModel"])) == "causal"
    assert language_kind(edit(folder, architectures=["MyOwnForCausalLM"])) == "causal"
    assert language_kind(edit(folder, architectures=["BertForSequenceClassification"])) is None
    assert language_kind(edit(folder, architectures=...)) is None
    assert read_pretrained(folder, "causal")  # a folder that names none is believed
    assert language_kind(tmp_path) is None
    assert language_kind(seq2seq_folder(tmp_path / "seq2seq")) == "seq2seq"
    assert type(read_pretrained(tmp_path / "seq2seq", "seq2seq")[0]).__name__ == "T5ForConditionalGeneration"


def test_a_model_of_another_kind_says_where_it_belongs(tmp_path, good):
    with pytest.raises(DataError, match=r"LlamaForCausalLM, expected one for .*Seq2Seq; use mase\.models\.CausalLM"):
        read_pretrained(causal_folder(tmp_path), "seq2seq")
    with pytest.raises(DataError, match=r"a BertForSequenceClassification, expected a language model.*mase explain"):
        read_pretrained(good, "causal")


def test_a_model_that_was_never_trained_is_an_error(tmp_path):
    folder = causal_folder(tmp_path)
    transformers.LlamaModel(transformers.LlamaConfig.from_pretrained(folder)).save_pretrained(folder)
    state = torch.random.get_rng_state()
    with pytest.raises(DataError, match=r"has no weights lm_head\.weight, expected a language model that was trained"):
        read_pretrained(edit(folder, architectures=["LlamaForCausalLM"]), "causal")
    assert torch.equal(torch.random.get_rng_state(), state)
    shared = causal_folder(tmp_path / "shared", tie_word_embeddings=True)  # the head is stored as the word vectors
    assert read_pretrained(shared, "causal")


@pytest.mark.parametrize("where", ["config", "model", "family", "tokenizer"])
def test_code_in_the_folder_is_refused_and_not_run(where, tmp_path):
    canary, file = with_code(causal_folder(tmp_path / "model"), where)
    with pytest.raises(DataError, match=file):
        read_pretrained(tmp_path / "model", "causal")
    assert not canary.exists()


def test_a_chat_template_of_any_size_is_not_read(tmp_path, monkeypatch):
    folder = causal_folder(tmp_path)
    monkeypatch.setattr(limits, "VOCABULARY_BYTES", (folder / "tokenizer.json").stat().st_size + 10)
    (folder / "chat_template.jinja").write_text("x" * (limits.VOCABULARY_BYTES + 1))
    with pytest.raises(DataError, match=r"chat_template\.jinja has [\d,]+ bytes, expected at most"):
        read_pretrained(folder, "causal")


def test_what_is_not_there_says_how_to_fetch_it(tmp_path):
    with pytest.raises(DataError, match=r"no language model .* on this machine; pass download=True .mase cite"):
        read_pretrained("nobody/has-this-model", "causal")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no config\.json") as raised:
        read_pretrained(tmp_path / "empty", "causal")
    assert "download" not in str(raised.value)
    folder = causal_folder(tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"no model\.safetensors \(pytorch_model\.bin: such files can contain code"):
        read_pretrained(folder, "causal")

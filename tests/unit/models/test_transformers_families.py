"""Families of `mase.models.transformers`: single texts and pairs, against the module itself on changed token ids."""

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.tiny import FAMILIES, family, word_tokenizer

import mase
from mase.methods import resolve
from mase.models import HuggingFace
from mase.models.protocol import Binding
from mase.testing import check_model

INPUTS = {"text": ("w1 w2 w3 w4",), "pair": ("w1 w2 w1", "w4 w2")}


@pytest.fixture(scope="module", params=FAMILIES)
def parts(request):
    return family(request.param)


def asked(module, encoded, ids):
    """Return the logits of the module itself for ids (b, t), with the token types of an encoded text."""
    rest = {"token_type_ids"} & encoded.keys()
    with torch.no_grad():
        return module(ids, **{name: encoded[name].repeat(len(ids), 1) for name in rest}).logits.double().numpy()


@pytest.mark.parametrize("texts", INPUTS.values(), ids=INPUTS)
def test_a_masked_word_is_nowhere_in_the_model(parts, texts):
    module, tokenizer = parts
    model, encoded = HuggingFace(module, tokenizer), tokenizer(*texts, return_tensors="pt")
    tokens = model.encode(texts if len(texts) > 1 else texts[0])
    assert tokens.ids == tuple(encoded["input_ids"][0].tolist())
    free = np.flatnonzero(~np.array(tokens.fixed))
    of_token = np.full(len(tokens), -1)
    of_token[free] = np.arange(len(free))
    probe = model.bind(Binding.of(tokens, resolve("mase-mask", reference="mask").space, of_token))
    kept = np.array([[row >> word & 1 for word in range(len(free))] for row in range(2 ** len(free))])
    ids = encoded["input_ids"].repeat(len(kept), 1)
    ids[:, free] = torch.where(torch.tensor(kept) == 1, ids[:, free], tokenizer.mask_token_id)
    expected = asked(module, encoded, ids)
    assert np.ptp(expected, axis=0).max() > 0.05
    assert probe.scores(kept.astype(float), np.arange(len(kept))) == pytest.approx(expected, abs=2e-5)


def test_predictions_of_texts_and_pairs_together_are_those_of_the_module(parts):
    module, tokenizer = parts
    inputs = ["w1 w2 w3 w4", ("w1 w2", "w4 w2"), ("w1", "w4 w2 w3"), "w1"]
    encoded = [tokenizer(*([one] if isinstance(one, str) else one), return_tensors="pt") for one in inputs]
    logits = np.concatenate([asked(module, one, one["input_ids"]) for one in encoded])
    expected = torch.tensor(logits).softmax(dim=1).numpy()
    assert HuggingFace(module, tokenizer).predict(inputs) == pytest.approx(expected, abs=1e-5)


def test_every_family_keeps_the_contract(parts):
    check_model(HuggingFace(*parts), "w1 w2 w3 w4")


@pytest.mark.parametrize("text", ["w1", "  w1\n", "w1 ﷽ e\u0301 \U0001f600 w2", "w1 [SEP] w2", "w1 " * 60])
def test_awkward_texts_keep_the_contract(parts, text):
    check_model(HuggingFace(*parts), text)


@pytest.mark.parametrize(
    "method", ["mase", "mase-nlgp", "gradient-x-input", "integrated-gradients", "permutation-importance"]
)
def test_words_of_both_texts_are_scored(parts, method):
    found = mase.Explainer(*parts, method=method, n_samples=60)(("w1 w2", "w3"))
    assert [(unit.field, unit.text) for unit in found.units] == [("text", "w1"), ("text", "w2"), ("text_pair", "w3")]
    assert np.abs(found.scores).min() > 0


class OwnConfig(transformers.PretrainedConfig):
    """A configuration of the user: since transformers 5 it has no padding id unless it defines one."""

    model_type = "own"
    vocab_size = 60


class OwnModel(transformers.PreTrainedModel):
    """The mean of word vectors, and a head."""

    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.vectors = torch.nn.Embedding(config.vocab_size, 4)
        self.head = torch.nn.Linear(4, config.num_labels)

    def get_input_embeddings(self):
        return self.vectors

    def forward(self, input_ids, attention_mask=None):
        logits = self.head(torch.tanh(self.vectors(input_ids)).mean(dim=1))
        return transformers.modeling_outputs.SequenceClassifierOutput(logits=logits)


def test_a_configuration_without_a_padding_id_stays_without_one():
    torch.manual_seed(0)
    module, tokenizer = OwnModel(OwnConfig()).eval(), word_tokenizer()
    before = dict(vars(module.config))
    found = mase.explain("w1 w2 w3", HuggingFace(module, tokenizer), method="occlusion")
    assert np.ptp(found.scores) > 0
    assert vars(module.config) == before

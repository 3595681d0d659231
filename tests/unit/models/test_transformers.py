"""Tests of `mase.models.transformers`."""

import copy

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.modules import TEXT
from tests.unit.models.tiny import FAMILIES, PLAIN, SIZES, classifier, family, word_tokenizer

import mase
from mase.errors import CapabilityError, ModelError, OptionError
from mase.methods import resolve
from mase.models import HuggingFace
from mase.models.base import Binding
from mase.testing import check_model


@pytest.mark.slow
def test_hugging_face_contract(minilm):
    check_model(HuggingFace(*minilm), "An unbelievably good film, isn't it?")


def test_hugging_face_words_and_special_tokens(small_bert):
    found = mase.Explainer(*small_bert, n_samples=40)("An unbelievably overcooked film, isn't it?")
    assert found.words == ("An", "unbelievably", "overcooked", "film,", "isn't", "it?")
    assert found.tokens[0].text == "[CLS]"
    assert found.responses[0].token_scores is None
    assert len(found.tokens) > len(found.words) + 2


def test_token_coordinates_sum_to_word_coordinates(small_bert):
    text = "An unbelievably overcooked film isn't it"
    words = mase.Explainer(*small_bert, method="mase-nlgp+sigma=0.01", n_samples=600)(text)
    tokens = mase.Explainer(*small_bert, method="mase-nlgp+sigma=0.01", n_samples=600, units="token")(text)
    assert tokens.scores == pytest.approx(words.scores, abs=0.02 * np.abs(words.scores).max())
    assert sum(tokens.responses[0].token_scores) == pytest.approx(tokens.scores.sum())
    assert tokens.responses[0].token_scores[0] == tokens.responses[0].token_scores[-1] == 0.0


def test_entering_before_the_layer_norm_would_explain_nothing(small_bert):
    """The trap of R4: LayerNorm undoes a scale of its whole input. At the two entries that we offer, nothing does."""
    module, tokenizer = small_bert
    ids = torch.tensor([tokenizer("A good film")["input_ids"]])
    norm = module.bert.embeddings.LayerNorm
    with torch.no_grad():
        plain = module(ids).logits
        handle = norm.register_forward_pre_hook(lambda _m, args: (args[0] * 1.3,))
        scaled = module(ids).logits
        handle.remove()
    assert scaled == pytest.approx(plain.numpy(), abs=1e-5)
    block, words = (
        mase.Explainer(HuggingFace(*small_bert, enter=enter), method="mase-nlgp", n_samples=200)("A good film").scores
        for enter in ("block", "words")
    )
    assert np.abs(block).max() > 1e-4
    assert np.abs(words).max() > 1e-4
    assert np.abs(block - words).max() > 1e-4


def test_mask_reference_equals_the_mask_token(small_bert):
    module, tokenizer = small_bert
    model = HuggingFace(module, tokenizer)
    from mase.methods import resolve
    from mase.models.base import Binding

    tokens = model.encode("A good film")
    method = resolve("mase-mask", reference="mask")
    probe = model.bind(Binding(tokens, method.space, np.array([-1, 0, 1, 2, -1]), 3, (0,), 0.0))
    found = probe.scores(np.array([[1.0, 0.0, 1.0]]), np.arange(1))
    with torch.no_grad():
        expected = module(**tokenizer("A [MASK] film", return_tensors="pt")).logits
    assert found == pytest.approx(expected.numpy(), abs=1e-5)


def test_long_text_is_cut_at_the_models_limit(small_bert):
    text = "good film " * 400
    found = mase.Explainer(HuggingFace(*small_bert, max_length=32), n_samples=80)(text)
    assert len(found.tokens) == 32
    assert found.tokens[-1].text == "[SEP]"
    assert found.truncation.n_total == 802
    assert HuggingFace(*small_bert).encode(text).truncation.n_kept == 512
    last = HuggingFace(*small_bert, max_length=8, keep="end").encode("one two three four five six seven eight")
    assert last.pieces == ("[CLS]", "three", "four", "five", "six", "seven", "eight", "[SEP]")


def test_long_text_is_cut_where_its_tokenizer_cuts_it(small_bert):
    module, tokenizer = small_bert
    tokenizer, text = copy.deepcopy(tokenizer), "one two three four five six seven eight"
    tokenizer.truncation_side = "left"
    theirs = tuple(tokenizer(text, truncation=True, max_length=8)["input_ids"])
    assert HuggingFace(module, tokenizer, max_length=8).encode(text).ids == theirs
    assert HuggingFace(module, tokenizer, max_length=8, keep="start").encode(text).pieces[1] == "one"


@pytest.mark.parametrize("family", ["gpt2", "roberta", "distilbert"])
def test_other_families(family, small_bert):
    """Tiny random models of other architectures, with the WordPiece tokenizer of MiniLM."""
    tokenizer = small_bert[1]
    shared = {"vocab_size": len(tokenizer), "num_labels": 3}
    torch.manual_seed(0)
    config = {
        "gpt2": lambda: transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=2, n_positions=64, pad_token_id=None, **shared
        ),
        "roberta": lambda: transformers.RobertaConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=66,
            **shared,
        ),
        "distilbert": lambda: transformers.DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=32, **shared),
    }[family]()
    module = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    check_model(HuggingFace(module, tokenizer), "A good film")
    assert config.pad_token_id is None or family != "gpt2"


def test_multilabel_hugging_face(small_bert):
    module = copy.deepcopy(small_bert[0])
    module.config.problem_type = "multi_label_classification"
    chance = HuggingFace(module, small_bert[1]).predict(["A good film"])
    assert chance.sum() != pytest.approx(1)


@pytest.mark.slow
def test_where_blocks_that_mix_words_or_undo_scales_are_entered(small_bert):
    """MobileBERT's block mixes three neighbours; Bloom's word vectors go through a LayerNorm at once."""
    tokenizer, n = small_bert[1], len(small_bert[1])
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "vocab_size": n}
    mobile = transformers.MobileBertConfig(
        embedding_size=16, intra_bottleneck_size=16, intermediate_size=16, num_hidden_layers=1, **sizes
    )
    bloom = transformers.BloomConfig(hidden_size=16, n_head=2, n_layer=1, vocab_size=n, pad_token_id=0)
    for config, layer in [
        (mobile, "mobilebert.embeddings.word_embeddings"),
        (bloom, "transformer.word_embeddings_layernorm"),
    ]:
        module = transformers.AutoModelForSequenceClassification.from_config(config).eval()
        chosen, named = HuggingFace(module, tokenizer), HuggingFace(module, tokenizer, enter=layer)
        scores = [
            mase.Explainer(one, method="mase-nlgp", n_samples=60)("a good film").scores.tolist()
            for one in (chosen, named)
        ]
        assert scores[0] == scores[1]
    module = transformers.AutoModelForSequenceClassification.from_config(mobile).eval()
    model, text = HuggingFace(module, tokenizer), "a good film"
    ids = torch.tensor([model.encode(text).ids])
    masked = ids.clone()
    masked[0, 2] = tokenizer.mask_token_id
    with torch.no_grad():
        whole, without = (module(input_ids=one).logits[0].double() for one in (ids, masked))
    margins = [(one[0] - one[1]).item() for one in (whole, without)]
    found = mase.Explainer(model, method="occlusion", link="margin")(text, target=0)
    assert found.scores[1] == pytest.approx(margins[0] - margins[1], abs=1e-5)


def test_a_model_that_reads_characters_has_no_words_to_enter_at(small_bert):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    module = transformers.AutoModelForSequenceClassification.from_config(transformers.CanineConfig(**sizes)).eval()
    with pytest.raises(CapabilityError, match="CanineForSequenceClassification"):
        HuggingFace(module, small_bert[1])


def test_hugging_face_needs_a_tokenizer_and_takes_a_layer(small_bert):
    with pytest.raises(OptionError, match="tokenizer"):
        HuggingFace(small_bert[0])
    named = HuggingFace(*small_bert, enter="bert.embeddings")
    plain = mase.Explainer(*small_bert, n_samples=60)(TEXT)
    assert mase.Explainer(named, n_samples=60)(TEXT).scores == pytest.approx(plain.scores)


def test_a_length_may_exceed_that_of_the_tokenizer_but_not_the_positions(small_bert):
    module, tokenizer = small_bert
    short = copy.deepcopy(tokenizer)
    short.model_max_length = 8
    text = " ".join("abcdefghijkl")
    assert len(HuggingFace(module, short).encode(text)) == 8
    assert len(HuggingFace(module, short, max_length=12).encode(text)) == 12


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_texts_with_an_end_token_are_predicted_beside_others(name):
    model = HuggingFace(*family(name, num_labels=3))
    texts = ["w1 w2 w3 w4", "w1 [SEP] w3 w4"]
    alone = np.concatenate([model.predict([text]) for text in texts])
    np.testing.assert_allclose(model.predict(texts), alone, atol=1e-6)


@pytest.mark.parametrize("wrong", [0, 1, -3, 10_000, "3"])
def test_hugging_face_input_lengths_are_checked(small_bert, wrong):
    with pytest.raises(OptionError, match=r"max_length is .* expected an integer from 3 to "):
        HuggingFace(*small_bert, max_length=wrong)


@pytest.fixture(scope="module")
def tokenizer():
    return word_tokenizer()


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({}, None),
        ({"problem_type": "multi_label_classification"}, ("not LABEL_0", "LABEL_0")),
        ({"id2label": {0: "toxic"}}, ("not toxic", "toxic")),
    ],
)
def test_one_label_of_a_transformer_is_a_class_only_if_its_configuration_says_so(tokenizer, said, labels):
    module = classifier(transformers.BertConfig(**SIZES, **PLAIN, **({"num_labels": 1} | said)))
    if labels is None:
        with pytest.raises(OptionError, match="LABEL_0"):
            HuggingFace(module, tokenizer)
        return
    model = HuggingFace(module, tokenizer)
    assert model.labels == labels
    assert model.predict(["w1 w2"]).sum() == pytest.approx(1)


def test_language_models_are_no_classifiers(tokenizer):
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=30, vocab_size=15)
    with pytest.raises(ModelError, match="language model"):
        mase.models.HuggingFace(transformers.AutoModelForCausalLM.from_config(config).eval(), tokenizer).predict(["w1"])


def test_the_longest_input_of_mpt_has_another_name():
    config = transformers.MptConfig(d_model=16, n_heads=2, n_layers=1, vocab_size=15, max_seq_len=6, num_labels=2)
    model = HuggingFace(classifier(config), word_tokenizer(("$A", "$A $B"), model_max_length=10**30))
    tokens = model.encode("w0 w1 w2 w3 w4 w5 w6 w7")
    assert (len(tokens.ids), tokens.truncation.n_kept, tokens.truncation.n_total) == (6, 6, 8)


class MeanPooled(transformers.BertForSequenceClassification):
    """A classifier with a head of the user, whose `forward` cannot do without a mask."""

    def forward(self, input_ids, attention_mask, token_type_ids=None):
        vectors = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state
        read = attention_mask.unsqueeze(2).to(vectors.dtype)
        return {"logits": self.classifier((vectors * read).sum(1) / read.sum(1))}


def test_a_forward_of_the_user_that_needs_a_mask_gets_one():
    tokenizer, texts = word_tokenizer(), ["w1 w2 w3", "w4 w5"]
    module = MeanPooled(transformers.BertConfig(**SIZES, **PLAIN)).eval()
    model = HuggingFace(module, tokenizer)
    check_model(model, texts[0])
    with torch.no_grad():
        expected = module(**tokenizer(texts, return_tensors="pt", padding=True))["logits"].softmax(1)
    assert model.predict(texts) == pytest.approx(expected.numpy(), abs=1e-6)
    assert np.abs(mase.Explainer(model, method="occlusion")(texts[0]).scores).max() > 0


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
@pytest.mark.slow
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

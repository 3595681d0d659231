import pickle

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.language.causal_models import SIZE, byte_tokenizer, causal_model
from tokenizers.processors import TemplateProcessing

import mase
from mase.errors import InvalidTextError, ModelError, OptionError
from mase.models import Seq2Seq
from mase.models.language.opening import language_model
from mase.models.language.protocol import HalfLanguageModel, LanguageModel

CONTEXTS = ("the sky is red", "the sky is blue", "the sky is red", "so the sky", "a long, long sentence about the sky")
START, BEGIN, END = SIZE - 4, SIZE - 3, SIZE - 1
_IDS = {"decoder_start_token_id": START, "eos_token_id": END, "pad_token_id": END, "bos_token_id": BEGIN}
_LAYERS = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2}
_LAYERS |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 64}
_T5 = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
_GEMMA = {"vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 8}
_GEMMA |= {"intermediate_size": 16, "num_key_value_heads": 1, "query_pre_attn_scalar": 8, "sliding_window": 8}
FAMILIES = {
    "T5": _T5,
    "Bart": _LAYERS,
    "Pegasus": _LAYERS,
    "Marian": _LAYERS,
    "FSMT": _LAYERS | {"langs": ["a", "b"], "src_vocab_size": SIZE, "tgt_vocab_size": SIZE},
    "SwitchTransformers": _T5 | {"num_experts": 2},
    "T5Gemma": {"encoder": _GEMMA, "decoder": _GEMMA},
}
WITHOUT_BEGIN = (
    "T5",
    "Pegasus",
    "Marian",
    "SwitchTransformers",
    "T5Gemma",
)  # whose tokenizers put nothing before a target


def seq2seq(family="T5", **settings):
    """Return a model whose weights are large enough that every token matters, and a tokenizer that ends its texts."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(vocab_size=SIZE, **_IDS | FAMILIES[family] | settings)
    module = transformers.AutoModelForSeq2SeqLM.from_config(config).eval()
    with torch.no_grad():
        for weights in module.parameters():
            if weights.ndim > 1 and weights.requires_grad:
                weights.normal_(0, 0.4)
    backend = byte_tokenizer(chat_template=None)
    template = "$A <|eos|>" if family in WITHOUT_BEGIN else "<|assistant|> $A <|eos|>"
    special = [("<|eos|>", END), ("<|assistant|>", BEGIN)]
    backend.backend_tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=special)
    return module, backend


def one_by_one(module, prompt, prefix, answer):
    with torch.no_grad():
        inputs = torch.tensor([[*prefix, *answer[:-1]]])
        logits = module(input_ids=torch.tensor([prompt]), decoder_input_ids=inputs, use_cache=False).logits[0].float()
    return logits.log_softmax(dim=-1)[len(prefix) - 1 :].gather(1, torch.tensor([list(answer)]).T)[:, 0].numpy()


@pytest.fixture(scope="module")
def t5():
    return Seq2Seq(*seq2seq())


@pytest.mark.parametrize("family", FAMILIES)
def test_log_probabilities_are_those_of_each_row_alone(family):
    module, backend = seq2seq(family)
    model = Seq2Seq(module, backend)
    prefix = (START,) if family in WITHOUT_BEGIN else (START, BEGIN)
    answers = [model.continuation(text) for text in ("It is red.", "It", "No 😀")]
    found = model.log_probabilities(CONTEXTS, answers)
    for answer, table in zip(answers, found, strict=True):
        assert answer.ids == tuple(backend(answer.text, add_special_tokens=False)["input_ids"])
        expected = [one_by_one(module, backend(text)["input_ids"], prefix, answer.ids) for text in CONTEXTS]
        np.testing.assert_allclose(table, expected, atol=1e-4)


@pytest.mark.parametrize("family", ["T5", "Bart", "SwitchTransformers", "T5Gemma"])
@pytest.mark.parametrize("forced", [None, 20])
def test_an_answer_is_greedy_and_begins_as_configured(family, forced):
    module, backend = seq2seq(family)
    module.generation_config.forced_bos_token_id = forced
    ids = backend("the sky is")["input_ids"]
    before = [START, forced] if forced is not None else [START] if family in WITHOUT_BEGIN else [START, BEGIN]
    expected = []
    for _ in range(6):
        inputs = torch.tensor([[*before, *expected]])
        with torch.no_grad():
            logits = module(input_ids=torch.tensor([ids]), decoder_input_ids=inputs, use_cache=False).logits
        expected.append(int(logits[0, -1].argmax()))
    model = Seq2Seq(module, backend)
    found = model.generate("the sky is", 6)
    stop = next((index for index, token in enumerate(expected) if token == END), 6)
    assert found.ids == tuple(expected[:stop])
    (table,) = model.log_probabilities(["the sky is"], [found])
    np.testing.assert_allclose(table[0], one_by_one(module, ids, before, found.ids), atol=1e-4)
    module.generation_config.eos_token_id = expected[1]
    if expected[0] != expected[1]:
        assert Seq2Seq(module, backend).generate("the sky is", 6).ids == tuple(expected[:1])


def test_the_encoder_reads_each_prompt_once(t5, monkeypatch):
    passes = []
    encoder = t5.module.get_encoder()
    hook = encoder.register_forward_pre_hook(lambda _, args, given: passes.append(given), with_kwargs=True)
    answers = [t5.continuation(text) for text in ("red", "blue")]
    t5.log_probabilities(CONTEXTS, answers)
    t5.generate(CONTEXTS[0], 5)
    hook.remove()
    sizes = [len(given["input_ids"]) for given in passes]
    assert sum(sizes) == len(set(CONTEXTS)) + 1


def test_it_is_a_language_model_without_chats(t5):
    assert isinstance(t5, LanguageModel)
    assert isinstance(t5, HalfLanguageModel)
    answer = t5.continuation("red")
    text, message = t5.log_probabilities(["the sky", [{"role": "user", "content": "the sky"}]], [answer])[0]
    np.testing.assert_array_equal(text, message)
    with pytest.raises(InvalidTextError, match="no chat template"):
        t5.log_probabilities([[{"role": "user", "content": "the sky"}] * 2], [answer])


def test_another_target_language_is_another_way_to_read():
    tokenizer = transformers.MBart50Tokenizer(src_lang="en_XX", tgt_lang="de_DE")
    model = Seq2Seq(seq2seq("Bart")[0], tokenizer)
    german = model.reads()
    assert model.reads() == german
    tokenizer.tgt_lang = "fr_XX"
    assert model.reads() != german


def test_other_models_are_refused(t5):
    with pytest.raises(OptionError, match="CausalLM"):
        Seq2Seq(causal_model(), t5.tokenizer.backend)
    with pytest.raises(OptionError, match="no tokenizer"):
        Seq2Seq(t5.module)
    module, backend = seq2seq()
    module.config.decoder_start_token_id = module.generation_config.decoder_start_token_id = None
    with pytest.raises(OptionError, match="decoder_start_token_id"):
        Seq2Seq(module, backend)


def test_what_is_too_long_is_refused():
    bart = Seq2Seq(*seq2seq("Bart"))
    for prompt, answer in (("a" * 63, "b"), ("a", "b" * 64)):
        with pytest.raises(ModelError, match="64 at most"):
            bart.log_probabilities([prompt], [bart.continuation(answer)])
    table = bart.log_probabilities(["a" * 62], [bart.continuation("b" * 63)])[0]
    assert table.shape == (1, 63)
    bart.module.generation_config.eos_token_id = bart.module.config.eos_token_id = None
    bart.tokenizer.backend.eos_token = None
    cut = bart.generate("a", 100)
    assert (len(cut), cut.cut) == (63, "longest-answer")


def test_one_row_at_a_time_when_memory_runs_out(t5):
    answers, sizes = [t5.continuation("red")], []
    expected = t5.log_probabilities(CONTEXTS, answers)[0]

    def small(encoder, args, kwargs):
        sizes.append(len(kwargs["input_ids"]))
        if sizes[-1] > 1:
            raise MemoryError

    hook = t5.module.get_encoder().register_forward_pre_hook(small, with_kwargs=True)
    try:
        np.testing.assert_allclose(t5.log_probabilities(CONTEXTS, answers)[0], expected, atol=1e-5)
    finally:
        hook.remove()
    assert max(sizes) > 1
    assert sizes.count(1) == len(set(CONTEXTS))


def test_half_precision_and_other_processes(t5, monkeypatch):
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: True)
    half, answers = t5.half(), [t5.continuation("It is red.")]
    full = t5.log_probabilities(CONTEXTS, answers)[0]
    rounded = half.log_probabilities(CONTEXTS, answers)[0]
    assert 0 < np.abs(rounded - full).max() < 0.3
    again = pickle.loads(pickle.dumps(half))
    np.testing.assert_allclose(again.log_probabilities(CONTEXTS, answers)[0], rounded, atol=1e-5)


def test_answers_and_label_words_are_explained(t5):
    assert isinstance(language_model(t5.module, t5.tokenizer.backend), Seq2Seq)
    found = mase.cite(t5.module, t5.tokenizer.backend, context="the sky is red", units="word", n_samples=8, answer="So")
    assert found.words == ("the", "sky", "is", "red")
    words = Seq2Seq(t5.module, t5.tokenizer.backend, labels=["is", "no"])
    labelled = mase.Explainer(words, n_samples=8)("the sky is red")
    assert [*labelled.prediction.probabilities] == ["is", "no"]

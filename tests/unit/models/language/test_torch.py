"""Tests of `mase.models.language.torch`, and of `kind`, which it asks."""

import copy
import pickle

import numpy as np
import pytest
import torch
import transformers
from tests.model_folders import edit, with_code
from tests.unit.models.language.causal_models import (
    CHAT,
    SIZE,
    byte_tokenizer,
    causal_model,
    one_by_one,
)
from tests.unit.models.language.folders import causal_folder, seq2seq_folder, tokenizer
from tokenizers.processors import TemplateProcessing

import mase
from mase.errors import CapabilityError, DataError, EmptyTextError, InvalidTextError, ModelError, OptionError
from mase.models import Seq2Seq, limits
from mase.models.language.base import LanguageModel
from mase.models.language.open import language_model
from mase.models.language.scoring import Costs
from mase.models.language.torch import CausalLM, language_kind, read_pretrained

CONTEXTS = ("the sky is red", "the sky is blue", "the sky is red", "so the sky", "a long, long sentence about the sky")


QUESTIONS = [[{"role": "user", "content": f"Context: {text}. Which colour?"}] for text in CONTEXTS]


END = SIZE - 2  # of a turn


@pytest.fixture(scope="module")
def llama():
    return CausalLM(causal_model(), byte_tokenizer())


def test_it_is_a_language_model(llama):
    assert isinstance(llama, LanguageModel)
    assert llama.name == "LlamaForCausalLM"
    assert CausalLM(llama.module, llama.tokenizer.backend, name="mine").name == "mine"
    assert len(llama.sha256) == 64


@pytest.mark.parametrize("family", ["Llama", "GPT2"])
def test_log_probabilities_are_those_of_each_row_alone(family):
    model = CausalLM(causal_model(family), byte_tokenizer())
    answers = [model.continuation(text) for text in ("It is red.", "It", "No 😀")]
    found = model.log_probabilities(QUESTIONS, answers)
    for answer, table in zip(answers, found, strict=True):
        assert table.shape == (len(QUESTIONS), len(answer))
        for question, row in zip(QUESTIONS, table, strict=True):
            expected = one_by_one(model.module, model.tokenizer.prompt(question), answer.ids)
            np.testing.assert_allclose(row, expected, atol=1e-4)


def test_the_answer_follows_the_generation_prompt(llama):
    backend = llama.tokenizer.backend
    ids = backend.apply_chat_template(QUESTIONS[0], add_generation_prompt=True, return_dict=True)["input_ids"]
    assert llama.tokenizer.prompt(QUESTIONS[0]) == tuple(ids)
    assert llama.tokenizer.prompt("the sky") == tuple(backend("the sky")["input_ids"])


@pytest.mark.parametrize("ids", ["x", ["x"], [2, None], float("inf"), [[2]]])
def test_ids_that_end_an_answer_and_are_none(ids):
    module = causal_model()
    module.generation_config.eos_token_id = ids
    with pytest.raises(OptionError, match=r"LlamaForCausalLM has the eos_token_id .*, expected ids of tokens"):
        CausalLM(module, byte_tokenizer()).generate(QUESTIONS[0], 8)


@pytest.mark.parametrize("number", [-1, SIZE, 10**12])
def test_ids_of_no_token_end_no_answer(number):
    module = causal_model()
    module.generation_config.eos_token_id = [number, SIZE - 1]
    model = CausalLM(module, byte_tokenizer(chat_template=None))
    assert model.description.stops == ("<|eos|>",)
    assert (
        model.generate("the sky is", 2).ids == CausalLM(causal_model(), byte_tokenizer()).generate("the sky is", 2).ids
    )


def test_an_answer_is_greedy_and_without_its_end():
    module = causal_model()
    backend = byte_tokenizer()
    ids = list(CausalLM(module, backend).tokenizer.prompt(QUESTIONS[0]))
    expected = []
    for _ in range(8):
        with torch.no_grad():
            expected.append(int(module(torch.tensor([ids + expected])).logits[0, -1].argmax()))
    cut = CausalLM(module, backend).generate(QUESTIONS[0], 8)
    assert (cut.ids, cut.cut) == (tuple(expected), "max-new-tokens")
    stop = next(index for index, token in enumerate(expected) if index and token not in expected[:index])
    module.generation_config.eos_token_id = [expected[stop], SIZE - 1]
    module.generation_config.repetition_penalty = 50.0
    ended = CausalLM(module, backend).generate(QUESTIONS[0], 8)
    assert (ended.ids, ended.cut) == (tuple(expected[:stop]), None)
    module.generation_config.eos_token_id = expected[0]
    with pytest.raises(ModelError, match="first token"):
        CausalLM(module, backend).generate(QUESTIONS[0], 8)


def test_without_a_cache_an_answer_is_the_same():
    module = causal_model("Mamba")
    model = CausalLM(module, byte_tokenizer())
    found = model.generate("the sky is", 4)
    expected = module.generate(torch.tensor([model.tokenizer.prompt("the sky is")]), max_new_tokens=4, do_sample=False)
    assert found.ids == tuple(expected[0, -4:].tolist())


def test_the_end_of_a_turn_is_read_from_the_chat_template(llama):
    assert llama.tokenizer.stops() == {SIZE - 1, END}
    assert CausalLM(llama.module, llama.tokenizer.backend, chat=False).tokenizer.stops() == {SIZE - 1}


def test_spans_of_a_given_answer(llama):
    found = llama.continuation("It is 😀.")
    pieces = [found.text[start:end] for start, end in found.spans]
    assert pieces == ["I", "t", " is", " ", "😀", "😀", "😀", "😀", "."]
    assert found.ids == tuple(llama.tokenizer.backend("It is 😀.", add_special_tokens=False)["input_ids"])


def test_spans_of_tokens_that_the_tokenizer_would_not_choose(llama):
    space, letters = llama.continuation(" ").ids, llama.continuation("i😀s").ids
    found = llama.tokenizer.generated([*space, *letters])
    assert found.text == " i😀s"
    assert [found.text[start:end] for start, end in found.spans] == [" ", "i", "😀", "😀", "😀", "😀", "s"]
    assert llama.tokenizer.generated(letters[:2]).spans == ((0, 1), (1, 2))  # a character that is cut


def test_slow_tokenizers_give_spans_by_decoding(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]", "the", "sky", "##s"]))
    slow = transformers.BertJapaneseTokenizer(
        tmp_path / "vocab.txt", word_tokenizer_type="basic", subword_tokenizer_type="wordpiece"
    )
    assert not slow.is_fast
    found = CausalLM(causal_model(), slow).continuation("the skys")
    assert [found.text[start:end] for start, end in found.spans] == ["the", " sky", "s"]


def test_messages_without_a_chat_template():
    plain = CausalLM(causal_model(), byte_tokenizer(chat_template=None))
    assert plain.tokenizer.prompt(QUESTIONS[0]) == plain.tokenizer.prompt(QUESTIONS[0][0]["content"])
    with pytest.raises(InvalidTextError, match="no chat template"):
        plain.log_probabilities([QUESTIONS[0] * 2], [plain.continuation("It")])
    with pytest.raises(OptionError, match="chat is True"):
        CausalLM(plain.module, plain.tokenizer.backend, chat=True)


def test_a_template_that_refuses_messages():
    refusing = byte_tokenizer(chat_template="{{ raise_exception('no system here') }}" + CHAT)
    with pytest.raises(InvalidTextError, match="no system here"):
        CausalLM(causal_model(), refusing).generate(QUESTIONS[0], 1)


def test_a_prompt_that_is_too_long(llama):
    long = "x" * 90
    answer = llama.continuation("1234567")
    with pytest.raises(ModelError, match=r"90 tokens .* 7 has 97, but .* reads 96"):
        llama.log_probabilities(["x", long], [answer])
    cut = llama.generate(long, 50)
    assert (len(cut), cut.cut) == (6, "window")
    with pytest.raises(ModelError, match="96"):
        llama.generate("x" * 96, 50)


def test_empty_prompts_and_answers(llama):
    with pytest.raises(EmptyTextError):
        llama.continuation("")
    with pytest.raises(EmptyTextError):
        llama.log_probabilities([""], [llama.continuation("a")])
    assert [table.shape for table in llama.log_probabilities([], [llama.continuation("ab")])] == [(0, 2)]


def test_what_is_no_causal_language_model_is_refused():
    with pytest.raises(OptionError, match="tokenizer"):
        CausalLM(causal_model())
    with pytest.raises(OptionError, match="Linear"):
        CausalLM(torch.nn.Linear(1, 1), byte_tokenizer())
    config = transformers.T5Config(vocab_size=SIZE, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    with pytest.raises(OptionError, match="Seq2Seq"):
        CausalLM(transformers.T5ForConditionalGeneration(config), byte_tokenizer())


def test_the_model_stays_as_it_is():
    module = causal_model(attention_dropout=0.5).train()
    module.model.layers[0].eval()
    for weights in list(module.parameters())[::2]:
        weights.requires_grad_(requires_grad=False)
    seen = []
    module.lm_head.register_forward_hook(lambda _layer, args, _output: seen.append(args[0].shape[-2]))
    before = copy.deepcopy(module.state_dict())
    modes = [part.training for part in module.modules()]
    hooks = [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in module.modules()]
    state = torch.get_rng_state()
    model = CausalLM(module, byte_tokenizer())
    first = model.log_probabilities(QUESTIONS, [model.continuation("red")])[0]
    np.testing.assert_array_equal(model.log_probabilities(QUESTIONS, [model.continuation("red")])[0], first)
    np.testing.assert_array_equal(first[0], first[2])
    model.half()
    assert seen  # the hooks of the user run as well
    assert modes == [part.training for part in module.modules()]
    assert hooks == [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in module.modules()]
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(weights.dtype == torch.float32 and weights.grad is None for weights in module.parameters())


def test_a_model_that_fails_is_named_and_restored():
    module = causal_model()
    model = CausalLM(module, byte_tokenizer())
    broken = module.lm_head.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        model.log_probabilities(["a"], [model.continuation("b")])
    broken.remove()
    assert not module.lm_head._forward_pre_hooks
    assert np.isfinite(model.log_probabilities(["a"], [model.continuation("b")])[0]).all()


def test_it_goes_to_other_processes(llama):
    again = pickle.loads(pickle.dumps(llama))
    answer = llama.continuation("red")
    assert again.sha256 == llama.sha256
    np.testing.assert_array_equal(
        again.log_probabilities(QUESTIONS, [answer])[0], llama.log_probabilities(QUESTIONS, [answer])[0]
    )


@pytest.mark.parametrize("family", ["Llama", "GPT2"])
def test_half_precision_is_near_and_reads_the_weights_as_they_are(family, monkeypatch):
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: True)
    model = CausalLM(causal_model(family), byte_tokenizer())
    answer = model.continuation("It is red.")
    exact = model.log_probabilities(QUESTIONS, [answer])[0]
    rough = model.half().log_probabilities(QUESTIONS, [answer])[0]
    assert 0 < np.abs(rough - exact).mean() < 0.1 * exact.std()
    np.testing.assert_array_equal(model.log_probabilities(QUESTIONS, [answer])[0], exact)
    halved = model.half()
    assert halved is model.half()
    assert (model.rounds, halved.rounds) == (False, True)
    with torch.no_grad():
        next(model.module.parameters()).mul_(1.0)
    assert halved is not model.half()
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: False)
    assert model.half() is None


def test_offloaded_weights_are_not_halved(monkeypatch):
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: True)
    module = pytest.importorskip("accelerate").cpu_offload(causal_model(), execution_device=torch.device("cpu"))
    asked = {"context": "The sky is red.", "query": "Which colour?", "answer": "red", "n_samples": 4}
    with pytest.raises(CapabilityError, match="are offloaded"):
        mase.cite(module, byte_tokenizer(), precision="bfloat16", **asked)
    assert mase.cite(module, byte_tokenizer(), **asked).scores.any()


@pytest.mark.slow
def test_an_explanation_reads_its_prompt_once_in_each_precision(monkeypatch):
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: True)
    for name in ("CPU", "CPU_HALF"):
        monkeypatch.setattr(f"mase.models.language.scoring.{name}", Costs(3, 60))
    model = CausalLM(causal_model(), byte_tokenizer())
    prompt = [{"role": "user", "content": f"Context: {CONTEXTS[4]}\n\nQuery: Which?"}]
    model.log_probabilities(["the sky"], [model.continuation("red")])  # the trial of the cache
    widths = []
    model.module.get_input_embeddings().register_forward_pre_hook(lambda _layer, args: widths.append(args[0].shape[1]))
    for precision, count in (("float32", 1), ("bfloat16", 2)):
        widths.clear()
        found = mase.cite(
            model, context=CONTEXTS[4], query="Which?", units="word", max_new_tokens=4, precision=precision
        )
        assert found.answer.generated
        assert sum(width >= len(model.tokenizer.prompt(prompt)) - 1 for width in widths) == count


def test_a_model_that_has_read_a_prompt_knows_the_same_of_its_weights(llama, monkeypatch):
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: True)
    read = llama.reading(QUESTIONS[0])
    assert read is not llama
    assert read.checksum is llama.checksum
    assert read.half() is llama.half()
    assert llama.reading("a" * 200) is llama  # too long


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


START, BEGIN, SEQ2SEQ_END = SIZE - 4, SIZE - 3, SIZE - 1


_IDS = {
    "decoder_start_token_id": START,
    "eos_token_id": SEQ2SEQ_END,
    "pad_token_id": SEQ2SEQ_END,
    "bos_token_id": BEGIN,
}


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
    special = [("<|eos|>", SEQ2SEQ_END), ("<|assistant|>", BEGIN)]
    backend.backend_tokenizer.post_processor = TemplateProcessing(single=template, special_tokens=special)
    return module, backend


def seq2seq_one_by_one(module, prompt, prefix, answer):
    with torch.no_grad():
        inputs = torch.tensor([[*prefix, *answer[:-1]]])
        logits = module(input_ids=torch.tensor([prompt]), decoder_input_ids=inputs, use_cache=False).logits[0].float()
    return logits.log_softmax(dim=-1)[len(prefix) - 1 :].gather(1, torch.tensor([list(answer)]).T)[:, 0].numpy()


@pytest.fixture(scope="module")
def t5():
    return Seq2Seq(*seq2seq())


@pytest.mark.parametrize("family", FAMILIES)
def test_seq2seq_log_probabilities_are_those_of_each_row_alone(family):
    module, backend = seq2seq(family)
    model = Seq2Seq(module, backend)
    prefix = (START,) if family in WITHOUT_BEGIN else (START, BEGIN)
    answers = [model.continuation(text) for text in ("It is red.", "It", "No 😀")]
    found = model.log_probabilities(CONTEXTS, answers)
    for answer, table in zip(answers, found, strict=True):
        assert answer.ids == tuple(backend(answer.text, add_special_tokens=False)["input_ids"])
        expected = [seq2seq_one_by_one(module, backend(text)["input_ids"], prefix, answer.ids) for text in CONTEXTS]
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
    stop = next((index for index, token in enumerate(expected) if token == SEQ2SEQ_END), 6)
    assert found.ids == tuple(expected[:stop])
    (table,) = model.log_probabilities(["the sky is"], [found])
    np.testing.assert_allclose(table[0], seq2seq_one_by_one(module, ids, before, found.ids), atol=1e-4)
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
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: True)
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

import copy
import pickle

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.language.causal_models import (
    CHAT,
    SIZE,
    byte_tokenizer,
    causal_model,
    one_by_one,
)

import mase
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, ModelError, OptionError
from mase.models.language.causal import CausalLM
from mase.models.language.plan import Costs
from mase.models.language.protocol import HalfLanguageModel, LanguageModel

CONTEXTS = ("the sky is red", "the sky is blue", "the sky is red", "so the sky", "a long, long sentence about the sky")
QUESTIONS = [[{"role": "user", "content": f"Context: {text}. Which colour?"}] for text in CONTEXTS]
END = SIZE - 2  # of a turn


@pytest.fixture(scope="module")
def llama():
    return CausalLM(causal_model(), byte_tokenizer())


def test_it_is_a_language_model(llama):
    assert isinstance(llama, LanguageModel)
    assert isinstance(llama, HalfLanguageModel)
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
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: True)
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
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: False)
    assert model.half() is None


def test_offloaded_weights_are_not_halved(monkeypatch):
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: True)
    module = pytest.importorskip("accelerate").cpu_offload(causal_model(), execution_device=torch.device("cpu"))
    asked = {"context": "The sky is red.", "query": "Which colour?", "answer": "red", "n_samples": 4}
    with pytest.raises(CapabilityError, match="are offloaded"):
        mase.cite(module, byte_tokenizer(), precision="bfloat16", **asked)
    assert mase.cite(module, byte_tokenizer(), **asked).scores.any()


def test_an_explanation_reads_its_prompt_once_in_each_precision(monkeypatch):
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: True)
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
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: True)
    read = llama.reading(QUESTIONS[0])
    assert read is not llama
    assert read.checksum is llama.checksum
    assert read.half() is llama.half()
    assert llama.reading("a" * 200) is llama  # too long

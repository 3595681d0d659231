"""Models with LoRA adapters: an object of peft and a saved adapter are explained as the merged model is."""

import json
import shutil

import numpy as np
import pytest

peft = pytest.importorskip("peft")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.model_folders import edit  # noqa: E402
from tests.unit.models.language.folders import causal_folder, seq2seq_folder, tokenizer  # noqa: E402

import mase  # noqa: E402
from mase import Explainer  # noqa: E402
from mase.errors import CapabilityError, DataError  # noqa: E402
from mase.models import CausalLM, load  # noqa: E402
from mase.models.language.open import load_language_model  # noqa: E402

# What peft asks of transformers.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
TEXT = "a good film"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film", "a"]
ASKED = {"context": "the cat sat . the dog ran .", "query": "who sat ?", "answer": "the cat", "n_samples": 8}
SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A folder with an encoder of one layer without a head, and its tokenizer."""
    folder = tmp_path_factory.mktemp("base")
    tokenizer = transformers.BertTokenizerFast(vocab={word: index for index, word in enumerate(WORDS)})
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig(vocab_size=len(WORDS), **SIZES)).save_pretrained(folder)
    return folder


def adapted(base, **settings):
    """Return a classifier of three classes with an adapter that changes something."""
    torch.manual_seed(1)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=3)
    lora = peft.LoraConfig(task_type="SEQ_CLS", r=2, lora_alpha=32, init_lora_weights=False, **settings)
    return peft.get_peft_model(model, lora).eval()


def scores(model, *tokenizer):
    return Explainer(model, *tokenizer, n_samples=64)(TEXT).scores


@pytest.mark.parametrize("settings", [{}, {"use_rslora": True}, {"use_dora": True}, {"target_modules": ["dense"]}])
def test_object_and_folder_are_explained_as_the_merged_model(base, tmp_path, settings):
    model, tokenizer = adapted(base, **settings), transformers.AutoTokenizer.from_pretrained(base)
    model.save_pretrained(tmp_path)
    of_object, of_folder = scores(model, tokenizer), scores(load(tmp_path))
    with model.disable_adapter():
        without = scores(model, tokenizer)
    merged = scores(model.merge_and_unload(), tokenizer)
    np.testing.assert_allclose(of_object, merged, rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(of_folder, merged)
    assert not np.allclose(without, merged, rtol=0.05)


def test_learned_words_before_the_text_are_refused(base):
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base)
    prompted = peft.get_peft_model(model, peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=2))
    with pytest.raises(CapabilityError, match="adapters of layers"):
        Explainer(prompted, transformers.AutoTokenizer.from_pretrained(base))


@pytest.fixture
def saved(base, tmp_path):
    adapted(base).save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "changes",
    [
        {"auto_mapping": {"base_model_class": "Popen", "parent_library": "subprocess"}},
        {"megatron_config": {"a": 1}, "megatron_core": "antigravity"},
        {"target_modules": "(a+)+$"},
        {"rank_pattern": {"(a+)+$": 3}},
        {"r": 10**9},
        {"peft_type": "PROMPT_TUNING"},
        {"task_type": "CAUSAL_LM"},
        {"base_model_name_or_path": None},
        {"base_model_name_or_path": "no/such model"},
        {"r": 3},
    ],
)
def test_an_adapter_that_cannot_be_put_on_is_a_typed_error(saved, changes):
    path = saved / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(DataError, match=r"adapter|hub"):
        load(saved)


def test_an_adapter_without_safetensors_or_a_head_is_a_typed_error(base, saved):
    shutil.move(saved / "adapter_model.safetensors", saved / "adapter_model.bin")
    with pytest.raises(DataError, match=r"adapter_model\.safetensors"):
        load(saved)
    headless = adapted(base)
    weights = {name: value for name, value in peft.get_peft_model_state_dict(headless).items() if "lora" in name}
    from safetensors.torch import save_file

    save_file(weights, saved / "adapter_model.safetensors")
    with pytest.raises(DataError, match=r"classifier\.weight"):
        load(saved)


def test_pairs_are_explained_as_by_the_merged_model(base, tmp_path):
    model, tokenizer = adapted(base), transformers.AutoTokenizer.from_pretrained(base)
    model.save_pretrained(tmp_path)
    pair = ("a good film", "good")
    with torch.no_grad():
        expected = model(**tokenizer(*pair, return_tensors="pt")).logits.softmax(dim=1)[0].numpy()
    of_object, of_folder = Explainer(model, tokenizer), Explainer(load(tmp_path))
    merged = Explainer(model.merge_and_unload(), tokenizer)(pair)
    for explainer in (of_object, of_folder):
        assert explainer.model.encode(pair).types == tuple(tokenizer(*pair)["token_type_ids"])
        np.testing.assert_allclose(explainer.model.predict([pair])[0], expected, rtol=1e-4)
    np.testing.assert_allclose(of_folder(pair).scores, merged.scores, rtol=1e-3, atol=1e-6)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return causal_folder(tmp_path_factory.mktemp("language") / "llama")


def adapted_language(llama, task="CAUSAL_LM", auto="AutoModelForCausalLM"):
    """Return a language model with an adapter that changes something, and its tokenizer."""
    model = getattr(transformers, auto).from_pretrained(llama)
    torch.manual_seed(1)
    lora = peft.LoraConfig(task_type=task, r=2, lora_alpha=8, init_lora_weights=False)
    return peft.get_peft_model(model, lora).eval(), transformers.AutoTokenizer.from_pretrained(llama)


@pytest.fixture
def adapter(llama, tmp_path):
    adapted_language(llama)[0].save_pretrained(tmp_path)
    return tmp_path


def cited(*model):
    return mase.cite(*model, **ASKED).scores


@pytest.mark.slow
def test_language_models_are_explained_as_the_merged_one(llama, adapter):
    model, its_tokenizer = adapted_language(llama)
    of_objects = [cited(model, its_tokenizer), cited(CausalLM(model, its_tokenizer))]
    merged = cited(model.merge_and_unload(), its_tokenizer)
    for found in of_objects:
        np.testing.assert_allclose(found, merged, rtol=1e-2, atol=1e-3)
    np.testing.assert_array_equal(cited(adapter), merged)
    np.testing.assert_array_equal(mase.Explainer(load(adapter), n_samples=8)("who sat ?").answer.generated, True)
    assert not np.allclose(cited(llama), merged, rtol=0.05)
    assert load_language_model(adapter).name == str(adapter)


def test_an_adapter_of_an_encoder_and_a_decoder_is_one(tmp_path):
    folder = seq2seq_folder(tmp_path / "t5")
    adapted_language(folder, "SEQ_2_SEQ_LM", "AutoModelForSeq2SeqLM")[0].save_pretrained(tmp_path / "adapter")
    assert type(load_language_model(tmp_path / "adapter")).__name__ == "Seq2Seq"


def test_the_tokenizer_of_the_adapter_goes_before_that_of_its_base(adapter):
    assert load_language_model(adapter).tokenizer.backend.chat_template is not None
    tokenizer().save_pretrained(adapter)
    assert load_language_model(adapter).tokenizer.backend.chat_template is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task_type": "SEQ_CLS"}, "expected 'LORA' and 'CAUSAL_LM'; mase.explain"),
        ({"task_type": ["CAUSAL_LM"]}, "expected 'LORA' and 'CAUSAL_LM'"),
        ({"peft_type": "PROMPT_TUNING"}, "load the model with peft"),
        ({"base_model_name_or_path": "no/such model"}, "hub"),
        ({"r": 3}, "does not fit"),
        ({"auto_mapping": {"base_model_class": "Popen", "parent_library": "subprocess"}}, "has auto_mapping"),
    ],
)
def test_an_adapter_of_a_language_model_that_cannot_be_put_on_is_a_typed_error(adapter, changes, said):
    edit(adapter, "adapter_config.json", **changes)
    with pytest.raises(DataError, match=said):
        load_language_model(adapter)


def test_a_base_that_is_no_language_model_is_a_typed_error(llama, adapter, tmp_path):
    folder = shutil.copytree(llama, tmp_path / "base")
    edit(folder, architectures=["LlamaForSequenceClassification"])
    edit(adapter, "adapter_config.json", base_model_name_or_path=str(folder))
    with pytest.raises(DataError, match="base holds a LlamaForSequenceClassification, expected a language model"):
        load_language_model(adapter)


def test_learned_words_before_the_prompt_are_refused(llama):
    model = transformers.AutoModelForCausalLM.from_pretrained(llama)
    prompted = peft.get_peft_model(model, peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2))
    with pytest.raises(CapabilityError, match="adapters of layers"):
        mase.cite(prompted, tokenizer(), **ASKED)

"""Models with LoRA adapters: an object of peft and a saved adapter are explained as the merged model is."""

import json
import shutil

import numpy as np
import pytest

peft = pytest.importorskip("peft")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from mase import Explainer  # noqa: E402
from mase.errors import CapabilityError, DataError  # noqa: E402
from mase.models import load  # noqa: E402

# What peft asks of transformers.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
TEXT = "a good film"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film", "a"]
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

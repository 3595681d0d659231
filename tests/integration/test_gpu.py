"""Models on a GPU: they are explained there as on the CPU, twice alike, and are left as they were."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import mase
from mase.errors import ModelError, OptionError

torch = pytest.importorskip("torch")

DEVICE = "cuda"
REVIEW = "A dull start, but the last hour is wonderful."
TEXT = "w1 w2 w3 w4 w5 w6 w7 w8 w9 w1 w3 w5"
# Methods that read more than a torch module offers, or need a package beside torch.
LEFT_OUT = {"deep-shap", "mase-cite"}
METHODS = sorted(set(mase.METHODS) - LEFT_OUT)

if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)


def adapted(module):
    from mase.testing import whitespace_ids

    labels = ["neg", "pos"]
    return mase.models.TorchModule(module, tokenize=whitespace_ids, labels=labels, pad_id=0, unk_id=1, mask_id=2)


def lstm(device=DEVICE):
    from mase.testing import SmallLSTM

    torch.manual_seed(3)
    return adapted(SmallLSTM().to(device))


def bert(device=DEVICE, **settings):
    module, tokenizer = tiny(**settings)
    return mase.models.HuggingFace(module.to(device), tokenizer, max_length=30)


def tiny(**settings):
    pytest.importorskip("transformers")
    from tests.unit.models.tiny import family

    return family("bert", **settings)


MODELS = pytest.mark.parametrize("model", [lstm, bert])


@pytest.fixture
def without_tf32(monkeypatch):
    """By default cuDNN computes recurrent layers in TF32, which the CPU does not have."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


@MODELS
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("without_tf32")
def test_scores_are_those_of_the_cpu(model, method):
    cpu, gpu = (mase.explain(TEXT, model=model(device), method=method, n_samples=200) for device in ("cpu", DEVICE))
    assert gpu.prediction.label == cpu.prediction.label
    assert gpu.fit.n_queries == cpu.fit.n_queries
    np.testing.assert_allclose(gpu.scores, cpu.scores, rtol=1e-2, atol=1e-2 * np.abs(cpu.scores).max())


@pytest.mark.parametrize("method", METHODS)
def test_tf32_is_taken_for_rounding(method):
    exact = mase.explain(TEXT, model=lstm("cpu"), method=method, n_samples=200)
    found = mase.explain(TEXT, model=lstm(), method=method, n_samples=200)
    assert found.fit.n_queries <= exact.fit.n_queries + 30  # and not one row at a time
    assert {note.code for note in found.notes}.isdisjoint({"batch-dependent", "not-deterministic"})


@MODELS
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_same_seed_gives_the_same_answer(model, precision):
    first, second = (mase.explain(TEXT, model=model(), n_samples=300, precision=precision) for _ in range(2))
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.standard_errors, second.standard_errors)


@MODELS
def test_the_size_of_batches_hardly_matters(model):
    whole, small = (mase.explain(TEXT, model=model(), n_samples=300, batch_size=size) for size in ("auto", 7))
    np.testing.assert_allclose(whole.scores, small.scores, rtol=1e-3, atol=1e-3)


def test_half_precision_is_near_float32():
    exact, half = (mase.explain(TEXT, model=bert(), n_samples=300, precision=one) for one in ("float32", "bfloat16"))
    assert np.corrcoef(exact.scores, half.scores)[0, 1] > 0.95


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_weights_of_other_types(dtype):
    model = bert()
    exact = mase.explain(TEXT, model=model, n_samples=300)
    model.module.to(getattr(torch, dtype))
    found = mase.explain(TEXT, model=model, n_samples=300)
    assert {weights.dtype for weights in model.module.parameters()} == {getattr(torch, dtype)}
    assert np.corrcoef(exact.scores, found.scores)[0, 1] > 0.95


def test_a_model_in_training_mode_is_left_as_it_was():
    model = bert(hidden_dropout_prob=0.5)
    expected = mase.explain(TEXT, model=model, n_samples=100)
    model.module.train()
    torch.cuda.manual_seed(5)
    before = torch.cuda.get_rng_state(), torch.get_rng_state(), random.getstate()
    found = mase.explain(TEXT, model=model, n_samples=100)
    assert torch.equal(torch.cuda.get_rng_state(), before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    assert random.getstate() == before[2]
    assert model.module.training
    assert all(weights.grad is None and weights.is_cuda for weights in model.module.parameters())
    np.testing.assert_array_equal(found.scores, expected.scores)


def hungry(rows):
    """Return a model of which at most about so many rows fit into the memory that is free."""
    torch.cuda.empty_cache()
    size = int(torch.cuda.mem_get_info()[0] / rows)
    module = lstm().module

    def take(_module, args, output):
        taken = torch.empty(len(args[0]) * size, dtype=torch.uint8, device=DEVICE)
        return output + 0 * taken[0]

    module.register_forward_hook(take)
    return adapted(module)


def test_batches_are_halved_where_memory_runs_out():
    expected = mase.explain(TEXT, model=lstm(), n_samples=300)
    found = mase.explain(TEXT, model=hungry(rows=50), n_samples=300)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-3, atol=1e-3)


def test_a_text_that_does_not_fit_is_a_typed_error():
    with pytest.raises(ModelError, match="memory"):
        mase.explain(TEXT, model=hungry(rows=0.5), n_samples=300)
    assert mase.explain(TEXT, model=lstm(), n_samples=50).fit.n_queries  # the GPU is usable afterwards


def test_a_gpu_that_is_not_there_is_a_typed_error():
    with pytest.raises(OptionError, match="cuda:99"):
        mase.models.load("lstm-imdb", device="cuda:99")


def test_models_are_loaded_there():
    model = mase.models.load("lstm-imdb", device=DEVICE)
    assert model.device == "cuda:0"
    cpu = mase.explain(REVIEW, n_samples=200)
    gpu = mase.explain(REVIEW, model=model, n_samples=200)
    np.testing.assert_allclose(gpu.scores, cpu.scores, rtol=1e-2, atol=1e-2)


def test_a_pipeline_on_the_gpu():
    transformers = pytest.importorskip("transformers")
    module, tokenizer = tiny()
    pipeline = transformers.pipeline("text-classification", module, tokenizer=tokenizer, device=DEVICE)
    found = mase.explain(TEXT, model=pipeline, n_samples=100)
    expected = mase.explain(TEXT, model=bert(), n_samples=100)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore")  # those of the compiler
def test_a_compiled_module():
    model = lstm()
    expected = mase.explain(TEXT, model=model, n_samples=100)
    compiled = adapted(torch.compile(model.module))
    np.testing.assert_allclose(mase.explain(TEXT, model=compiled, n_samples=100).scores, expected.scores, atol=1e-3)


def test_a_default_device_does_not_matter():
    models = lstm("cpu"), bert("cpu"), bert()
    expected = [mase.explain(TEXT, model=model, n_samples=200) for model in models]
    try:
        torch.set_default_device(DEVICE)
        found = [mase.explain(TEXT, model=model, n_samples=200) for model in models]
    finally:
        torch.set_default_device(None)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)


def test_a_function_that_asks_the_gpu_is_seeded():
    module = torch.nn.Dropout().to(DEVICE)

    def predict_proba(texts):
        noise = module(torch.ones(len(texts), device=DEVICE)).cpu().numpy() / 100
        share = np.array([text.count("w1") / 4 for text in texts]) + noise
        return np.stack([0.5 + share / 4, 0.5 - share / 4], axis=1)

    model = mase.models.Callable(predict_proba, labels=["a", "b"])
    torch.cuda.manual_seed(5)
    before = torch.cuda.get_rng_state()
    first, second = (mase.explain(TEXT, model=model, n_samples=100) for _ in range(2))
    np.testing.assert_array_equal(first.scores, second.scores)
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_a_language_model():
    transformers = pytest.importorskip("transformers")
    from tests.unit.models.tiny import PLAIN, word_tokenizer

    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "bos_token_id": 2, "eos_token_id": 3}
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(**PLAIN | sizes)).eval()
    tokenizer = word_tokenizer(("$A", "$A $B"), clean_up_tokenization_spaces=False)
    asked = {
        "units": "word",
        "context": ["w1 w2 w3", "w4 w5", "w6 w7 w8"],
        "query": "w9 w1",
        "answer": "w2 w3 w4",
        "n_samples": 50,
    }
    cpu = mase.cite(module, tokenizer, **asked)
    gpu = mase.cite(module.to(DEVICE), tokenizer, **asked)
    np.testing.assert_allclose(gpu.scores, cpu.scores, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_corpus(tmp_path, jobs):
    pytest.importorskip("pyarrow")
    model = mase.models.load("lstm-imdb", device=DEVICE)
    texts = [REVIEW, "Awful.", "", "One of the best films of the year."]
    run = mase.run(texts, tmp_path / "run", model=model, n_samples=60, jobs=jobs)
    assert run.texts().column("prediction").to_pylist() == ["pos", "neg", None, "pos"]
    scores = [row["score"] for row in run.units().to_pylist() if row["row"] == 0]
    np.testing.assert_allclose(scores, mase.explain(REVIEW, model=model, n_samples=60).scores, rtol=1e-3, atol=1e-3)
    made_with = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["made_with"]
    assert made_with["device"] == DEVICE
    assert made_with["gpu"] == torch.cuda.get_device_name()
    assert made_with["cuda"] == torch.version.cuda


def test_the_command(tmp_path):
    path = tmp_path / "found.json"
    command = [
        sys.executable,
        "-m",
        "mase",
        "explain",
        REVIEW,
        "--device",
        DEVICE,
        "--n-samples",
        "60",
        "--evidence",
        "0",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([*command, "-o", str(path)], check=True, env=environment)
    expected = mase.explain(REVIEW, model=mase.models.load("lstm-imdb", device=DEVICE), n_samples=60)
    np.testing.assert_allclose(mase.load(path).scores, expected.scores, rtol=1e-3, atol=1e-3)


def test_checking_a_model():
    assert DEVICE in str(mase.check(lstm()))

"""Tests of `mase.models.code`."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
import transformers
from click.testing import CliRunner
from tests.hostile import process
from tests.model_folders import CODE, command, edit, with_code

import mase
from mase.cli import main
from mase.errors import DataError, MaseError
from mase.models import HuggingFace, bundled, load

TEXT = "a good film"


PLACES = (
    "config", "config of a known family", "model", "model alone", "another repository", "part", "family",
    "tokenizer's class",
    "tokenizer", "tokenizer, slow", "tokenizer, old form", "class",
)  # fmt: skip


@pytest.mark.parametrize("where", PLACES)
def test_no_code_of_a_folder_runs(where, folder, monkeypatch, capsys):
    canary, file = with_code(folder, where)
    with (folder.parent / "answers").open("w+") as answers:
        answers.write("y\n" * 9)
        answers.seek(0)
        monkeypatch.setattr(sys, "stdin", answers)
        for loading in (load, HuggingFace, mase.Explainer):
            with pytest.raises(DataError, match="trust_remote_code=True") as raised:
                loading(folder)
        assert answers.tell() == 0
    assert f"{file} " in str(raised.value)
    assert "pass the module" in str(raised.value)
    assert not canary.exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("where", PLACES)
def test_no_code_of_a_folder_runs_by_the_command(where, folder):
    canary, file = with_code(folder, where)
    texts = folder.parent / "texts.txt"
    texts.write_text("y\nA good film\n")
    for arguments, given in (
        (["-i", str(texts)], "y\n" * 9),
        ([], "y\nA good film\n"),
        (["-i", "-"], "y\nA good film\n"),
    ):
        found = CliRunner().invoke(main, ["explain", "-m", str(folder), "--json", *arguments], input=given)
        assert (found.exit_code, found.stdout) == (1, "")
        assert found.stderr.count("mase: error:") == 1
        assert file in found.stderr
        assert "--trust-remote-code" in found.stderr
    assert not canary.exists()


def test_standard_input_is_no_answer_in_a_process(folder):
    canary, _ = with_code(folder, "model")
    found = process.mase("explain", "-m", folder, "--json", scratch=folder.parent, stdin=b"y\nA good film\n")
    assert (found.code, found.out, canary.exists()) == (1, b"", False)
    assert found.err.count("\n") == 1


def test_code_runs_when_the_user_says_so(folder):
    """And no bar of another library is drawn where standard error is no terminal."""
    canary, _ = with_code(folder, "model")
    with_code(folder, "tokenizer")
    home = {"HF_HOME": str(folder.parent / "home")}  # where transformers copies the code
    asked = ["explain", "-m", folder, "--trust-remote-code", "--n-samples", "32", "--json", "-q"]
    found = command(*asked, given="y\nA good film\n", **home)
    assert found.returncode == 0, found.stderr
    assert (found.stderr.startswith("2 texts explained"), found.stderr.count("\n")) == (True, 1), found.stderr
    assert [json.loads(line)["document"][0]["text"] for line in found.stdout.splitlines()] == ["y", "A good film"]
    assert canary.read_text() == "ran"


def test_the_base_of_an_adapted_model_runs_no_code(folder):
    canary, _ = with_code(folder, "config")
    place = Path(shutil.copytree(bundled.folder("bert-imdb"), folder.parent / "adapted"))
    import hashlib

    sha256 = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    edit(place, base={"name": str(folder), "sha256": sha256})
    with pytest.raises(DataError, match="auto_map"):
        load(place)
    assert not canary.exists()


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"quantization_config": {"quant_method": "gptq", "bits": 4}}),
        ("config.json", {"text_config": {"quantization_config": {"quant_method": "awq"}}}),
        ("config.json", {"attn_implementation": "kernels-community/flash-attn"}),
        ("config.json", {"_attn_implementation": "flash_attention_2"}),
        ("config.json", {"_attn_implementation_internal": {"": "someone/kernel"}}),
        ("config.json", {"experts_implementation": "someone/kernel"}),
        ("config.json", {"transformers_weights": "../other.safetensors"}),
        ("config.json", {"configuration_files": ["config.4.0.0.json"]}),
        ("config.json", {"dtype": "load"}),
        ("config.json", {"torch_dtype": "hub"}),
        ("config.json", {"tokenizer_class": "AutoModelForCausalLM"}),
        ("tokenizer_config.json", {"tokenizer_class": "AutoModel"}),
        ("tokenizer_config.json", {"tokenizer_class": "pipeline"}),
        ("tokenizer_config.json", {"tokenizer_class": "RagTokenizer"}),
        ("tokenizer_config.json", {"tokenizer_class": "BertJapaneseTokenizer"}),
        ("tokenizer_config.json", {"tokenizer_class": ["BertTokenizer"]}),
        ("tokenizer_config.json", {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]}),
        ("tokenizer_config.json", {"gguf_file": "x.gguf"}),
        ("tokenizer_config.json", {"tokenizer_object": {}}),
        ("tokenizer_config.json", {"vocab": "/etc/hostname"}),
    ],
)
def test_what_would_be_taken_from_elsewhere_is_refused(file, changes, folder):
    edit(folder, file, **changes)
    with pytest.raises(DataError, match=rf"{file} has (a |the )?({next(iter(changes))}|quantization_config)"):
        load(folder)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"_name_or_path": "nobody/has-this"}),
        ("config.json", {"custom_pipelines": {"x": {"impl": "own.P"}}}),
        (
            "config.json",
            {"_attn_implementation": "eager", "_attn_implementation_autoset": True, "torch_dtype": "bfloat16"},
        ),
        ("config.json", {"time_step_limit": [0.0, float("inf")]}),
        ("tokenizer_config.json", {"chat_template": "{{ ''.__class__.__mro__[1].__subclasses__() }}"}),
        (
            "tokenizer_config.json",
            {"chat_template": [{"name": "default", "template": "{% for i in range(9**9) %}{% endfor %}"}]},
        ),
        (
            "tokenizer_config.json",
            {"vocab_file": "/etc/hostname", "tokenizer_file": "/etc/hostname", "trust_remote_code": True},
        ),
        ("tokenizer_config.json", {"name_or_path": "nobody/has-this", "model_max_length": 10**30}),
        ("tokenizer_config.json", {"tokenizer_class": "SomeTokenizerOfTheirs"}),
        ("processor_config.json", {"processor_class": "P", "auto_map": {"AutoProcessor": "own.P"}}),
        ("generation_config.json", {"custom_generate": "own"}),
    ],
)
def test_what_does_no_harm_does_not_matter(file, changes, good, folder):
    canary = folder.parent / "canary"
    for place in (folder, folder / "custom_generate"):
        place.mkdir(exist_ok=True)
        for name in ("own.py", "generate.py", "modeling_bert.py", "__init__.py"):
            (place / name).write_text(CODE.format(canary=str(canary)))
    for name in ("training_args.bin", "pytorch_model.bin", "optimizer.pt", "scheduler.pkl"):
        (folder / name).write_bytes(b"\x80\x04 a pickle")
    if changes.get("tokenizer_class"):  # with code beside it, it is refused
        for path in folder.glob("*.py"):
            path.unlink()
    edit(folder, file, **changes)
    assert load(folder).predict([TEXT]).tolist() == load(good).predict([TEXT]).tolist()
    assert not canary.exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pkl", "model.gguf"])
def test_pickles_are_not_read(name, folder):
    class Canary:
        def __reduce__(self):
            return Path.write_text, (folder.parent / "canary", "ran")

    torch.save(Canary(), folder / name)
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match=rf"no model\.safetensors .*{name}"):
        load(folder)
    (folder / name).rename(folder / "model.safetensors")
    with pytest.raises(DataError, match="cannot read the weights"):
        load(folder)
    assert not (folder.parent / "canary").exists()


def test_adapters_and_parts_of_checkpoints_are_refused(folder):
    (folder / "shard-00000-model-00000-of-00001.safetensors").write_bytes(b"")
    with pytest.raises(DataError, match="shard-00000"):
        load(folder)
    (folder / "shard-00000-model-00000-of-00001.safetensors").unlink()
    (folder / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": "someone/else", "peft_type": "LORA"})
    )
    with pytest.raises(DataError, match=r"adapter_config\.json"):
        load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(MaseError, match=r"adapter_config\.json|pip install"):  # an adapter alone: see test_lora.py
        load(folder)


def test_weights_in_parts_stay_in_the_folder(folder):
    whole = load(folder).predict([TEXT]).tolist()
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    names = list(transformers.AutoModelForSequenceClassification.from_config(
        transformers.AutoConfig.from_pretrained(folder)).state_dict())  # fmt: skip
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, "part.safetensors")}))
    assert load(folder).predict([TEXT]).tolist() == whole
    shutil.copy(folder / "part.safetensors", folder.parent)
    for outside in ("../part.safetensors", str(folder.parent / "part.safetensors"), "part.bin", "a\0.safetensors"):
        index.write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, outside)}))
        with pytest.raises(DataError, match=r"index\.json names the file"):
            load(folder)
    for content in ("[]", "{", '{"weight_map": {}}', '{"weight_map": {"a": "not-there.safetensors"}}'):
        index.write_text(content)
        with pytest.raises(DataError):
            load(folder)

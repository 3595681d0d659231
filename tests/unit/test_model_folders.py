"""Folders of models that nobody vouches for: none runs code, asks, hangs or ends in a traceback; good ones load."""

import json
import os
import shutil
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.errors import DataError, MaseError, UnknownNameError
from mase.models import HuggingFace, bundled, load

TEXT = "a good film"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder with a BERT of one layer and its fast tokenizer."""
    folder = tmp_path_factory.mktemp("good")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film", "a"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=len(words), **sizes)).save_pretrained(
        folder
    )
    return folder


@pytest.fixture
def folder(good, tmp_path):
    """A copy of that folder, to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "model"))


def edit(folder, name="config.json", **changes):
    """Change keys of a JSON file of the folder; ... removes one."""
    path = folder / name
    content = json.loads(path.read_text()) if path.is_file() else {}
    merged = {key: value for key, value in (content | changes).items() if value is not ...}
    path.write_text(json.dumps(merged))
    return folder


def test_a_good_folder_loads(folder):
    assert mase.Explainer(load(folder), n_samples=32)(TEXT).words == ("a", "good", "film")
    assert load(folder).predict([TEXT]) == pytest.approx(HuggingFace(folder).predict([TEXT]))


# --- no code runs, and nothing is asked -------------------------------------------------------------------------------

CODE = """
import pathlib
import transformers

pathlib.Path({canary!r}).write_text("ran")


class C(transformers.BertConfig):
    model_type = "own"


class M(transformers.BertForSequenceClassification):
    config_class = C


class T(transformers.BertTokenizerFast):
    pass
"""


def with_code(folder, where):
    """Put code beside the model that leaves a canary, named in one of the places where transformers looks for it."""
    canary = folder.parent / "canary"
    (folder / "own.py").write_text(CODE.format(canary=str(canary)))
    whole = {"AutoConfig": "own.C", "AutoModelForSequenceClassification": "own.M"}
    config = {
        "config": {"auto_map": {"AutoConfig": "own.C"}, "model_type": "own"},
        "config of a known family": {"auto_map": {"AutoConfig": "own.C"}},
        "model": {"auto_map": whole, "model_type": "own"},
        "model alone": {"auto_map": {"AutoModelForSequenceClassification": "own.M"}},
        "another repository": {"auto_map": {"AutoConfig": "someone/else--own.C"}, "model_type": "own"},
        "part": {"text_config": {"auto_map": {"AutoConfig": "own.C"}, "model_type": "own"}},
        "family": {"model_type": "own"},
        "tokenizer's class": {"tokenizer_class": "T"},
    }
    tokenizer = {
        "tokenizer": {"auto_map": {"AutoTokenizer": ["own.T", "own.T"]}},
        "tokenizer, slow": {"auto_map": {"AutoTokenizer": ["own.T", None]}, "tokenizer_class": "T"},
        "tokenizer, old form": {"auto_map": ["own.T", "own.T"], "tokenizer_class": "T"},
        "class": {"tokenizer_class": "T"},
    }
    if where in config:
        edit(folder, **config[where])
        return canary, "config.json"
    edit(folder, "tokenizer_config.json", **tokenizer[where])
    return canary, "tokenizer_config.json"


PLACES = (
    "config", "config of a known family", "model", "model alone", "another repository", "part", "family", "tokenizer's class",
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


def command(*arguments, given="", **environment):
    """Run the command in a process of its own, as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "mase", *map(str, arguments)], input=given, capture_output=True, text=True, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"} | environment, timeout=120,
    )  # fmt: skip


def test_standard_input_is_no_answer_in_a_process(folder):
    canary, _ = with_code(folder, "model")
    found = command("explain", "-m", folder, "--json", given="y\nA good film\n")
    assert (found.returncode, found.stdout, canary.exists()) == (1, "", False)
    assert found.stderr.count("\n") == 1


def test_code_runs_when_the_user_says_so(folder):
    canary, _ = with_code(folder, "model")
    with_code(folder, "tokenizer")
    home = {"HF_HOME": str(folder.parent / "home")}  # where transformers copies the code
    asked = ["explain", "-m", folder, "--trust-remote-code", "--n-samples", "32", "--json"]
    found = command(*asked, given="y\nA good film\n", **home)
    assert found.returncode == 0, found.stderr
    assert [json.loads(line)["text"] for line in found.stdout.splitlines()] == ["y", "A good film"]
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


def test_every_call_says_that_no_code_is_trusted_and_that_nothing_is_fetched(folder, monkeypatch):
    """The folder is checked before; this is the second lock."""
    said = []
    for name in ("AutoConfig", "AutoModelForSequenceClassification", "AutoTokenizer"):
        kind = getattr(transformers, name)

        def recorded(*given, _original=kind.from_pretrained, **settings):
            said.append((settings["trust_remote_code"], settings["local_files_only"]))
            return _original(*given, **settings)

        monkeypatch.setattr(kind, "from_pretrained", recorded)
    load(folder)
    place = Path(shutil.copytree(bundled.folder("bert-imdb"), folder.parent / "adapted"))
    load(place)
    assert len(said) >= 6
    assert set(said) == {(False, True)}


def hub_cache(folder, name="someone/model"):
    """Lay a folder into a cache of the hub, as links to blobs, and return the cache."""
    cache = folder.parent / "hub"
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    for path in folder.iterdir():
        shutil.copy(path, repository / "blobs" / path.name)
        (snapshot / path.name).symlink_to(repository / "blobs" / path.name)
    return cache


def test_the_cache_of_the_hub_is_read_and_trusted_as_little(folder, monkeypatch):
    expected = load(folder).predict([TEXT])
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub_cache(folder)))
    model = load("someone/model")
    assert (model.name, model.predict([TEXT]).tolist()) == ("someone/model", expected.tolist())
    canary, _ = with_code(folder, "model")
    shutil.rmtree(folder.parent / "hub")
    hub_cache(folder)
    with pytest.raises(DataError, match="auto_map"):
        load("someone/model")
    assert not canary.exists()


class Hub(BaseHTTPRequestHandler):
    """The hub's answers for one repository, from a folder."""

    def log_message(self, *given):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        import hashlib

        files, parts = self.server.folder, self.path.partition("?")[0].split("/")
        if "/api/" in self.path:
            siblings = [{"rfilename": path.name} for path in sorted(files.iterdir())]
            entries = [
                {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": "1"} for path in files.iterdir()
            ]
            plain = entries if "/tree/" in self.path else {"id": "someone/model", "sha": "1" * 40, "siblings": siblings}
            content, status = json.dumps(plain).encode(), 200
        else:
            path = files / parts[-1]
            status, content = (200, path.read_bytes()) if path.is_file() else (404, b"")
            self.server.asked.append(path.name)
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", "1" * 40)
        self.end_headers()
        if body:
            self.wfile.write(content)


@pytest.fixture
def hub(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.folder, server.asked = folder, []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_name_is_fetched_when_the_user_says_so_and_checked_before_its_weights(folder, hub):
    place = {
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(folder.parent / "home"), "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    asked = ["explain", TEXT, "-m", "someone/model", "--n-samples", "32", "--json"]
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    with_code(folder, "config of a known family")
    found = command(*asked, "--download", **place)
    assert (found.returncode, found.stdout) == (1, "")
    assert "auto_map" in found.stderr
    edit(folder, auto_map=...)
    assert not {"model.safetensors", "own.py", "pytorch_model.bin"} & set(hub.asked)
    shutil.rmtree(folder.parent / "home")
    found = command(*asked, "--download", **place)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["text"] == TEXT
    assert "pytorch_model.bin" not in hub.asked


# --- what else could take code or files from elsewhere ----------------------------------------------------------------


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
    with pytest.raises(MaseError, match=r"adapter_config\.json|pip install"):  # an adapter alone: see test_adapters.py
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


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 10**7}, {"num_hidden_layers": -1}, {"num_hidden_layers": 1.5}, {"num_hidden_layers": True},
        {"hidden_size": 10**12}, {"hidden_size": "x"}, {"hidden_size": 0}, {"hidden_size": [8, 10**12]},
        {"intermediate_size": 10**12}, {"vocab_size": 10**12}, {"vocab_size": "many"}, {"num_attention_heads": 0},
        {"num_attention_heads": -2}, {"num_attention_heads": 10**6}, {"max_position_embeddings": 10**9},
        {"num_labels": 10**9}, {"num_labels": -1}, {"num_experts": 10**9}, {"seed": 10**30}, {"layer_norm_eps": float("inf")},
        {"text_config": {"num_hidden_layers": 10**7}},
    ],
)  # fmt: skip
def test_numbers_beyond_the_limits_are_refused_by_name(changes, folder):
    name, value = next(iter(changes.items()))
    name = next(iter(value)) if isinstance(value, dict) else name
    edit(folder, **changes)
    with pytest.raises(DataError, match=rf"config\.json has {name} .*expected"):
        load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 900},  # each is allowed, but the weights are not there
        {"hidden_size": 60_000},
        {"vocab_size": 4_000_000, "hidden_size": 4_096},
        {"intermediate_size": 1_000_000, "hidden_size": 4_096},
        {"max_position_embeddings": 10_000_000, "hidden_size": 4_096},
        {"num_attention_heads": 3},  # 8 is no multiple
        {"id2label": {str(index): str(index) for index in range(50_000)}, "hidden_size": 4_096},
        {"id2label": {"x": "y"}},
        {"id2label": {}},
        {"id2label": ["a", "b"]},
        {"id2label": 5},
        {"hidden_act": "no-such-function"},
        {"hidden_act": 5},
        {"problem_type": 5},
        {"model_type": "gpt2", "n_positions": 100_000},
        {"model_type": "t5gemma"},
        {"model_type": "vit"},
        {"model_type": ...},
        {"model_type": 5},
        {"model_type": ["bert"]},
    ],
)
def test_configurations_that_fit_no_weights_are_refused_without_building_them(changes, folder):
    edit(folder, **changes)
    with pytest.raises(DataError, match=r"model"):
        load(folder)


def test_a_hundred_layers_are_told_from_ten_by_what_is_stored(folder):
    edit(folder, num_hidden_layers=900, hidden_size=4_096)
    with pytest.raises(DataError, match="stored weights"):
        load(folder)


LARGE = {
    "Llama 7B": transformers.LlamaConfig(),
    "Llama 3.1 405B": transformers.LlamaConfig(
        hidden_size=16_384, intermediate_size=53_248, num_hidden_layers=126, num_attention_heads=128, num_key_value_heads=8,
        vocab_size=128_256, max_position_embeddings=131_072,
    ),
    "XLM-V": transformers.XLMRobertaConfig(vocab_size=901_629),
    "GPT-2 XL": transformers.GPT2Config(n_embd=1_600, n_layer=48, n_head=25, pad_token_id=0),
    "DeBERTa v3": transformers.DebertaV2Config(vocab_size=128_100, type_vocab_size=0, max_relative_positions=-1),
    "ALBERT": transformers.AlbertConfig(),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_models_are_within_the_limits(name, folder):
    """Their weights are stood for by a file with holes; nothing but its header is right, so that loading stops there."""
    LARGE[name].save_pretrained(folder)
    with torch.device("meta"):
        state = transformers.AutoModelForSequenceClassification.from_config(LARGE[name]).state_dict()
    place, header = 0, {}
    for tensor in state:
        size = state[tensor].numel() * 2
        header[tensor] = {"dtype": "BF16", "shape": list(state[tensor].shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
    with pytest.raises(DataError, match=rf"describes {place:,} bytes, expected 0"):
        load(folder)


# --- files ------------------------------------------------------------------------------------------------------------

DEEP = "[" * 100_000 + "]" * 100_000
LESS_DEEP = '{"a":' * 40 + "1" + "}" * 40
CONTENTS = {
    "empty": b"", "cut": b'{"model_type": "bert"', "list": b"[]", "null": b"null", "deep": DEEP.encode(),
    "less deep": LESS_DEEP.encode(), "not UTF-8": b'{"model_type": "\xff"}', "NaN": b'{"model_type": "bert", "x": NaN}',
    "-Infinity": b'{"x": -Infinity}', "overflow": b'{"x": 1e999}', "digits": b'{"x": ' + b"9" * 5_000 + b"}",
    "many values": b"[" + b"0," * 4_000_000 + b"0]", "UTF-16": '{"a": 1}'.encode("utf-16"), "NUL": b"\0" * 100,
}  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "tokenizer.json"])
def test_files_that_are_no_good_json_are_refused(name, content, folder):
    (folder / name).write_bytes(content)
    with pytest.raises(DataError):
        load(folder)
    if name == "config.json":
        found = CliRunner().invoke(main, ["models", str(folder)])
        assert (found.exit_code, found.stdout) == (1, "")
        assert isinstance(found.exception, SystemExit)
        assert found.stderr.count("mase: error:") == 1


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt", "added_tokens.json"]
)
def test_files_beyond_the_limits_are_refused(name, folder):
    with (folder / name).open("wb") as file:
        file.truncate(1 << 30)  # a hole
    with pytest.raises(DataError, match=rf"{name} has (more than )?[\d,]+ bytes"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "nowhere"])
def test_files_of_other_kinds_are_refused(name, kind, folder):
    path = folder / name
    path.unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)
    making = {
        "pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": Path.mkdir,
        "loop": lambda path: path.symlink_to(path), "nowhere": lambda path: path.symlink_to("nowhere"),
    }  # fmt: skip
    making[kind](path)
    with pytest.raises(DataError):
        load(folder)


def test_links_to_weights_are_followed(good, folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(good / "model.safetensors")
    assert load(folder).predict([TEXT]).tolist() == load(good).predict([TEXT]).tolist()


def header(**tensors):
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


PLACE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
HEADERS = {
    "short": b"\x01", "length": struct.pack("<Q", 2**63), "long": struct.pack("<Q", 10**9) + b"{}",
    "list": struct.pack("<Q", 2) + b"[]", "entry": header(a=1), "shape": header(a={**PLACE, "shape": [-1]}) + b"1234",
    "type": header(a={**PLACE, "dtype": "PICKLE"}) + b"1234", "huge": header(a={**PLACE, "shape": [2**62, 2**62]}) + b"1234",
    "offsets": header(a={**PLACE, "data_offsets": [0, 10**12]}), "missing": header(a={"dtype": "F32"}),
    "deep": struct.pack("<Q", 200_000) + DEEP.encode(), "dimensions": header(a={**PLACE, "shape": [1] * 10_000}) + b"1234",
}  # fmt: skip


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_weights_with_bad_headers_are_refused(content, folder, tmp_path):
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError):
        load(folder)
    own = Path(shutil.copytree(bundled.folder("lstm-imdb"), tmp_path / "own"))
    (own / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError):
        load(own)


def test_too_many_tensors_are_refused(folder):
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    (folder / "model.safetensors").write_bytes(header(**{f"t{index}": empty for index in range(200_001)}))
    with pytest.raises(DataError, match="200,000 tensors"):
        load(folder)


# --- tokenizers -------------------------------------------------------------------------------------------------------


def replacing(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(parts, name="normalizers"):
    return {"type": "Sequence", name: parts}


def nested(depth):
    inner = replacing({"String": "a"}, "aaaa")
    for _ in range(depth):
        inner = sequence([replacing({"String": "a"}, "aaaa"), inner])
    return inner


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def table(text):
    """A table of SentencePiece whose search tree finds nothing, and one text."""
    import base64

    tree = bytes(4 * 256)
    content = base64.b64encode(struct.pack("<I", len(tree)) + tree + text + b"\0").decode()
    return {"type": "Precompiled", "precompiled_charsmap": content}


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
PIECES = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]


def template(single, ids=(2,)):
    special = {"[CLS]": {"id": "[CLS]", "ids": list(ids), "tokens": ["[CLS]"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special}


BOMBS = {
    "replaces": {"normalizer": sequence([replacing({"String": "a"}, "aaaa")] * 40)},
    "replaces in each other": {"normalizer": nested(20)},
    "one replace": {"normalizer": replacing({"String": "a"}, "a" * 100_000)},
    "without a type": {"normalizer": {"normalizers": [{"pattern": {"String": "a"}, "content": "a" * 100_000}]}},
    "of a strange type": {"normalizer": {"type": "Strange", "pattern": {"String": "a"}, "content": "a" * 100_000}},
    "beside a list": {"normalizer": replacing({"String": "a"}, "a" * 100_000) | {"x": [{}]}},
    "empty pattern": {"normalizer": replacing({"Regex": ""}, "a" * 1_000)},
    "lookahead": {"normalizer": replacing({"Regex": "(?=a)"}, "a" * 1_000)},
    "prepend": {"normalizer": sequence([{"type": "Prepend", "prepend": "aaa"}, replacing({"String": "a"}, "a" * 100)])},
    "table": {"normalizer": table(b"a" * 10_000)},
    "table cut short": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////"}},
    "table not base64": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "a"}},
    "bytes of bytes": {"pre_tokenizer": sequence([BYTES] * 30, "pretokenizers")},
    "many steps": {"normalizer": sequence([{"type": "Lowercase"}] * 1_000)},
    "unknown step": {"normalizer": {"type": "Explode"}},
    "chunks of nothing": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "template": {"post_processor": template(PIECES[:1] * 10_000 + PIECES[1:])},
    "ids": {"post_processor": template(PIECES, range(100_000))},
    "text twice": {"post_processor": sequence([template(PIECES[1:] * 2)] * 40, "processors")},
    "text twice once": {"post_processor": template(PIECES[1:] * 2)},
    "added": {"added_tokens": [{"id": 9, "content": "x", "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": True, "special": False}] * 300_000},
    "model": {"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]", "max_input_chars_per_word": 10**9}},
    "prefix": {"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]", "max_input_chars_per_word": 100,
               "continuing_subword_prefix": "#" * 10**6}},
    "no model": {"model": None},
    "unknown model": {"model": {"type": "Oracle"}},
    "ids beyond": {"model": {"type": "WordPiece", "vocab": {"a": 2**63}, "unk_token": "a", "max_input_chars_per_word": 100}},
    "vocabulary": {"model": {"type": "Unigram", "vocab": "all", "unk_id": 0}},
}  # fmt: skip
PATTERNS = [
    "(a+)+b", "(a|a)*b", "(a?){50}b", "a?" * 30 + "a" * 30, ".*.*.*Z", ".*.*Z", "((a{1000}){1000}){1000}", "(a*)*", r"(a)\1",
    "(?=.*.*.*Z)", "(?:a|b|c|d)?" * 10, "(?<x>a)\\g<x>", "(a{0,200}){1,}", "(?:ab?)+c", "x" * 20_000,
    "(" * 500 + "a" + ")" * 500,
    "(", "[a", "a)", "*a", "\\", "(?x)a", r"\d{1,3}+x",
]  # fmt: skip


@pytest.mark.parametrize("changes", BOMBS.values(), ids=BOMBS)
def test_tokenizers_that_explode_are_refused(changes, folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")  # which takes every step of the file
    edit(folder, "tokenizer.json", **changes)
    with pytest.raises(DataError, match="tokenizer"):
        load(folder)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("step", ["normalizer", "pre_tokenizer", "decoder"])
def test_patterns_that_may_search_for_ever_are_refused(step, pattern, folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    edit(
        folder,
        "tokenizer.json",
        **{step: split(pattern) if step == "pre_tokenizer" else replacing({"Regex": pattern}, "")},
    )
    with pytest.raises(DataError, match="regular expression"):
        load(folder)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("tokenizer_config.json", {"model_max_length": "long"}),
        ("tokenizer_config.json", {"model_max_length": -1}),
        ("tokenizer_config.json", {"model_max_length": float("inf")}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"999999999999": {"content": "x"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"-1": {"content": "x"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {str(index): {"content": "x"} for index in range(200_001)}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"1": 5}}),
        ("tokenizer_config.json", {"extra_special_tokens": "x"}),
        ("tokenizer_config.json", {"padding_side": "up"}),
        ("tokenizer_config.json", {"pad_token": 5}),
        ("added_tokens.json", {str(index): index for index in range(200_001)}),
        ("special_tokens_map.json", {"additional_special_tokens": ["x"] * 200_001}),
    ],
)
def test_settings_of_tokenizers_that_make_no_sense_are_refused(file, changes, folder):
    edit(folder, file, **changes)
    with pytest.raises(DataError, match=r"token"):
        load(folder)


def test_a_name_twice_in_a_tokenizer_is_refused(folder):
    """Python takes the last, other parsers may take the first."""
    text = (folder / "tokenizer.json").read_text().rstrip()
    (folder / "tokenizer.json").write_text(text[:-1] + ', "normalizer": null}')
    with pytest.raises(DataError, match="twice"):
        load(folder)


def field(number, content):
    """One field of a message of Protocol Buffers."""
    length, digits = len(content), []
    while length > 127:
        digits, length = [*digits, length & 127 | 128], length >> 7
    return bytes([number << 3 | 2, *digits, length]) + content


def test_tables_of_sentencepiece_models_are_checked_too(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    map_of = struct.pack("<I", 1024) + bytes(1024)
    pieces = field(1, field(1, b"<unk>") + b"\x15\0\0\0\0\x18\x02")
    (folder / "tokenizer.model").write_bytes(
        pieces + field(3, field(1, b"nfkc") + field(2, map_of + b"a" * 10_000 + b"\0"))
    )
    with pytest.raises(DataError, match=r"tokenizer\.model may make 10,000 characters of one"):
        load(folder)
    for content in (pieces + field(3, field(2, b"\xff" * 8)), b"\xff" * 100, b"", b"no message"):
        (folder / "tokenizer.model").write_bytes(content)
        with pytest.raises(DataError, match="token"):
            load(folder)


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PUBLISHED = {
    "GPT-2": GPT2,
    "Llama 3": LLAMA3,
    "Qwen 2": LLAMA3.replace("{1,3}", ""),
    "GPT-4o": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDING}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ENDING}|\p{{N}}{{1,3}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "DeepSeek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "BLOOM": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "CLIP": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "digits from the right": r"\d{1,3}(?=(?:\d{3})*\b)",
    "ideographs": "[一-龥\u3040-ゟ゠-ヿ]+",
    "spaces": " {2,}",
    "molecules": r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>|\*|\$|\%[0-9]{2}|[0-9])",
}


@pytest.mark.parametrize("pattern", PUBLISHED.values(), ids=PUBLISHED)
def test_published_patterns_are_read(pattern, folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    edit(folder, "tokenizer.json", pre_tokenizer=sequence([split(pattern), {"type": "Whitespace"}], "pretokenizers"))
    tokens = load(folder).encode("a good film, 12345 films!  \n 電影 It's")
    assert [tokens.text[start:end] for start, end in filter(None, tokens.spans)][:1] == ["a"]


def byte_level():
    letters = {
        character: index for index, character in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), 4)
    }
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | letters
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return backend


def llama():
    backend = byte_level()
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(LLAMA3), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    around = tokenizers.processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", special_tokens=[("<s>", 0)])
    backend.post_processor = tokenizers.processors.Sequence([tokenizers.processors.ByteLevel(), around])
    return backend


def unigram():
    """As of T5 and XLM-R: a table of normal forms whose longest has 18 characters, then spaces become marks."""
    pieces = [
        ("<s>", 0.0),
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("▁a", -1.0),
        ("▁good", -1.0),
        ("▁film", -1.0),
    ]
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=3))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.normalizer = tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    steps = json.loads(backend.to_str())
    longest = "صلى الله عليه وسلم".encode()
    steps["normalizer"] = sequence([table(b"\0".join([b"fi", longest])), steps["normalizer"]])
    return steps


def spaces():
    """As of Llama 2: a mark before the text and for each space, and bytes for what is unknown."""
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2, "▁": 3, **{f"<0x{byte:02X}>": byte + 4 for byte in range(256)}}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], byte_fallback=True, unk_token="<unk>"))
    normal = tokenizers.normalizers
    backend.normalizer = normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")])
    backend.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback()]
    )
    return backend


def albert():
    steps = unigram()
    known = [
        replacing({"String": "``"}, '"'),
        replacing({"String": "''"}, '"'),
        {"type": "NFKD"},
        {"type": "StripAccents"},
    ]
    steps["normalizer"] = sequence([*known, {"type": "Lowercase"}, *steps["normalizer"]["normalizers"]])
    return steps


@pytest.mark.parametrize("making", [byte_level, llama, unigram, spaces, albert])
def test_the_common_kinds_of_tokenizers_are_read(making, folder):
    made = making()
    (folder / "tokenizer.json").write_text(json.dumps(made) if isinstance(made, dict) else made.to_str())
    (folder / "vocab.txt").unlink(missing_ok=True)
    roles = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "pad_token": ..., "mask_token": ...}
    edit(folder, "tokenizer_config.json", **roles, cls_token=..., sep_token=..., added_tokens_decoder=...)
    edit(folder, vocab_size=300)
    transformers.BertForSequenceClassification(transformers.AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    assert load(folder).encode(TEXT).text == TEXT


def test_the_tokenizer_of_a_published_model_is_read(minilm, folder):
    minilm[0].save_pretrained(folder)
    minilm[1].save_pretrained(folder)
    assert load(folder).encode(TEXT).ids == HuggingFace(*minilm).encode(TEXT).ids


# --- errors of any type -----------------------------------------------------------------------------------------------

ANY = [KeyError, TypeError, AttributeError, ImportError, RecursionError, AssertionError, ZeroDivisionError, Warning]


class Panic(BaseException):
    """As those of the extensions written in Rust, which are no `Exception`."""


@pytest.mark.parametrize("kind", [*ANY, Panic])
@pytest.mark.parametrize("reader", ["AutoConfig", "AutoModelForSequenceClassification", "AutoTokenizer"])
def test_errors_of_any_type_become_one(reader, kind, folder, monkeypatch):
    def failing(*given, **settings):
        raise kind("inside")

    monkeypatch.setattr(getattr(transformers, reader), "from_pretrained", failing)
    with pytest.raises(DataError, match="inside") as raised:
        load(folder)
    causes = [raised.value]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    assert isinstance(causes[-1], kind)
    for passing in (MemoryError, KeyboardInterrupt):
        kind = passing
        with pytest.raises(passing):
            load(folder)


# --- our own folders --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_width": -1, "rank": -1}, {"hidden_width": 10**12, "rank": 10**12}, {"hidden_width": 0, "rank": 0},
        {"embedding_width": "x", "alpha": "x"}, {"embedding_width": 2.5, "alpha": float("inf")}, {"labels": []},
        {"labels": [1, 2]}, {"labels": "no"}, {"labels": ["a", "a"]}, {"labels": [str(i) for i in range(100_001)]},
        {"max_length": -5}, {"max_length": 10**12}, {"max_length": True}, {"keep": "middle"}, {"keep": ["end"]}, {"name": 5},
        {"pool": "best", "base": {"name": 5, "sha256": 5}}, {"pool": ["max"], "base": {"name": "../x", "sha256": "0"}},
        {"labels": ["a", "b", "c"]}, {"hidden_width": 1_000_000, "alpha": None},
    ],
)  # fmt: skip
def test_folders_of_ours_that_do_not_fit_are_refused(name, changes, tmp_path):
    place = Path(shutil.copytree(bundled.folder(name), tmp_path / "own"))
    config = json.loads((place / "config.json").read_text())
    if not changes.keys() & config.keys():
        pytest.skip("no such setting")
    (place / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(DataError):
        load(place)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
def test_damaged_configurations_of_ours_are_refused(name, content, tmp_path):
    place = Path(shutil.copytree(bundled.folder(name), tmp_path / "own"))
    (place / "config.json").write_bytes(content)
    with pytest.raises(DataError):
        load(place)
    found = CliRunner().invoke(main, ["models", str(place)])
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)


def test_low_rank_changes_that_do_not_fit_are_refused_before_they_are_multiplied(tmp_path):
    from safetensors.torch import load_file, save_file

    place = Path(shutil.copytree(bundled.folder("bert-imdb"), tmp_path / "own"))
    stored = load_file(place / "model.safetensors")
    name = next(name for name in stored if name.endswith("_up")).removesuffix("_up")
    stored[f"{name}_up"], stored[f"{name}_down"] = torch.zeros(3_000_000, 1), torch.zeros(1, 3_000_000)  # 33 TB
    save_file(stored, place / "model.safetensors")
    with pytest.raises(DataError, match="3000000"):
        load(place)


def test_vocabularies_that_do_not_fit_are_refused(tmp_path):
    place = Path(shutil.copytree(bundled.folder("lstm-imdb"), tmp_path / "own"))
    for content in (b"", b"<pad>\n", b"\xff\xfe", b"<pad>\n<unk>\na\na\n", b"<pad>\n<unk>\na\n"):
        (place / "vocabulary.txt").write_bytes(content)
        with pytest.raises(DataError, match=r"vocabulary"):
            load(place)
    with (place / "vocabulary.txt").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(DataError, match=r"vocabulary\.txt has more than"):
        load(place)


# --- names and the command --------------------------------------------------------------------------------------------

NAMES = [
    "x\0y",
    "x\0/y",
    "/",
    "a" * 5_000,
    "a/" + "b" * 5_000,
    "../../..",
    "",
    "a b/c",
    "--x/y",
    "owner/name/more",
    "\ud800/x",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none_are_typed_errors(name):
    for loading in (load, HuggingFace, bundled.load, bundled.load_adapted):
        with pytest.raises((DataError, UnknownNameError)):
            loading(name)
    with pytest.raises(MaseError):
        mase.Explainer(name)


def test_files_and_pipes_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("{}")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "file", "loop"):
        with pytest.raises(DataError, match="is a file"):
            load(tmp_path / name)
        found = CliRunner().invoke(main, ["models", str(tmp_path / name)])
        assert (found.exit_code, found.stderr.count("mase: error:")) == (1, 1)


def test_models_describes_hostile_folders_or_says_what_is_wrong(folder):
    for changes in ({"id2label": {"9" * 5_000: "x"}}, {"id2label": 5}, {"num_hidden_layers": 10**7}, {"labels": 5}):
        edit(folder, **changes)
        found = CliRunner().invoke(main, ["models", str(folder)])
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
        edit(folder, id2label=..., num_hidden_layers=1, labels=...)
    for changes in (
        {"architectures": 5},
        {"architectures": [{}]},
        {"id2label": {"0": ["\x1b[31m"]}},
        {"model_type": [1]},
    ):
        edit(folder, **changes)
        found = CliRunner().invoke(main, ["models", str(folder)])
        assert (found.exit_code, "\x1b" in found.stdout, found.stderr) == (0, False, "")
    for name in ("a" * 5_000, "x\0y"):
        assert CliRunner().invoke(main, ["models", name]).stderr.count("mase: error:") == 1

"""Tests of `mase.models.folder`."""

import copy
import json
import re
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
import transformers
from click.testing import CliRunner
from tests.hostile import process
from tests.model_folders import CODE, command, edit, python, with_code
from tests.unit.models.tiny import word_tokenizer

import mase
from mase.cli import main
from mase.errors import DataError, MaseError, UnknownNameError
from mase.models import HuggingFace, bundled, load
from mase.models.folder import ADAPTER, ADAPTER_WEIGHTS, locate, whole_text
from mase.testing.models import FOLDER

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


@pytest.mark.slow
def test_standard_input_is_no_answer_in_a_process(folder):
    canary, _ = with_code(folder, "model")
    found = process.mase("explain", "-m", folder, "--json", scratch=folder.parent, stdin=b"y\nA good film\n")
    assert (found.code, found.out, canary.exists()) == (1, b"", False)
    assert found.err.count("\n") == 1


@pytest.mark.slow
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
@pytest.mark.slow
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
@pytest.mark.slow
def test_configurations_that_fit_no_weights_are_refused_without_building_them(changes, folder):
    edit(folder, **changes)
    with pytest.raises(DataError, match=r"model"):
        load(folder)


def test_a_hundred_layers_are_told_from_ten_by_what_is_stored(folder):
    edit(folder, num_hidden_layers=900, hidden_size=4_096)
    with pytest.raises(DataError, match="stored weights"):
        load(folder)


def test_loading_by_folder_and_by_name(small_bert, tmp_path):
    small_bert[0].save_pretrained(tmp_path / "saved")
    small_bert[1].save_pretrained(tmp_path / "saved")
    model = load(tmp_path / "saved")
    assert model.predict(["A good film"]) == pytest.approx(HuggingFace(*small_bert).predict(["A good film"]))
    with pytest.raises(UnknownNameError, match="did you mean 'lstm-imdb'"):
        load("lstm-imbd")
    with pytest.raises(DataError, match="download"):
        load("nobody/has-this-model")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty"):
        load(tmp_path / "empty")


def saved(small_bert, folder):
    small_bert[0].save_pretrained(folder)
    small_bert[1].save_pretrained(folder)
    return folder


def test_a_folder_in_half_precision_is_loaded_in_single(small_bert, tmp_path):
    folder = saved((copy.deepcopy(small_bert[0]).to(torch.bfloat16), small_bert[1]), tmp_path)
    assert {parameter.dtype for parameter in load(folder).module.parameters()} == {torch.float32}


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.slow
def test_a_model_is_loaded_without_a_bar(small_bert, tmp_path, capsys, shown):
    saved(small_bert, tmp_path)
    log = transformers.utils.logging
    before = log.is_progress_bar_enabled()
    (log.enable_progress_bar if shown else log.disable_progress_bar)()
    try:
        capsys.readouterr()
        load(tmp_path)
        load(FOLDER)
        assert capsys.readouterr() == ("", "")
        assert log.is_progress_bar_enabled() == shown
    finally:
        (log.enable_progress_bar if before else log.disable_progress_bar)()


def test_a_model_whose_head_was_never_trained_is_an_error(small_bert, tmp_path):
    """It would be drawn at random, and explain something else each time."""
    saved((small_bert[0].bert, small_bert[1]), tmp_path)
    state = torch.random.get_rng_state()
    with pytest.raises(
        DataError, match=r"has no weights classifier\.bias, classifier\.weight, expected .* that was trained"
    ):
        load(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_folder_without_a_tokenizer_is_an_error(small_bert, tmp_path):
    """Transformers would make one up that reads every word as unknown."""
    small_bert[0].save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"has no tokenizer, expected one of .*tokenizer\.json"):
        load(tmp_path)
    assert len(HuggingFace(tmp_path, small_bert[1]).encode("a good film")) == 5


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1", None])
def test_damaged_weights_are_an_error(content, small_bert, tmp_path):
    path = saved(small_bert, tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000] if content is None else content)
    with pytest.raises(DataError, match=re.escape(str(tmp_path))) as raised:
        load(tmp_path)
    assert "download" not in str(raised.value)  # it is here, only broken


def test_weights_of_other_sizes_than_the_configuration_are_an_error(small_bert, tmp_path):
    path = saved(small_bert, tmp_path) / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"id2label": {str(index): str(index) for index in range(5)}}))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        load(tmp_path)


def test_a_good_folder_loads(folder):
    assert mase.Explainer(load(folder), n_samples=32)(TEXT).words == ("a", "good", "film")
    assert load(folder).predict([TEXT]) == pytest.approx(HuggingFace(folder).predict([TEXT]))


@pytest.mark.slow
def test_every_call_says_that_no_code_is_trusted_and_that_nothing_is_fetched(folder, minilm_folder, monkeypatch):
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


@pytest.mark.parametrize("name", ["someone/model.onnx", "model.json"])
def test_a_name_that_ends_like_a_file_is_one_of_the_hub_if_only_its_cache_has_it(folder, monkeypatch, tmp_path, name):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder.parent / "hub"))
    monkeypatch.chdir(folder.parent)
    with pytest.raises(DataError, match=rf"no file or folder '{name}', nor .* cache .*{name}"):
        load(name)
    hub_cache(folder, name)
    assert load(name).name == name
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("not a model")
    with pytest.raises(DataError):  # the file goes first
        load(name)


def test_a_name_without_an_owner_is_looked_up_in_the_same_cache(folder, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub_cache(folder, "model")))
    assert load("model").name == "model"
    with pytest.raises(UnknownNameError):
        load("another-model")


def test_an_adapter_is_fetched_with_its_weights(tmp_path, monkeypatch):
    (tmp_path / ADAPTER).write_text("{}")
    asked = []

    def fetched(name, *, allow_patterns, **settings):
        asked.append(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    assert locate("someone/adapter", download=True) == tmp_path
    assert [ADAPTER_WEIGHTS in files for files in asked] == [False, True]


class Hub(BaseHTTPRequestHandler):
    """The hub's answers for repositories, each from a folder of its name."""

    def log_message(self, *given):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        import hashlib

        place, asked = self.path.partition("?")[0], self.server.asked
        name = next(name for name in asked if f"someone/{name}" in place)
        files = self.server.folder / name
        if "/api/" in place:
            siblings = [{"rfilename": path.name} for path in sorted(files.iterdir())]
            entries = [
                {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": "1"} for path in files.iterdir()
            ]
            plain = entries if "/tree/" in place else {"id": f"someone/{name}", "sha": "1" * 40, "siblings": siblings}
            content, status = json.dumps(plain).encode(), 200
        else:
            path = files / place.rpartition("/")[2]
            status, content = (200, path.read_bytes()) if path.is_file() else (404, b"")
            asked[name].append(path.name)
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
    server.folder, server.asked = folder.parent, {"with-code": [], "model": []}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


# In one process, which imports transformers once.
ONE_AFTER_THE_OTHER = """
import sys
from mase.cli import main
for name in ("with-code", "model"):
    try:
        main([*sys.argv[1:], "-m", f"someone/{name}"])
    except SystemExit as end:
        print(end.code)
"""


@pytest.mark.slow
def test_a_name_is_fetched_when_the_user_says_so_and_checked_before_its_weights(folder, hub):
    place = {
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(folder.parent / "home"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    asked = ["explain", TEXT, "--n-samples", "32", "--json", "--download"]
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    with_code(Path(shutil.copytree(folder, folder.parent / "with-code")), "config of a known family")
    found = python("-c", ONE_AFTER_THE_OTHER, *asked, **place)
    refused, answer, code = found.stdout.splitlines()
    assert (refused, code) == ("1", "0"), found.stderr
    assert "auto_map" in found.stderr
    assert not {"model.safetensors", "own.py", "pytorch_model.bin"} & set(hub.asked["with-code"])
    assert json.loads(answer)["document"][0]["text"] == TEXT
    assert "model.safetensors" in hub.asked["model"]
    assert "pytorch_model.bin" not in hub.asked["model"]


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


def test_models_in_threads_may_share_a_tokenizer_that_cuts_and_pads():
    tokenizer = word_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(6)
    tokenizer.backend_tokenizer.enable_padding(length=20)
    before = tokenizer.backend_tokenizer.truncation, tokenizer.backend_tokenizer.padding
    inside = threading.Barrier(2)

    def read(_):
        inside.wait()
        lengths = set()
        for _ in range(200):
            with whole_text(tokenizer):
                lengths.add(len(tokenizer("w0 w1 w2 w3 w4 w5 w6 w7")["input_ids"]))
        return lengths

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(read, range(2)))
    finally:
        sys.setswitchinterval(interval)
    assert found == [{10}, {10}]
    assert (tokenizer.backend_tokenizer.truncation, tokenizer.backend_tokenizer.padding) == before

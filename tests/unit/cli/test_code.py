"""Tests of `mase.cli.code`: a language model on a server, as all commands open it."""

import json

import pytest
from click.testing import CliRunner

import mase
from mase.cli import main

PROMPT = {"context": "Paris is in France. The garden is large.", "query": "Where is Paris?", "answer": "In France."}
FIELDS = ("--fields", "context,query,answer", "--fixed", "query", "--units", "sentence")
UNREACHED = "http://localhost:1"

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


@pytest.fixture(scope="module")
def url():
    pytest.importorskip("torch")
    from tests.completion_server import engine, vllm
    from tests.servers import served

    with served(vllm(engine())) as (address, _):
        yield address


@pytest.fixture
def invoke(monkeypatch, tmp_path):
    """Run `mase ...` in a folder with a table of one prompt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text(json.dumps(PROMPT) + "\n", encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(main, [*map(str, arguments)])


def test_the_doctor_asks_the_only_model_on_a_server(invoke, url):
    found = invoke("doctor", "--server", url, "--json")
    assert found.exit_code == 0, found.stderr
    plain = json.loads(found.stdout)
    assert (plain["name"], plain["kind"]) == ("tiny", "completion server, asked as vllm")


def test_a_corpus_is_explained_by_a_model_on_a_server(invoke, url, tmp_path):
    arguments = ("prompts.jsonl", *FIELDS, "-m", "tiny", "--server", url, "-o", "out", "--n-samples", 8)
    found = invoke("run", *arguments, "--engine", "here")
    assert found.exit_code == 0, found.stderr
    run = mase.open_run(tmp_path / "out")
    assert run.manifest.asked.model["name"] == "tiny"
    assert run.texts()["explained_answer"].to_pylist() == ["In France."]
    assert invoke("run", *arguments, "--dry-run").exit_code == 0


def test_texts_are_explained_by_a_model_on_a_server(invoke, url):
    found = invoke("explain", "-i", "prompts.jsonl", *FIELDS, "--server", url, "--json", "--n-samples", 8)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["model"]["name"] == "tiny"


def test_a_generated_answer_has_at_most_so_many_tokens(invoke, url, tmp_path):
    (tmp_path / "prompts.jsonl").write_text(json.dumps(PROMPT | {"answer": ""}) + "\n", encoding="utf-8")
    answers = {}
    for n in (1, 3):
        how = (*FIELDS, "--server", url, "--max-new-tokens", n, "--n-samples", 8)
        explained = invoke("explain", "-i", "prompts.jsonl", *how, "--json")
        assert explained.exit_code == 0, explained.stderr
        plain = json.loads(explained.stdout)
        assert (plain["model"]["max_new_tokens"], plain["notes"][0]["code"]) == (n, "answer-cut")
        answers[n] = plain["answer"]["text"]
        run = invoke("run", "prompts.jsonl", *how, "-o", f"out-{n}", "--engine", "here")
        assert run.exit_code == 0, run.stderr
        assert mase.open_run(tmp_path / f"out-{n}").texts()["explained_answer"].to_pylist() == [answers[n]]
    assert answers[3].startswith(answers[1])
    assert len(answers[3]) > len(answers[1])


def test_code_that_generates_is_still_known_by_its_file(invoke, tmp_path):
    (tmp_path / "own.py").write_text("from tests.language_models import Parrot\n\n\nclass Own(Parrot): ...\n")
    how = (*FIELDS[:1], "context,query", *FIELDS[2:], "-m", "own.py:Own()", "--n-samples", 8, "--max-new-tokens", 2)
    explained = invoke("explain", "-i", "prompts.jsonl", *how, "--json")
    assert explained.exit_code == 0, explained.stderr
    plain = json.loads(explained.stdout)
    assert (plain["model"]["max_new_tokens"], plain["answer"]["text"]) == (2, "The cat")
    assert "code_sha256" in plain["model"]
    run = invoke("run", "prompts.jsonl", *how, "-o", "out", "--jobs", 1)
    assert run.exit_code == 0, run.stderr
    assert "this process explains the texts" not in run.stderr
    found = mase.open_run(tmp_path / "out")
    assert found.texts()["explained_answer"].to_pylist() == ["The cat"]
    assert found.manifest.asked.model == plain["model"]


@pytest.mark.parametrize(
    "command", [("explain", "a text"), ("run", "prompts.jsonl", "--text-column", "context", "--dry-run")]
)
def test_a_classifier_generates_no_answer(invoke, tmp_path, command):
    (tmp_path / "own.py").write_text("def predict(texts):\n    return [[0.4, 0.6]] * len(texts)\n", encoding="utf-8")
    found = invoke(*command, "-m", "own.py:predict", "--max-new-tokens", 3)
    assert (found.exit_code, "--max-new-tokens" in found.stderr) == (2, True)


@pytest.mark.parametrize("command", [("doctor",), ("run", "prompts.jsonl", "--dry-run"), ("explain", "a text")])
def test_a_server_decides_where_its_models_run(invoke, command):
    found = invoke(*command, "--server", UNREACHED, "-m", "tiny", "--device", "cpu")
    assert (found.exit_code, "got --device with a model on a server" in found.stderr) == (2, True)
    unknown = invoke(*command, "--server", UNREACHED, "-m", "tiny")
    assert (unknown.exit_code, unknown.stderr.count("mase: error:")) == (1, 1)

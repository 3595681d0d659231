"""Tests of `mase.cli.explain`."""

import json
import os

import pytest
from click.testing import CliRunner
from tests.language_models import ANSWER
from tests.unit.cli.commands import command

import mase
from mase.attribution.json import load_many
from mase.cli import main

PARROT = "tests.language_models:parrot"
CAT = "The cat sat.\nIt was warm.\n"
DOG = "Nobody saw it. The dog ran.\n"


@pytest.fixture
def cite(tmp_path, monkeypatch):
    """Run `mase cite -m PARROT ...` in a folder with two texts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cat.txt").write_text(CAT)
    (tmp_path / "dog.txt").write_text(DOG)

    def run(*arguments, model=PARROT, **settings):
        return CliRunner().invoke(main, ["cite", "-m", model, *map(str, arguments)], **settings)

    return run


BOTH = ("--context", "cat.txt", "dog.txt", "--query", "What happened?")


def test_each_sentence_of_the_answer_has_the_sentence_that_it_is_from(cite):
    found = cite(*BOTH, "--json")
    assert (found.exit_code, found.stderr) == (0, "")
    plain = json.loads(found.stdout)
    assert [(field["name"], field["fixed"]) for field in plain["document"]] == [
        ("cat.txt", False), ("dog.txt", False), ("query", True),
    ]  # fmt: skip
    assert plain["answer"]["text"] == ANSWER
    assert plain["answer"]["generated"]
    best = {one["name"]: plain["units"][one["order"][0]]["text"] for one in plain["responses"]}
    assert best == {"answer": best["answer"], "The cat sat.": "The cat sat.", "The dog ran.": "The dog ran."}
    assert plain["method"]["units"] == "sentence"


def test_the_screen_shows_the_sources_by_their_files(cite):
    found = cite(*BOTH)
    assert found.exit_code == 0
    assert "cat.txt" in found.stdout
    assert "The dog ran." in found.stdout
    assert cite(*BOTH, "-q").stdout == ""


def test_the_options_are_those_of_the_function(cite):
    given = ("--answer", "The cat ran.", "--units", "document", "--seed", 3, "--n-samples", 4, "--link", "probability")
    found = json.loads(cite(*BOTH, *given, "--template", "{dog.txt} | {cat.txt} ? {query}", "--json").stdout)
    same = mase.cite(
        _parrot(), context={"cat.txt": CAT.strip(), "dog.txt": DOG.strip()}, query="What happened?",
        answer="The cat ran.", units="document", seed=3, n_samples=4, link="probability",
        template="{dog.txt} | {cat.txt} ? {query}",
    )  # fmt: skip
    assert found["responses"][0]["scores"] == same.scores.tolist()
    assert (found["answer"]["generated"], found["seed"], len(found["units"])) == (False, 3, 2)
    assert found["model"]["template"] == "{dog.txt} | {cat.txt} ? {query}"
    rather = json.loads(cite(*BOTH, "--answer", "The cat sat.", "--against", "Nobody saw it.", "--json").stdout)
    assert [(one["against"], one["link"]) for one in rather["responses"]] == [("Nobody saw it.", "log-probability")]
    short = json.loads(cite(*BOTH, "--max-new-tokens", 3, "--parts", "word", "--json").stdout)
    assert [one["name"] for one in short["responses"]] == ["answer", "The", "cat", "sat."]


def _parrot():
    from tests.language_models import parrot

    return parrot


def test_files_keep_their_order_and_take_the_names_that_tell_them_apart(cite, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "cat.txt").write_text("It was warm.\r\n\r\n")
    given = ("--context", "dog.txt", "-", "more/cat.txt", "--query", "What?", "--context=cat.txt", "--json")
    plain = json.loads(cite(*given, input="The sun shone.\n").stdout)
    names = [field["name"] for field in plain["document"]]
    assert names == ["dog.txt", "standard input", "more/cat.txt", f"{tmp_path.name}/cat.txt", "query"]
    texts = [field["text"] for field in plain["document"]]
    assert texts[1:3] == ["The sun shone.", "It was warm."]


@pytest.mark.skipif(os.name == "nt", reason="file names are no bytes")
def test_a_file_name_that_is_no_text_is_one_on_every_surface(cite, tmp_path):
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / name).write_text(CAT)
    plain = json.loads(cite("--context", name, "--query", "What?", "--json").stdout)
    assert plain["document"][0]["name"] == "caf\ufffd.txt"


def test_a_file_with_the_name_of_another_field_is_a_source(cite, tmp_path):
    (tmp_path / "query").write_text("The cat sat.")
    plain = json.loads(cite("--context", "query", "--query", "What?", "--json").stdout)
    assert [field["name"] for field in plain["document"]] == [f"{tmp_path.name}/query", "query"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no text"), (b" \n\n", "has no text"), (b"The c\xe4t", "is not UTF-8 at byte 5 (0xe4)"),
        (b"\xff\xfeT\x00", "is UTF-16"), (b"%PDF-1.7 x", "save it as plain text"), (b"PK\x03\x04", "unpack it first"),
        (b"The\0cat", "NUL"), (None, "No such file"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_text_is_one_line_before_any_model_loads(content, message, cite, tmp_path):
    if content is not None:
        (tmp_path / "bad.txt").write_bytes(content)
    found = cite("--context", "cat.txt", "bad.txt", "--query", "What?", model="nobody/has-this-model")
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (1, "", 1)
    assert found.stderr.count("bad.txt") == 1 or content is None
    assert message in found.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--query", "What?"), 2, "--context"), (("--context", "--query", "What?"), 2, "--context"),
        (("--context", "cat.txt", "./cat.txt"), 2, "./cat.txt twice"), (("--context", "-", "-"), 2, "twice"),
        (("--context", ""), 2, "empty file name"), (("--context", "."), 1, "it is a folder"),
        ((*BOTH, "--link", "margin"), 2, "--link"), ((*BOTH, "--units", "letter"), 2, "--units"),
        ((*BOTH, "--against", ANSWER), 1, "expected another text than the answer"),
        ((*BOTH, "--template", "{nothing}"), 1, "'nothing'"), ((*BOTH, "--answer", " "), 1, "--answer ' '"),
        ((*BOTH, "--answer", ""), 1, "--answer ''"), ((*BOTH, "--against", ""), 1, "--against ''"),
        ((*BOTH, "--html", "cat.txt"), 2, "the same file"), ((*BOTH, "-o", "found.pptx"), 1, "pptx"),
    ],
)  # fmt: skip
def test_awkward_input_is_an_error_that_names_it(arguments, code, message, cite):
    found = cite(*arguments)
    assert (found.exit_code, found.stdout) == (code, "")
    assert message in found.stderr


def test_files_of_results_hold_the_answer_and_are_not_overwritten_unasked(cite, tmp_path):
    outputs = [part for name in ("a.jsonl", "a.csv", "a.txt", "a.html") for part in ("-o", name)]
    found = cite(*BOTH, *outputs, "--html", "b.html", "-q")
    assert (found.exit_code, found.stdout) == (0, "")
    assert mase.load(tmp_path / "a.jsonl").answer.text == ANSWER
    assert "The dog ran." in (tmp_path / "a.csv").read_text()
    for name in ("a.jsonl", "b.html"):
        before = (tmp_path / name).read_bytes()
        refused = cite(*BOTH, "--html" if name == "b.html" else "-o", name)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert f"'{name}' is not empty; --overwrite replaces it" in refused.stderr
        assert (tmp_path / name).read_bytes() == before
    assert cite(*BOTH, "-o", "a.jsonl", "--seed", 1, "--overwrite", "-q").exit_code == 0
    assert [result.seed for result in load_many(tmp_path / "a.jsonl")] == [1]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("lstm-imdb", "mase explain"), ("tests.language_models:predict_proba", "expected a folder or name"),
        ("http://localhost:1/v1", "--server http://localhost:1/v1 -m NAME"), ("no.such.module:model", "no.such"),
    ],
)  # fmt: skip
def test_a_model_that_generates_nothing_says_what_to_do(model, message, cite):
    found = cite(*BOTH, model=model)
    assert found.exit_code in (1, 2)
    assert message in found.stderr


def test_options_that_do_not_apply_to_a_model_are_usage_errors(cite):
    assert "got --download with the code" in cite(*BOTH, "--download").stderr
    found = cite(*BOTH, "--server", "http://localhost:1/v1", "--device", "cuda", model="name")
    assert (found.exit_code, "got --device with a model on a server" in found.stderr) == (2, True)


def test_explain_explains_the_answer_to_a_prompt(cite):
    found = CliRunner().invoke(main, ["explain", "-m", PARROT, "--json", "The cat sat. It was warm."])
    plain = json.loads(found.stdout)
    assert plain["answer"]["text"] == ANSWER
    assert [one["name"] for one in plain["responses"]] == ["answer"]
    assert {plain["units"][unit]["text"] for unit in plain["responses"][0]["order"][:3]} == {"The", "cat", "sat."}


def test_help_is_instant_and_has_examples():
    found = command("cite", "--help")
    assert "mase cite --server" in found.stdout
    assert found.returncode == 0


@pytest.mark.slow
def test_a_server_is_asked_by_its_url_or_by_a_file_that_describes_it(cite, tmp_path):
    pytest.importorskip("torch")
    from tests.completion_server import engine, vllm
    from tests.servers import served

    given = (*BOTH, "--answer", "The cat sat.", "--n-samples", 4, "--units", "document", "--json")
    with served(vllm(engine())) as (url, _):
        (tmp_path / "server.json").write_text(json.dumps({"protocol": "completions", "url": url, "model": "tiny"}))
        by_url = CliRunner().invoke(main, ["cite", "--server", url, *map(str, given)])
        by_file = cite(*given, model="server.json")
        other = mase.models.load("server.json")
        unknown = CliRunner().invoke(main, ["cite", "--server", f"{url}/nowhere", *map(str, given)])
    scores = [json.loads(found.stdout)["responses"][0]["scores"] for found in (by_url, by_file)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    assert json.loads(by_url.stdout)["model"]["name"] == "tiny"
    assert (type(other).__name__, other.name) == ("Generated", "tiny")
    assert "asked as vllm" in other.language_model.description.kind
    assert (unknown.exit_code, unknown.stdout, unknown.stderr.count("\n")) == (1, "", 1)


def test_a_model_must_be_named(cite):
    found = CliRunner().invoke(main, ["cite", *BOTH])
    assert (found.exit_code, "--model" in found.stderr) == (2, True)

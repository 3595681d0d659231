"""Tests of `mase.cli.options`: a language model on a server, as all commands open it."""

import json

import pytest
from click.testing import CliRunner

import mase
from mase.attribution.json import load_many
from mase.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


PROMPT = {"context": "Paris is in France. The garden is large.", "query": "Where is Paris?", "answer": "In France."}


FIELDS = ("--fields", "context,query,answer", "--fixed", "query", "--units", "sentence")


UNREACHED = "http://localhost:1"


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


@pytest.mark.slow
def test_the_doctor_asks_the_only_model_on_a_server(invoke, url):
    found = invoke("check", "--server", url, "--json")
    assert found.exit_code == 0, found.stderr
    plain = json.loads(found.stdout)
    assert (plain["name"], plain["kind"]) == ("tiny", "completion server, asked as vllm")


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("command", [("check",), ("run", "prompts.jsonl", "--dry-run"), ("explain", "a text")])
def test_a_server_decides_where_its_models_run(invoke, command):
    found = invoke(*command, "--server", UNREACHED, "-m", "tiny", "--device", "cpu")
    assert (found.exit_code, "got --device with a model on a server" in found.stderr) == (2, True)
    unknown = invoke(*command, "--server", UNREACHED, "-m", "tiny")
    assert (unknown.exit_code, unknown.stderr.count("mase: error:")) == (1, 1)


CODE = """
import math


def entails(records):
    found = []
    for record in records:
        logit = 2 * ("wet" in record["the street, now"]) + ("rains" in record["premise"]) + record["age"] / 40
        found.append([1 / (1 + math.exp(logit)), 1 / (1 + math.exp(-logit))])
    return found
"""


TABLE = """premise,"the street, now",age,label
It rains today.,The street is wet.,40,1
All is quiet.,There is noise.,7,0
Nothing.,Nothing.,old,0
"""


OPTIONS_DOCUMENTS_FIELDS = ["--fields", 'premise,"the street, now",age', "--fixed", "premise", "--background", "age=0"]


MODEL = ["-m", "own_judge.py:entails"]


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_judge.py").write_text(CODE)
    (tmp_path / "a.csv").write_text(TABLE)

    def invoke(*arguments):
        return CliRunner().invoke(main, list(arguments))

    return invoke


def test_explain_reads_documents_and_resumes(command, tmp_path):
    arguments = [
        "explain",
        "-i",
        "a.csv",
        *OPTIONS_DOCUMENTS_FIELDS,
        *MODEL,
        "--n-samples",
        "40",
        "-q",
        "-o",
        "a.jsonl",
    ]
    made = command(*arguments, "--target", "1")
    assert (made.exit_code, made.stderr.count("mase: error:")) == (1, 1)
    assert "row 3: field 'age' is 'old', expected a number" in made.stderr
    lines = list(map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines()))
    assert lines[2]["error"] == "InvalidTextError"
    first = lines[0]["document"]
    assert [(field["name"], field["fixed"], field.get("value")) for field in first] == [
        ("premise", True, None), ("the street, now", False, None), ("age", False, 40),
    ]  # fmt: skip
    found = load_many(tmp_path / "a.jsonl")[0]
    best = max(zip(found.scores, found.units, strict=True), key=lambda pair: pair[0])[1]
    assert (best.field, best.text.strip(".")) == ("the street, now", "wet")
    again = command(*arguments, "--target", "1", "--append")
    assert "all 3 texts already have a result" in again.stderr
    (tmp_path / "a.csv").write_text(TABLE.replace("quiet", "still"))
    changed = command(*arguments, "--target", "1", "--append")
    assert (changed.exit_code, "line 2 has the text" in changed.stderr) == (1, True)


def test_explain_reads_objects_of_json_from_arguments_and_from_a_pipe(command):
    record = {"premise": "It rains today.", "the street, now": "The street is wet.", "age": 40}
    given = ["explain", *OPTIONS_DOCUMENTS_FIELDS, *MODEL, "--json", "--n-samples", "40"]
    found = command(*given, "--", json.dumps(record), "no object", json.dumps({"premise": "alone"}), "[1]")
    assert found.exit_code == 1
    first, *failed = [json.loads(line) for line in found.stdout.splitlines()]
    assert [field["text"] for field in first["document"]] == ["It rains today.", "The street is wet.", "40"]
    assert [field["fixed"] for field in first["document"]] == [True, False, False]
    assert [(one["line"], one["error"]) for one in failed] == [(2, "DataError"), (3, "DataError"), (4, "DataError")]
    piped = CliRunner().invoke(main, given, input=json.dumps(record) + "\n")
    assert piped.exit_code == 0
    assert json.loads(piped.stdout)["responses"] == first["responses"]


def test_run_and_evaluate_read_documents(command, tmp_path):
    made = command(
        "run", "a.csv", "-o", "run", *OPTIONS_DOCUMENTS_FIELDS, *MODEL, "--engine", "here", "--n-samples", "20", "-q"
    )
    assert (made.exit_code, made.stderr.count("mase: error:")) == (1, 1)
    units = mase.open_run(tmp_path / "run").units().to_pylist()
    assert {unit["field"] for unit in units} == {"the street, now", "age"}
    evaluated = command(
        "evaluate", "-i", "a.csv", *OPTIONS_DOCUMENTS_FIELDS, *MODEL, "--methods", "mase", "--n-texts", "2", "--k", "1",
        "--json",
        "--n-samples", "20",
    )  # fmt: skip
    assert json.loads(evaluated.stdout)["n_texts"] == 2
    assert evaluated.exit_code in (0, 1)  # 1 if the row that cannot be read was drawn


def test_doctor_asks_about_the_first_row(command):
    found = command("check", "-i", "a.csv", *OPTIONS_DOCUMENTS_FIELDS, *MODEL, "--json")
    plain = json.loads(found.stdout)
    assert (plain["inputs"], plain["labels"]) == (["records"], ["0", "1"])
    assert [speed["n_units"] for speed in plain["speeds"]] == [5]  # the words and the age


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "-i", "a.txt", "--fields", "a,b"], "got --fields without a table"),
        (["explain", "-i", "a.csv", "--fixed", "premise"], "got --fixed without --fields"),
        (["explain", "-i", "a.csv", "--background", "age=1"], "got --background without --fields"),
        (["explain", "-i", "a.csv", "--fields", "a", "--text-column", "b"], "expected one of the two"),
        (["explain", "-i", "a.csv", "--fields", "a", "--background", "age"], "expected NAME=VALUE"),
        (["explain", "-i", "a.csv", "--fields", "a", "--background", "age=1,age=2"], "given twice"),
        (["evaluate", "-i", "a.csv", "--fixed", "premise"], "got --fixed without --fields"),
        (["check", "--fields", "premise"], "got --fields without a table"),
    ],
)
def test_options_that_do_not_fit_are_refused(command, arguments, message):
    found = command(*arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr


def test_columns_that_the_table_does_not_have(command):
    found = command("explain", "-i", "a.csv", "--fields", "premiss", *MODEL)
    assert (found.exit_code, found.stderr.count("mase: error:")) == (1, 1)
    assert "no column 'premiss'" in found.stderr
    for fields in ("", "age,age"):
        found = command("explain", "-i", "a.csv", "--fields", fields, *MODEL)
        assert (found.exit_code, found.stderr.count("mase: error: --fields are")) == (1, 1)


def test_names_on_several_lines_are_refused(command):
    found = command("explain", "-i", "a.csv", "--fields", "age,\n  sex", *MODEL)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "--fields" in found.stderr


def test_a_field_that_is_given_twice_is_an_error(tmp_path):
    (tmp_path / "model.py").write_text("def predict(records):\n    return [[0.3, 0.7]] * len(records)\n")
    model = f"{tmp_path / 'model.py'}:predict"
    asked = ["explain", "-m", model, "--fields", "a,n", "--fixed", "n", '{"a": "phone stolen", "n": 7, "n": 3}']
    found = CliRunner().invoke(main, asked)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "a, n, n, expected each once" in found.stderr

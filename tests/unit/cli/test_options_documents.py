"""Tests of `mase.cli.options`: --fields, --fixed and --background of the commands that read tables."""

import json

import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.io.json import load_many

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")

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
FIELDS = ["--fields", 'premise,"the street, now",age', "--fixed", "premise", "--background", "age=0"]
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
    arguments = ["explain", "-i", "a.csv", *FIELDS, *MODEL, "--n-samples", "40", "-q", "-o", "a.jsonl"]
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
    given = ["explain", *FIELDS, *MODEL, "--json", "--n-samples", "40"]
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
    made = command("run", "a.csv", "-o", "run", *FIELDS, *MODEL, "--engine", "here", "--n-samples", "20", "-q")
    assert (made.exit_code, made.stderr.count("mase: error:")) == (1, 1)
    units = mase.open_run(tmp_path / "run").units().to_pylist()
    assert {unit["field"] for unit in units} == {"the street, now", "age"}
    evaluated = command(
        "evaluate", "-i", "a.csv", *FIELDS, *MODEL, "--methods", "mase", "--n-texts", "2", "--k", "1", "--json",
        "--n-samples", "20",
    )  # fmt: skip
    assert json.loads(evaluated.stdout)["n_texts"] == 2
    assert evaluated.exit_code in (0, 1)  # 1 if the row that cannot be read was drawn


def test_doctor_asks_about_the_first_row(command):
    found = command("doctor", "-i", "a.csv", *FIELDS, *MODEL, "--json")
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
        (["doctor", "--fields", "premise"], "got --fields without a table"),
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

"""Tests of `mase.cli.explain`."""

import csv
import json
import os
import re

import pytest
from tests.unit.cli.commands import command

from mase.attribution.json import Failure, load_many
from mase.errors import DataError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")

GOOD, BAD = "a good film", "a dull film"


def test_one_text_is_a_heat_map(mase_cli):
    found = mase_cli(GOOD)
    assert found.exit_code == 0
    assert found.stderr == ""
    assert "good⁺⁺⁺ film" in found.stdout
    assert "1 95.0 %" in found.stdout
    assert not found.stdout.startswith("1 ─")


def test_json_is_alone_on_standard_output(mase_cli):
    found = mase_cli(
        GOOD, "--json", "--target", "neg", "--seed", "5", "--link", "log-probability", "--batch-size", "16"
    )
    plain = json.loads(found.stdout)
    (field,), (response,) = plain["document"], plain["responses"]
    assert (field["text"], response["name"], plain["seed"], response["link"]) == (GOOD, "neg", 5, "log-probability")
    assert plain["method"]["batch_size"] == 16
    assert found.stdout.count("\n") == 1
    assert mase_cli(GOOD, "-o", "-").stdout.startswith('{"schema": "mase.attribution/2"')


def test_every_output_tests_the_best_words_unless_told_not_to(mase_cli, tmp_path):
    path = tmp_path / "found.jsonl"
    shown = mase_cli(f"{GOOD}, and so on", "-o", str(path)).stdout
    (found,) = load_many(path)
    assert len(found.evidence.without) == 5 < len(found.words)
    assert shown.rstrip().splitlines()[-1].startswith("without the 5 words most for ")
    assert json.loads(mase_cli(GOOD, "--json", "--evidence", "0").stdout)["evidence"] is None


def test_a_label_wins_over_an_index(mase_cli):
    assert json.loads(mase_cli(GOOD, "--json", "--target", "1").stdout)["responses"][0]["name"] == "1"
    assert json.loads(mase_cli(GOOD, "--json", "--target", "0").stdout)["responses"][0]["name"] == "neg"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "-q"], "text '' "), ([GOOD, "--target", "positive"], "unknown target 'positive'"),
        (["crash"], "fell over"),
        ([GOOD, "--target", "7"], "or an index from 0 to 1"), ([GOOD, "--method", "maze"], "did you mean 'mase'"),
        ([GOOD, "--method", "mase-gradient"], "embedding"),
        ([GOOD, "--method", "mase+estimator=magic"], "unknown estimator"),
        ([GOOD, "--method", "mase+reference=unk"], "reference"),
    ],
)  # fmt: skip
def test_expected_errors_are_one_line_and_exit_1(mase_cli, arguments, message):
    found = mase_cli(*arguments)
    assert found.exit_code == 1
    assert found.stdout == ""
    assert found.stderr.startswith("mase: error: ")
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [GOOD, "-i", "x"], [GOOD, "--n-samples", "1"], [GOOD, "--seed", "-1"], [GOOD, "--batch-size", "0"],
        [GOOD, "--batch-size", "some"], [GOOD, "--nonsense"], [GOOD, "--link", "odds"], [GOOD, "--tolerance", "wide"],
        [GOOD, "--units", "letter"],
    ],
)  # fmt: skip
def test_usage_errors_exit_2(mase_cli, arguments):
    found = mase_cli(*arguments)
    assert found.exit_code == 2
    assert "Usage:" in found.stderr


def test_messages_command_no_terminal(mase_cli):
    found = mase_cli(GOOD, "--target", "\x1b[31m\x9b")
    assert found.exit_code == 1
    assert not set(found.stderr) & set("\x1b\x9b")


def test_several_texts_are_numbered_and_counted(mase_cli):
    found = mase_cli(GOOD, BAD)
    assert found.exit_code == 0
    assert re.search(r"^1 ─", found.stdout, re.MULTILINE)
    assert re.search(r"^2 ─", found.stdout, re.MULTILINE)
    assert re.fullmatch(r"2 texts explained, .*\n", found.stderr)


def test_a_file_with_bad_lines_goes_on_and_exits_1(mase_cli, tmp_path):
    source, output, html = tmp_path / "in.txt", tmp_path / "new" / "out.jsonl", tmp_path / "new" / "out.html"
    source.write_bytes(b"\xef\xbb\xbfa good film\r\n\n  \nbad \xff bytes\nplease crash\nna\xc3\xafve good\n\n \n")
    found = mase_cli("-i", str(source), "-o", str(output), "--html", str(html), "--json")
    assert found.exit_code == 1
    assert found.stdout == output.read_text(encoding="utf-8")
    results = load_many(output)
    assert [type(result).__name__ for result in results] == ["Attribution", *["Failure"] * 4, "Attribution"]
    assert [results[0].text, results[5].text] == ["a good film", "naïve good"]
    failures = [result for result in results if isinstance(result, Failure)]
    assert [(one.line, one.error) for one in failures] == [
        (2, "EmptyTextError"), (3, "EmptyTextError"), (4, "InvalidTextError"), (5, "ModelError"),
    ]  # fmt: skip
    assert f"'{source}' is not UTF-8 at byte 24 (0xff)" in failures[2].message
    assert source.read_bytes()[24] == 0xFF
    lines = found.stderr.splitlines()
    assert [line.split(":")[2].strip() for line in lines[:4]] == ["line 2", "line 3", "line 4", "line 5"]
    assert "2 texts explained, 4 failed" in found.stderr
    assert f"wrote {output}" in lines
    assert f"wrote {html}" in lines
    page = html.read_text(encoding="utf-8")
    assert "2 texts explained" in page


def test_outputs_are_checked_before_any_work(mase_cli, tmp_path, monkeypatch):
    source = tmp_path / "in.txt"
    source.write_text(GOOD)
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    for option in ("-o", "--html"):
        for path in (tmp_path, source / "below"):
            found = mase_cli(GOOD, option, str(path))
            assert (found.exit_code, found.stdout) == (1, "")
            assert "cannot write" in found.stderr
        assert mase_cli("-i", str(source), option, str(source)).exit_code == 2
    assert mase_cli(GOOD, "-o", str(tmp_path / "x"), "--html", str(tmp_path / "." / "x")).exit_code == 2
    assert source.read_text() == GOOD


def test_an_older_result_outlives_a_model_that_does_not_load(mase_cli, tmp_path, monkeypatch):
    def missing(*_a, **_k):
        raise DataError("no such model")

    (tmp_path / "out.jsonl").write_text("older")
    monkeypatch.setattr("mase.models.open.load", missing)
    assert mase_cli(GOOD, "-o", str(tmp_path / "out.jsonl"), "--overwrite").exit_code == 1
    assert (tmp_path / "out.jsonl").read_text() == "older"


def test_a_page_needs_the_path_of_a_file(mase_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = mase_cli(GOOD, "--html", "-")
    assert (found.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "--html is '-', expected the path of a file" in found.stderr


def test_what_came_before_an_interruption_is_kept(mase_cli, tmp_path, monkeypatch):
    from mase.explainer import Explainer

    call, seen = Explainer.__call__, []

    def interrupted(self, text, *, target=None, against=None):
        seen.append(text)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return call(self, text, target=target)

    monkeypatch.setattr(Explainer, "__call__", interrupted)
    output, html = tmp_path / "out.jsonl", tmp_path / "out.html"
    found = mase_cli(*[GOOD] * 5, "-q", "-o", str(output), "--html", str(html))
    assert found.exit_code == 130
    assert len(load_many(output)) == 2
    assert "2 texts explained" in html.read_text(encoding="utf-8")
    assert found.stderr.endswith("interrupted\n")


def test_lines_are_written_as_they_come(mase_cli, tmp_path, monkeypatch):
    from mase.explainer import Explainer

    call, output, sizes = Explainer.__call__, tmp_path / "out.jsonl", []

    def watched(self, text, *, target=None, against=None):
        sizes.append(output.stat().st_size if output.exists() else 0)
        return call(self, text, target=target)

    monkeypatch.setattr(Explainer, "__call__", watched)
    mase_cli(*[GOOD] * 3, "-q", "-o", str(output))
    assert sizes[0] == 0
    assert 0 < sizes[1] < sizes[2] < output.stat().st_size


def test_the_page_numbers_texts_as_the_run_does(mase_cli, tmp_path):
    path = tmp_path / "page.html"
    found = mase_cli(GOOD, "crash", BAD, "--html", str(path), "-q")
    assert found.exit_code == 1
    assert re.findall(r"<h2>(\d)\. ", path.read_text(encoding="utf-8")) == ["1", "3"]
    assert "1 more text could not be explained." in path.read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    assert f"no text was explained: {other} was not written" in mase_cli("crash", "--html", str(other)).stderr
    assert not other.exists()


def test_a_file_without_a_name_is_a_usage_error(mase_cli):
    found = mase_cli("-i", "")
    assert found.exit_code == 2
    assert "got an empty file name" in found.stderr


def test_colours_may_be_forced_on_a_log_but_no_bar(mase_cli, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = mase_cli(GOOD, BAD, GOOD, "-q")
    assert "\x1b[?25l" not in found.stderr
    assert "3 texts explained" in found.stderr


def test_an_error_of_the_command_stops_at_the_first_text_only(mase_cli):
    assert mase_cli(GOOD, BAD, "--target", "positive").stderr.count("unknown target") == 1
    too_long = mase_cli(
        "one two three four five six seven", GOOD, "--method", "occlusion", "--n-samples", "5", "--json"
    )
    assert (
        "text 1: --n-samples leaves 5 for the scores, expected at least 7" in too_long.stderr
    )  # of this text, and not of the others
    assert [json.loads(line)["schema"] for line in too_long.stdout.splitlines()] == [
        "mase.error/1",
        "mase.attribution/2",
    ]
    with_failures = mase_cli("crash", "crash")
    assert with_failures.stderr.count(ModelError.__name__) == 0
    assert "text 1: " in with_failures.stderr
    assert "text 2: " in with_failures.stderr


@pytest.mark.slow
def test_bundled_model_end_to_end(tmp_path):
    found = command(
        "explain", "The cast is superb, but the plot is dull.", "--html", tmp_path / "a.html",
        env=os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "superb,⁺" in found.stdout or "superb,⁻" in found.stdout
    assert not re.search(r"\x1b\[[\d;]*(3[1-7]|38|48)", found.stdout)
    assert (tmp_path / "a.html").stat().st_size < 20_000


def test_granularity_is_an_alias_of_units(mase_cli):
    results = []
    for option in ("--units", "--granularity"):
        found = mase_cli(option, "token", "--n-samples", "40", "--json", GOOD)
        results.append(json.loads(found.stdout))
    assert results[0]["method"]["units"] == results[1]["method"]["units"] == "token"
    assert results[0]["responses"] == results[1]["responses"]


def test_several_classes_and_a_class_rather_than_another(mase_cli, tmp_path):
    every = json.loads(mase_cli(GOOD, "--json", "--target", "all").stdout)["responses"]
    assert [response["name"] for response in every] == ["1", "neg"]
    some = json.loads(mase_cli(GOOD, "--json", "--target", "neg,1").stdout)["responses"]
    assert [response["name"] for response in some] == ["neg", "1"]
    path = tmp_path / "found.csv"
    shown = mase_cli(GOOD, "--target", "1", "--against", "neg", "-o", str(path)).stdout
    assert "1 rather than neg" in shown
    assert next(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))["against"] == "neg"
    assert "expected two classes" in mase_cli(GOOD, "--target", "1", "--against", "1").stderr


def test_results_of_another_question_are_not_resumed(mase_cli, tmp_path):
    path = str(tmp_path / "found.jsonl")
    assert mase_cli(GOOD, "-o", path, "--target", "1", "--against", "neg").exit_code == 0
    assert mase_cli(GOOD, "-o", path, "--append", "--target", "1", "--against", "neg").exit_code == 0
    for others in (["--target", "all"], ["--target", "1"]):
        assert "expected" in mase_cli(GOOD, "-o", path, "--append", *others).stderr

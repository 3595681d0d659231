"""Tests of `mase_serve.corpora`: a file of results as a run."""

import codecs
import os

import numpy as np
import pytest
from tests.attributions import attribution
from tests.language_models import Parrot

import mase

pytest.importorskip("pyarrow")
from mase.attribution.json import Failure, dumps
from mase.errors import DataError
from mase_serve import corpora as module
from mase_serve.corpora import run_of_results

CONTEXT = "The cat sat. It was warm. It ran."
RESULTS = (
    attribution(),
    Failure(2, "EmptyTextError", "no word"),
    attribution("dull film", [-0.5, 0.25], label="neg", other="pos"),
)


def written(path, results=RESULTS, end="\n"):
    path.write_text("\n".join(map(dumps, results)) + end, encoding="utf-8")
    return path


def made(tmp_path, path):
    return run_of_results(path, tmp_path / "run", lambda share: None)


def test_results_become_a_run_with_all_that_they_say(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_SIZE", 2)
    shares = []
    run = run_of_results(written(tmp_path / "results.jsonl"), tmp_path / "run", shares.append)
    texts = run.texts().to_pylist()
    assert (len(run), run.parts, run.is_complete) == (3, (0, 1), True)
    assert [text["id"] for text in texts] == ["1", "2", "3"]
    assert [text["prediction"] for text in texts] == ["pos", None, "neg"]
    assert (texts[1]["error"], texts[1]["message"]) == ("EmptyTextError", "no word")
    np.testing.assert_array_equal(run.units()["score"], [*RESULTS[0].scores, -0.5, 0.25])
    assert run.manifest.asked.model == RESULTS[0].model
    assert run.manifest.asked.method == RESULTS[0].method
    assert run.manifest.labels == ("neg", "pos")
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_citations_of_several_answers_become_one_run(tmp_path):
    given = [mase.cite(Parrot(), context=CONTEXT, answer=text) for text in ("The cat sat. It ran.", "It was warm.")]
    run = made(tmp_path, written(tmp_path / "cited.jsonl", given))
    assert [text["explained_answer"] for text in run.texts().to_pylist()] == ["The cat sat. It ran.", "It was warm."]
    assert [row["response"] for row in run.responses().to_pylist()] == ["answer", "The cat sat.", "It ran.", "answer"]


@pytest.mark.parametrize("end", ["", "\n\n"])
def test_the_end_of_a_file_may_differ(tmp_path, end):
    assert len(made(tmp_path, written(tmp_path / "results.jsonl", end=end))) == 3


def test_an_incomplete_last_line_is_left_out(tmp_path):
    path = written(tmp_path / "results.jsonl", end="\n" + dumps(attribution())[:-9])
    assert len(made(tmp_path, path)) == 3


def test_a_mark_of_the_byte_order_is_no_part_of_the_first_line(tmp_path):
    path = written(tmp_path / "results.jsonl")
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert len(made(tmp_path, path)) == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"model_name": "another"}, "the model 'another'"), ({"method": {"name": "lime"}}, "the method 'lime'")],
)
def test_results_of_several_models_or_methods_are_refused(tmp_path, changed, said):
    path = written(tmp_path / "results.jsonl", [attribution(), attribution(**changed)])
    with pytest.raises(DataError, match=f"result 2 has {said}, expected .* make a file for each"):
        made(tmp_path, path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no results"),
        (b"\n\n", "has no results"),
        (b"{", "has no results"),
        (b"a text\n", "line 1 is not JSON"),
        (b'{"schema": "mase.attribution/99"}\n', "line 1 has the schema"),
        (b"\xff\n", "line 1 is not UTF-8"),
        (b"x" * 1_000, "line 1 has more than 1,000 bytes"),
    ],
)
def test_what_is_not_a_file_of_results_is_refused(tmp_path, monkeypatch, content, said):
    monkeypatch.setattr(module, "LONGEST_LINE", 1_000)
    (tmp_path / "results.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=said):
        made(tmp_path, tmp_path / "results.jsonl")


def test_what_is_not_a_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "nothing", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(DataError):
            made(tmp_path, path)

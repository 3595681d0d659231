"""Tests of `mase.serve.corpora_child`: what the process that reads a corpus writes, and what it tells."""

import re

import pytest
from tests.attributions import attribution
from tests.runs import run_of

pytest.importorskip("duckdb")
from mase.errors import OptionError
from mase.io.json import dumps
from mase.serve.corpora_child import write_corpus

TEXTS = [(attribution(), ("pos",)), (attribution("dull film", [-0.5, 0.0]), ("neg",)), (attribution(), ("pos",))]
# Enough for a word in context.
MANY = [(attribution(f"good film {row}", [0.5 + row / 100, 0.01 * (row % 3), 0.0]), ("neg",)) for row in range(21)]


def contents(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_a_run_becomes_a_report_and_is_only_read(tmp_path):
    run_of(tmp_path / "run", TEXTS + MANY, kept=["label"], part_size=4, n_texts=30)
    before, shares = contents(tmp_path / "run"), []
    (tmp_path / "made").mkdir()
    page = write_corpus(str(tmp_path / "run"), tmp_path / "made", "label", None, shares.append)
    assert contents(tmp_path / "run") == before
    assert page == tmp_path / "made" / "report" / "index.html"
    said = page.read_text("utf-8")
    assert "24 of 30 texts explained, 6 not yet computed" in said
    assert "8.3 % of 24 labelled texts are predicted right" in said
    assert "All texts with “<bdi>good</bdi>”" in said
    assert shares == sorted(shares)
    assert shares[-1] == 1  # all that is read was counted, and no more


def test_a_file_of_results_has_no_columns(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(dumps(made) + "\n" for made, _ in TEXTS), encoding="utf-8")
    (tmp_path / "made").mkdir()
    shares = []
    page = write_corpus(str(path), tmp_path / "made", "label", "group", shares.append).read_text("utf-8")
    assert "lstm-imdb on 3 texts" in page
    assert len(re.findall('#model=lstm-imdb&amp;method=mase&amp;[^"]*text=The%20cast', page)) == 2
    assert shares == sorted(shares)
    assert shares[-1] <= 1  # it is less where no word has examples


def test_a_run_without_texts_says_so(tmp_path):
    run_of(tmp_path / "run", TEXTS, kept=["label"], documents=False)
    (tmp_path / "made").mkdir()
    page = write_corpus(str(tmp_path / "run"), tmp_path / "made", None, None, lambda share: None).read_text("utf-8")
    assert "The run was made without its texts" in page
    assert "superb" not in page


def test_a_column_that_a_run_did_not_keep_is_refused(tmp_path):
    run_of(tmp_path / "run", [(attribution(), ())])
    (tmp_path / "made").mkdir()
    with pytest.raises(OptionError, match="kept no columns"):
        write_corpus(str(tmp_path / "run"), tmp_path / "made", "label", None, lambda share: None)

"""Tests of `mase_paper.experiments.journal`."""

import re

import pytest
from paper.tests.experiments.samples import HEADER, record, write

from mase.errors import DataError
from mase_paper.experiments.journal import Journal, journal_path, read_journal
from mase_paper.experiments.records import Records
from mase_paper.experiments.store import drop, read


def test_a_torn_line_is_dropped_and_the_run_goes_on(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3])
    path = journal_path(tmp_path, "lstm-imdb", "mase")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    known = read(tmp_path, "lstm-imdb")["mase"]
    assert set(known.by_number) == {0, 1}
    file = Journal(tmp_path, HEADER, known)
    assert file.done == {0, 1}
    file.append(record(2, (3, 0, 0)))
    file.close()
    assert path.read_bytes() == whole


def test_a_journal_refuses_records_of_other_weights_and_settings(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1])
    known = read(tmp_path, "lstm-imdb")["mase"]
    for key, value in [("model", {"sha256": "c"}), ("method", {"name": "mase", "sigma": 1}), ("precision", "bfloat16")]:
        with pytest.raises(DataError, match=f"with {key}.*--fresh"):
            Journal(tmp_path, HEADER | {key: value}, known)
        with pytest.raises(DataError, match=f"with {key}.*--fresh"):  # found only when it is opened
            Journal(tmp_path, HEADER | {key: value}).append(record(1))
    drop(tmp_path, "lstm-imdb", {"mase"})
    write(tmp_path, "lstm-imdb", "mase", [1], header=HEADER | {"precision": "bfloat16"})
    assert read(tmp_path, "lstm-imdb")["mase"].headers[0]["precision"] == "bfloat16"


def test_a_header_is_compared_as_it_is_read_back(tmp_path):
    for number in range(2):
        known = read(tmp_path, "lstm-imdb").get("mase", Records())
        file = Journal(tmp_path, HEADER | {"method": {"name": "mase", "shares": (0.1, 0.2)}}, known)
        file.append(record(number))
        file.close()
    assert len(read_journal(journal_path(tmp_path, "lstm-imdb", "mase")).headers) == 1


def test_a_record_that_fits_on_the_disk_in_part_only_is_an_error(tmp_path):
    resource = pytest.importorskip("resource")
    journal = Journal(tmp_path, HEADER)
    journal.append(record(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size + 5, hard))
    try:
        with pytest.raises(DataError, match=re.escape(journal.path.name)):
            journal.append(record(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        journal.close()
    assert list(read_journal(journal.path).by_number) == [0]

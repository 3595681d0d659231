"""Tests of `mase_paper.experiments.store`."""

import gzip

import pytest
from paper.tests.experiments.samples import HEADER, record, write

from mase.errors import DataError
from mase_paper.experiments.results import gather
from mase_paper.experiments.specs import parse
from mase_paper.experiments.store import RecordFile, pack, read, record_path


def test_a_torn_line_is_dropped_and_the_run_goes_on(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3])
    path = record_path(tmp_path, "lstm-imdb", "mase")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert set(read(path).by_number) == {0, 1}
    file = RecordFile(path, HEADER)
    assert file.done == {0, 1}
    file.append(record(2, (3, 0, 0)))
    file.close()
    assert path.read_bytes() == whole


def test_a_file_refuses_records_of_other_weights_and_settings(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1])
    path = record_path(tmp_path, "lstm-imdb", "mase")
    for key, value in [("model", {"sha256": "c"}), ("method", {"name": "mase", "sigma": 1}), ("precision", "bfloat16")]:
        with pytest.raises(DataError, match=f"holds records with {key}.*--fresh"):
            RecordFile(path, HEADER | {key: value})
    assert RecordFile(path, HEADER | {"precision": "bfloat16"}, fresh=True).done == set()
    assert not path.exists()


def test_another_machine_adds_a_header(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1])
    path = record_path(tmp_path, "lstm-imdb", "mase")
    file = RecordFile(path, HEADER | {"hardware": {"processor": "q", "device": "cuda"}})
    file.append(record(1))
    file.append(record(0, (7, 7, 7)))
    file.close()
    found = read(path)
    assert [header["hardware"]["processor"] for header in found.headers] == ["p", "q"]
    assert found.by_number[0].flips == (1, 0, 0)  # the first record of a text counts
    assert set(found.by_number) == {0, 1}
    (outcomes,) = gather(tmp_path, "lstm-imdb", [parse("mase")], 5).values()
    assert [(one["n_texts"], one["hardware"]["processor"]) for one in outcomes.made_on] == [(1, "p"), (1, "q")]
    (first,) = gather(tmp_path, "lstm-imdb", [parse("mase")], 1).values()
    assert [one["hardware"]["processor"] for one in first.made_on] == ["p"]


def test_a_header_is_compared_as_it_is_read_back(tmp_path):
    path = record_path(tmp_path, "lstm-imdb", "mase")
    for number in range(2):
        file = RecordFile(path, HEADER | {"method": {"name": "mase", "shares": (0.1, 0.2)}})
        file.append(record(number))
        file.close()
    assert len(read(path).headers) == 1


def test_packing_keeps_the_content_and_its_bytes(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    path = record_path(tmp_path, "lstm-imdb", "mase")
    content = path.read_bytes()
    pack(path)
    packed = path.with_name("mase.jsonl.gz")
    once = packed.read_bytes()
    assert not path.exists()
    assert gzip.decompress(once) == content
    assert set(read(path).by_number) == {0, 1}
    file = RecordFile(path, HEADER)
    file.append(record(2))
    file.close()
    assert not packed.exists()
    assert path.read_bytes().startswith(content)
    path.write_bytes(content)
    pack(path)
    assert packed.read_bytes() == once
    pack(path)  # nothing to do
    assert packed.exists()


def test_two_runs_do_not_write_one_file(tmp_path):
    pytest.importorskip("fcntl")
    write(tmp_path, "lstm-imdb", "mase", [1])
    path = record_path(tmp_path, "lstm-imdb", "mase")
    one, two = RecordFile(path, HEADER), RecordFile(path, HEADER)
    one.append(record(1))
    with pytest.raises(DataError, match="written by another run"):
        two.append(record(1))
    pack(path)
    assert path.exists()
    two.close()
    one.append(record(2))
    one.close()
    pack(path)
    assert set(read(path).by_number) == {0, 1, 2}


@pytest.mark.parametrize("content", [b"[1, 2]\n", b"{}\nno json\n", b"{}\n3\n", b"{}\n[1]\n"])
def test_other_files_are_data_errors(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError):
        read(path)
    assert read(tmp_path / "none.jsonl").by_number == {}
    (tmp_path / "bad.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot read"):
        read(tmp_path / "bad.jsonl")


def test_a_damaged_packed_file_is_told(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", list(range(50)))
    path = record_path(tmp_path, "lstm-imdb", "mase")
    pack(path)
    packed = path.with_name(path.name + ".gz")
    content = bytearray(packed.read_bytes())
    content[20] ^= 0xFF
    packed.write_bytes(bytes(content))
    with pytest.raises(DataError, match="cannot read"):
        read(path)
    with pytest.raises(DataError, match="cannot read"):
        RecordFile(path, HEADER)
    assert packed.exists()

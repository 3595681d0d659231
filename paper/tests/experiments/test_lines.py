"""Tests of `mase_paper.experiments.lines`."""

import io
import json

import pytest

from mase.errors import DataError
from mase_paper.experiments.lines import continued, read_lines, write_whole


def test_records_are_added_to_those_of_earlier_runs(tmp_path):
    path = tmp_path / "new" / "a.jsonl"
    for row in range(2):
        with continued(path, {"precision": "float32"}) as file:
            assert [one["row"] for one in file.known] == list(range(row))
            file.append([{"row": row}])
    assert read_lines(path) == [{"row": 0, "precision": "float32"}, {"row": 1, "precision": "float32"}]
    assert read_lines(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("end", ['{"row": 1, "sco', "\u00fc"])
def test_a_line_that_was_cut_off_is_made_again(tmp_path, end):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"row": 0}\n' + end.encode()[:-1])
    assert read_lines(path) == [{"row": 0}]
    with continued(path) as file:
        assert file.known == ({"row": 0},)
        file.append([{"row": 1}])
    assert read_lines(path) == [{"row": 0}, {"row": 1}]


def test_records_of_other_settings_are_neither_added_nor_read_together(tmp_path):
    path = tmp_path / "a.jsonl"
    with continued(path, {"precision": "float32"}) as file:
        file.append([{"row": 0}])
    with continued(path, {"precision": "bfloat16"}) as file, pytest.raises(DataError, match=r"float32.*bfloat16"):
        file.append([{"row": 1}])
    assert read_lines(path, same=["precision"]) == [{"row": 0, "precision": "float32"}]
    path.write_text(path.read_text() + '{"row": 1}\n')
    with pytest.raises(DataError, match=r"do not say their precision, expected .*float32"):
        read_lines(path, same=["precision"])


def test_two_runs_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "a.jsonl"
    with continued(path) as file:
        file.append([{"row": 0}])
        with pytest.raises(DataError, match="another run"), continued(path):
            pass
    with continued(path) as file:
        assert len(file.known) == 1


class NearlyFull(io.RawIOBase):
    """A file on a disk with little space: a part of what is written goes there, then nothing."""

    def __init__(self, file, space):
        super().__init__()
        self.file, self.space = file, space

    def write(self, content):
        if not self.space:
            raise OSError(28, "No space left on device")
        part = bytes(content[: self.space])
        self.space -= len(part)
        return self.file.write(part)


def test_all_is_written_or_an_error_is_raised(tmp_path):
    with (tmp_path / "a").open("wb", buffering=0) as file:
        with pytest.raises(OSError, match="No space"):
            write_whole(NearlyFull(file, 3), b"0123456")
        write_whole(NearlyFull(file, 7), b"0123456")


def test_records_that_do_not_fit_on_the_disk_are_not_there_in_part(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    with continued(path) as file:
        file.append([{"row": 0}])
        monkeypatch.setattr("mase_paper.experiments.lines.write_whole", lambda some, told: _half(some, told))
        with pytest.raises(DataError, match="No space"):
            file.append([{"row": 1}, {"row": 2}])
    assert path.read_text() == '{"row": 0}\n'


def _half(file, told):
    file.write(told[: len(told) // 2 + 2])
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("line", ["[1]", "{", "3"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"row": 0}) + f"\n{line}\n" + json.dumps({"row": 1}) + "\n")
    with pytest.raises(DataError, match="line 2"):
        read_lines(path)

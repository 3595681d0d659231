"""Hostile archives of data sets, and servers that lie about them."""

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

__all__ = ["IMDB", "REUTERS", "SERVERS", "good_imdb", "served", "tar", "whole"]

Members = Mapping[str, bytes]


def tar(members: Members, kinds: Mapping[str, bytes] | None = None, links: Mapping[str, str] | None = None) -> bytes:
    """Return a tar.gz of files; `kinds` makes some of them links, pipes or devices."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), (kinds or {}).get(name, tarfile.REGTYPE)
            member.linkname = (links or {}).get(name, "")
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def reviews(**others: bytes) -> dict[str, bytes]:
    """Return four reviews as IMDB's archive has them, and more members."""
    kept = {f"aclImdb/{split}/{label}/{i}_7.txt": b"A %s film." % label.encode() for i, (split, label) in enumerate(
        [("train", "neg"), ("train", "pos"), ("test", "neg"), ("test", "pos")])}  # fmt: skip
    return kept | others


def good_imdb() -> bytes:
    """Return an archive that the data set accepts."""
    return tar(reviews())


def _with(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> Callable[[], bytes]:
    return lambda: tar(reviews(**{name: content}), {name: kind}, {name: link})


def _story(head: str, inside: str) -> Callable[[], bytes]:
    return lambda: tar({"reut2-000.sgm": f"<REUTERS {head}>{inside}</REUTERS>".encode()})


@cache
def _zeros(size: int) -> bytes:
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb") as packed:
        for _ in range(size >> 20):
            packed.write(bytes(1 << 20))
    return file.getvalue()


def _big_member() -> bytes:
    """Return a member of 2 GB of zeros, which the archive holds in 2 MB."""
    header = tarfile.TarInfo("aclImdb/train/neg/9_1.txt")
    header.size = 2 << 30
    return gzip.compress(header.tobuf()) + _zeros(2 << 30)


_LONG = "<TOPICS><D>earn</D></TOPICS><TEXT><BODY>x</BODY></TEXT>"

IMDB: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no archive": lambda: b"<html>404</html>" * 100,
    "cut short": lambda: good_imdb()[:-20],
    "half of it": lambda: good_imdb()[: len(good_imdb()) // 2],
    "damaged within": lambda: good_imdb()[:60] + b"\xff\xff\xff" + good_imdb()[63:],
    "a tar without gzip": lambda: gzip.decompress(good_imdb()),
    "gzip within gzip": lambda: gzip.compress(good_imdb()),
    "text that is not UTF-8": _with("aclImdb/train/neg/9_1.txt", b"\xff\xfe\x00bad"),
    "number of 5,000 digits": _with("aclImdb/train/neg/" + "9" * 5000 + "_1.txt"),
    "rating of 5,000 digits": _with("aclImdb/train/neg/9_" + "1" * 5000 + ".txt"),
    "number over int64": _with("aclImdb/train/neg/" + "9" * 30 + "_1.txt"),
    "number of other digits": _with("aclImdb/train/neg/\u0663_1.txt"),
    "way out of the folder": _with("../../aclImdb/train/neg/9_1.txt"),
    "absolute path": _with("/aclImdb/train/neg/9_1.txt"),
    "link": _with("aclImdb/train/neg/9_1.txt", b"", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": _with("aclImdb/train/neg/9_1.txt", b"", tarfile.LNKTYPE, "../../etc/passwd"),
    "device": _with("aclImdb/train/neg/9_1.txt", b"", tarfile.CHRTYPE),
    "pipe": _with("aclImdb/train/neg/9_1.txt", b"", tarfile.FIFOTYPE),
    "same review twice": lambda: tar(reviews()) + tar(reviews()),
    "bomb: 2 GB of zeros": lambda: _zeros(2 << 30),
    "bomb: a review of 2 GB": _big_member,
    "another data set": lambda: tar({"reut2-000.sgm": b"<REUTERS>"}),
}  # fmt: skip
# Those whose odd member may be left out: what is left is a good archive.
IMDB_READ = (
    "way out of the folder",
    "absolute path",
    "link",
    "hard link",
    "device",
    "pipe",
    "same review twice",
    "number of other digits",
)

REUTERS: dict[str, Callable[[], bytes]] = {
    "number of 5,000 digits": _story('NEWID="' + "9" * 5000 + '"', _LONG),
    "number over int64": _story('NEWID="' + "9" * 30 + '"', _LONG),
    "never closed": lambda: tar({"reut2-000.sgm": b"<REUTERS NEWID='1'>" * 100_000}),
    "100,000 topics opened": _story('NEWID="1"', "<TOPICS>" + "<D>" * 100_000),
    "bodies opened": _story('NEWID="1"', "<TOPICS><D>earn</D></TOPICS><TEXT>" + "<BODY>" * 100_000 + "</TEXT>"),
    "control characters": _story('NEWID="1"', "<TOPICS><D>earn\x00</D></TOPICS><TEXT>\x1b[31m\x00</TEXT>"),
    "empty": lambda: tar({}),
}


def whole(handler: BaseHTTPRequestHandler, body: bytes, length: int | None, **headers: str) -> None:
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    if length is not None:
        handler.send_header("Content-Length", str(length))
    handler.end_headers()
    handler.wfile.write(body)


def _endless(handler: BaseHTTPRequestHandler) -> None:
    whole(handler, b"", None)
    while True:
        handler.wfile.write(bytes(1 << 20))


def _redirected(handler: BaseHTTPRequestHandler, place: str) -> None:
    handler.send_response(302)
    handler.send_header("Location", place)
    handler.end_headers()


def _refused(handler: BaseHTTPRequestHandler, status: int) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


Answer = Callable[[BaseHTTPRequestHandler], None]

# What a server answers; `good_imdb` is what it should.
SERVERS: dict[str, Answer] = {
    "stops halfway": lambda h: whole(h, good_imdb()[:100], len(good_imdb())),
    "stops halfway and says nothing of it": lambda h: whole(h, good_imdb()[:100], None),
    "sends more than it said": lambda h: whole(h, good_imdb() + b"more", len(good_imdb()) // 2),
    "says less than nothing": lambda h: whole(h, good_imdb()[:50], None, Content_Length="-5"),
    "says a length of 10**30": lambda h: whole(h, good_imdb()[:50], 10**30),
    "says a length in words": lambda h: whole(h, good_imdb()[:50], None, Content_Length="many"),
    "declares another encoding": lambda h: whole(h, b"no gzip at all", 14, Content_Encoding="gzip"),
    "sends a page": lambda h: whole(h, b"<html>log in</html>", 19),
    "sends nothing": lambda h: whole(h, b"", 0),
    "never stops": _endless,
    "redirects in a circle": lambda h: _redirected(h, "/again"),
    "redirects to a file": lambda h: _redirected(h, "file:///etc/passwd"),
    "redirects to nowhere": lambda h: _redirected(h, "http://"),
    "refuses": lambda h: _refused(h, 403),
    "breaks": lambda h: _refused(h, 500),
    "hangs up": lambda h: h.connection.close(),
    "speaks no HTTP": lambda h: h.wfile.write(b"220 ftp ready\r\n" * 10),
    "sends broken chunks": lambda h: whole(h, b"zz\r\nnot a length\r\n", None, Transfer_Encoding="chunked"),
    "sends a heading of 1 MB": lambda h: whole(h, b"", 0, X_Long="x" * (1 << 20)),
}


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """Run a server on this machine while the block lasts; yield the address to ask."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.close_connection = True
            try:
                answer(self)
            except OSError:  # the other side has left
                return

        def log_message(self, *_: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            return

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/archive.tar.gz"
    finally:
        server.shutdown()
        server.server_close()

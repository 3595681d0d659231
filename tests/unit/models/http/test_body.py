"""The body of an answer: the bytes that were packed, or an error before more memory is taken than allowed."""

import gzip
import tracemalloc
import zlib

import pytest

from mase.models.http.body import Body, BodyError

CONTENT = b'[{"label": "pos", "score": 0.75}]' * 50


def bare(content):
    """Deflate without a header, as some servers send it."""
    return zlib.compress(content, wbits=-15)


def followed(content):
    """Pack, and add what does not belong to it."""
    return gzip.compress(content) + b"more"


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("", bytes),
        ("identity", bytes),
        ("gzip", gzip.compress),
        (" GZIP ", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", bare),
        ("gzip, identity", gzip.compress),
        ("gzip", followed),
        ("utf-8", bytes),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_body_is_unpacked_as_it_arrives(coding, pack, size):
    body, packed = Body(coding, most=len(CONTENT)), pack(CONTENT)
    for start in range(0, len(packed), size):
        body.add(packed[start : start + size])
    assert body.content == CONTENT


@pytest.mark.parametrize(("coding", "pack"), [("", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_body_that_is_too_long(coding, pack):
    body = Body(coding, most=len(CONTENT) - 1)
    with pytest.raises(BodyError, match=r"more than 1,649 bytes, .* pass a smaller batch_size"):
        body.add(pack(CONTENT))


def test_a_bomb_takes_no_more_memory_than_allowed():
    bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(BodyError, match="more than"):
            Body("gzip", most=1_000_000).add(bomb)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_what_follows_a_packed_body_takes_no_memory():
    body = Body("gzip", most=len(CONTENT))
    body.add(gzip.compress(CONTENT))
    tracemalloc.start()
    try:
        for _ in range(100):
            body.add(bytes(100_000))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert body.content == CONTENT


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd", "gzip, br", "compress"])
def test_other_codings_are_refused(coding):
    with pytest.raises(BodyError, match=f"Content-Encoding '{coding}', expected one of gzip, deflate, or none"):
        Body(coding, most=10)


def test_bytes_that_are_not_packed():
    with pytest.raises(BodyError, match="cannot be unpacked"):
        Body("gzip", most=10).add(b"[0.1, 0.9]")

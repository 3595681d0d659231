"""Hostile archives, decompression bombs and downloads that go wrong."""

import os
from dataclasses import replace

import pytest

from tests.hostile import archives, process, streams
from tests.hostile.process import Limits

pytest.importorskip("pyarrow")

LIMITS = Limits(seconds=60, memory=1 << 30, file_size=1 << 30)
N_STORED = 4


def imdb(**changes):
    """Return the data set with the counts of four reviews and no checksum."""
    from mase_paper.datasets import IMDB

    return replace(IMDB, md5=None, n_train=2, n_test=2, n_labels=2, **changes)


def build(name, archive, folder, read):
    """Expect a typed error that leaves no file behind, or, if `read`, the table of the valid members."""
    from mase.errors import DataError
    from mase_paper.datasets import DATASETS, read_split
    from mase_paper.datasets import build as rebuilt

    dataset = imdb() if name == "imdb" else DATASETS[name]
    try:
        table = rebuilt(dataset, folder, archive=archive)
    except DataError as error:
        left = [path.name for path in folder.iterdir()]
        return f"left {left} behind" if left else f"was refused: {error}" if read == "whole" else None
    if not read:
        return "was accepted"
    n = sum(len(read_split(table, name, split)) for split in ("train", "test"))
    return None if n == N_STORED else f"{n} rows, expected {N_STORED}"


def rebuilt(dataset, name, tmp_path):
    """Judge an archive by name."""
    content = (archives.IMDB if dataset == "imdb" else archives.REUTERS)[name]()
    (tmp_path / "archive.tar.gz").write_bytes(content)
    (tmp_path / "table").mkdir()
    read = "partly" if dataset == "imdb" and name in archives.IMDB_READ else ""
    return process.call(build, dataset, tmp_path / "archive.tar.gz", tmp_path / "table", read, limits=LIMITS)


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(archives.IMDB))
def test_archives_of_reviews(name, tmp_path, judge):
    judge([(name, rebuilt("imdb", name, tmp_path))])


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(archives.REUTERS))
def test_archives_of_news(name, tmp_path, judge):
    judge([(name, rebuilt("reuters", name, tmp_path))])


@pytest.mark.parametrize("name", ["text that is not UTF-8", "number over int64", "link", "cut short"])
def test_a_sample_of_archives(name, tmp_path, judge):
    judge([(name, rebuilt("imdb", name, tmp_path))])


def test_the_good_archive_is_read(tmp_path):
    (tmp_path / "archive.tar.gz").write_bytes(archives.good_imdb())
    (tmp_path / "table").mkdir()
    assert process.call(build, "imdb", tmp_path / "archive.tar.gz", tmp_path / "table", "whole", limits=LIMITS) is None


@pytest.mark.hostile
@pytest.mark.parametrize("dataset", ["imdb", "reuters"])
@pytest.mark.parametrize("name", ["empty", "missing", "folder", "pipe", "bomb: 2 GB of zeros", "cut short"])
def test_archives_through_the_command(dataset, name, tmp_path, judge):
    path = tmp_path / "archive.tar.gz"
    if name == "folder":
        path.mkdir()
    elif name == "pipe":
        os.mkfifo(path)
    elif name != "missing":
        path.write_bytes(archives.IMDB[name]())
    arguments = ["data", "get", dataset, "--archive", path, "-o", tmp_path / "table"]
    ran = process.mase(*arguments, scratch=tmp_path / "streams", limits=LIMITS)
    left = list((tmp_path / "table").iterdir()) if (tmp_path / "table").is_dir() else []
    verdict = streams.complaint(ran) or (f"left {left} behind" if left else None)
    judge([((dataset, name), verdict or ("was accepted" if ran.code == 0 else None))])


def fetch(address, folder):
    """Judge a download: a typed error, nothing left behind."""
    from mase.errors import DataError
    from mase_paper.datasets import build as rebuilt

    try:
        rebuilt(imdb(urls=(address,)), folder)
    except DataError:
        left = [path.name for path in folder.iterdir()]
        return f"left {left} behind" if left else None
    return "was accepted"


def downloaded(name, folder):
    """Judge a server by name."""
    folder.mkdir()
    with archives.served(archives.SERVERS[name]) as address:
        return process.call(fetch, address, folder, limits=LIMITS)


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(archives.SERVERS))
def test_servers_that_lie(name, tmp_path, judge):
    judge([(name, downloaded(name, tmp_path / "table"))])


def test_a_sample_of_servers(tmp_path, judge):
    names = ("stops halfway", "sends more than it said", "redirects in a circle")
    judge([(name, downloaded(name, tmp_path / name)) for name in names])


def test_a_server_that_tells_the_truth(tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    with archives.served(
        lambda handler: archives.whole(handler, archives.good_imdb(), len(archives.good_imdb()))
    ) as address:
        assert process.call(fetch, address, folder, limits=LIMITS) == "was accepted"

"""Data sets: the tables read, the official archives rebuilt, and what is left behind when something fails (nothing)."""

import dataclasses
import hashlib
import io
import re
import sys
import tarfile
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase import datasets
from mase.datasets.archive import members
from mase.datasets.dataset import Dataset
from mase.datasets.download import build
from mase.datasets.imdb import IMDB
from mase.datasets.reuters import REUTERS, rebuild, stories
from mase.errors import DataError, MissingDependencyError, OptionError, UnknownNameError
from mase.files import replacing

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_reuters = pytest.mark.skipif(not (SHARED / REUTERS.file).is_file(), reason=f"no {REUTERS.file} in ../shared/data")


def tar_gz(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return target.getvalue()


def story(number: int, topics: list[str], text: str) -> str:
    """Return one story, marked up as the SGML files are."""
    tags = "".join(f"<D>{topic}</D>" for topic in topics)
    head = f'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="{number + 7}" NEWID="{number}">\n<DATE>1-JAN-1987</DATE>\n'
    unknown = "<PLACES><D>atlantis</D></PLACES>\n<UNKNOWN>\n&#5;&#5;&#5;C T\n&#22;f0704&#31;reute\n</UNKNOWN>\n"
    return f"{head}<TOPICS>{tags}</TOPICS>\n{unknown}{text}\n</REUTERS>\n"


def sgml(*parts: str) -> bytes:
    return ('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(parts)).encode("latin-1")


def small(dataset: Dataset, archive: bytes, n_train: int, n_test: int, n_labels: int) -> Dataset:
    md5 = hashlib.md5(archive).hexdigest()
    return dataclasses.replace(dataset, md5=md5, n_train=n_train, n_test=n_test, n_labels=n_labels)


def answer_with(archive: bytes) -> httpx.Response:
    return httpx.Response(200, stream=httpx.ByteStream(archive), headers={"Content-Length": str(len(archive))})


def serving(archive: bytes) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda request: answer_with(archive)))


REVIEWS = {
    "aclImdb/README": b"not a review",
    "aclImdb/train/unsup/0_0.txt": b"no label",
    "aclImdb/train/pos/10_9.txt": b" A duck<br /><br />in a hat. ",
    "aclImdb/train/pos/9_10.txt": "Un chef-d'œuvre".encode(),
    "aclImdb/train/neg/0_1.txt": b"A hat without a duck.",
    "aclImdb/test/neg/3_4.txt": b"Dull.",
    "aclImdb/test/pos/4_7.txt": b"Fine.",
    "aclImdb/train/pos/../../../evil_1.txt": b"outside",
}
IMDB_ROWS = [
    {"split": "test", "id": 3, "label": "neg", "rating": 4, "text": "Dull."},
    {"split": "test", "id": 4, "label": "pos", "rating": 7, "text": "Fine."},
    {"split": "train", "id": 0, "label": "neg", "rating": 1, "text": "A hat without a duck."},
    {"split": "train", "id": 9, "label": "pos", "rating": 10, "text": "Un chef-d'œuvre"},
    {"split": "train", "id": 10, "label": "pos", "rating": 9, "text": " A duck<br /><br />in a hat. "},
]


# --- rebuilding -----------------------------------------------------------------------------------------------------


def test_imdb_rows_are_sorted_and_raw_and_the_unlabelled_part_is_left_out():
    assert IMDB.rebuild(io.BytesIO(tar_gz(REVIEWS))) == IMDB_ROWS


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        pytest.param(
            "<TEXT>&#2;\n<TITLE>DUCK CO &lt;DUCK.O> SEES NET</TITLE>\n<AUTHOR>    By A. Hen, Reuters</AUTHOR>\n"
            "<DATELINE>    POND, Jan 1 - </DATELINE><BODY>Duck &amp; Co said it\nwill   swim.\n    It told Reuters.\n Reuter\n"
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
    rows = rebuild(io.BytesIO(tar_gz(files)))

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
    assert rebuild(io.BytesIO(tar_gz({"reut2-000.sgm": sgml(*parts)}))) == expected


def test_archive_cut_short_is_an_error():
    whole = tar_gz({"a.txt": bytes(np.random.default_rng(0).integers(0, 256, 100_000, dtype=np.uint8))})
    assert len(list(members(io.BytesIO(whole), ".*"))) == 1
    for broken in (whole[: len(whole) // 2], b"<html>404</html>", b""):
        with pytest.raises(DataError, match=r"not a whole tar\.gz"):
            list(members(io.BytesIO(broken), ".*"))


# --- downloading ----------------------------------------------------------------------------------------------------


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
    with pytest.raises(DataError, match=r"archive='path/to/it'") as caught:
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


# --- reading --------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.Table.from_pylist(IMDB_ROWS), tmp_path / "imdb.parquet")
    return tmp_path


def test_missing_table_says_where_it_looked_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(tmp_path / "environment"))
    monkeypatch.setattr(datasets.dataset, "user_cache_dir", lambda name: str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"mase\.datasets\.get\('imdb'\)") as caught:
        datasets.load("imdb", "train")
    assert re.search(r"imdb\.parquet in .*environment or .*cache", str(caught.value))
    with pytest.raises(DataError, match="given") as caught:
        datasets.load("imdb", "train", tmp_path / "given")
    assert "environment" not in str(caught.value)


def test_table_is_found_by_variable_then_in_the_cache(table, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(table))
    monkeypatch.setattr(datasets.dataset, "user_cache_dir", lambda name: str(table / "absent"))
    assert len(datasets.load("imdb", "test")) == 2
    monkeypatch.delenv("MASE_DATA")
    with pytest.raises(DataError):
        datasets.load("imdb", "test")
    monkeypatch.setattr(datasets.dataset, "user_cache_dir", lambda name: str(table))
    assert len(datasets.load("imdb", "test")) == 2


def test_a_given_folder_without_the_table_is_not_replaced_by_another(table, tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(table))
    with pytest.raises(DataError):
        datasets.load("imdb", "test", tmp_path / "elsewhere")


def test_unknown_names(table):
    with pytest.raises(UnknownNameError, match="did you mean 'imdb'"):
        datasets.load("imbd", "train", table)
    with pytest.raises(OptionError, match="no split 'dev', expected one of: test, train, validation"):
        datasets.load("imdb", "dev", table)


def test_unreadable_table(tmp_path):
    path = tmp_path / "imdb.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="expected a Parquet table"):
        datasets.load("imdb", "train", tmp_path)
    pq.write_table(pa.table({"split": ["train"], "text": ["a"]}), path)
    with pytest.raises(DataError, match="columns split, id, label, text"):
        datasets.load("imdb", "train", tmp_path)


def test_without_pyarrow_nothing_is_downloaded(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for act in (lambda: datasets.load("imdb", "train", table), lambda: datasets.get("imdb", tmp_path / "cache")):
        with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[data\]'"):
            act()


@needs_reuters
@pytest.mark.parametrize("name", list(datasets.DATASETS))
def test_real_tables_count_what_a_rebuild_must(name):
    dataset = datasets.DATASETS[name]
    train, test = (datasets.load(name, split, SHARED) for split in ("train", "test"))
    assert (len(train), len(test), len(set(train.labels))) == (dataset.n_train, dataset.n_test, dataset.n_labels)
    assert len(set(train.ids)) == len(train)
    assert set(test.labels) <= set(train.labels)


def test_validation_is_the_part_of_train_that_was_not_trained_on(tmp_path):
    from mase.datasets import load, split_off
    from mase.datasets.table import write_rows

    rows = [{"split": "train", "id": i, "label": "pos", "rating": 9, "text": f"text {i}"} for i in range(40)]
    write_rows(tmp_path / "imdb.parquet", rows)
    train, validation = (load("imdb", split, tmp_path) for split in ("train", "validation"))
    held = split_off(40, 0.1)[1]
    assert validation.split == "validation"
    assert validation.texts == tuple(train.texts[row] for row in held)
    assert validation.ids == tuple(train.ids[row] for row in held)
    assert validation.sha256 == train.sha256
    assert len(validation) == 4

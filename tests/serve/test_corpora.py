"""Tests of `mase_serve.corpora`: when a corpus is read, and what is shown meanwhile."""

import os
import re
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.attributions import attribution
from tests.runs import run_of
from tests.serve.clients import browser
from tests.serve.corpora import POLICY, settled

from mase.attribution.json import dumps
from mase.errors import OptionError
from mase.render.html import checksum
from mase_serve import corpora as module
from mase_serve.corpora import Corpora, Message, Preparing, Reading, Unavailable, Version, routes, write_corpus

pytest.importorskip("duckdb")


@contextmanager
def opened(*sources, **columns):
    corpora = Corpora(sources, **columns)
    try:
        yield list(corpora.by_number.values())
    finally:
        corpora.close()


@pytest.fixture
def run(tmp_path):
    """Return the folder of a run, as far as the server itself looks at it."""
    (tmp_path / "run" / "texts").mkdir(parents=True)
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "run" / "texts" / "part-00000.parquet").touch()
    return tmp_path / "run"


def grow(run, number):
    (run / "texts" / f"part-{number:05}.parquet").touch()


def until_half(corpus):
    while corpus.share != 0.5:
        time.sleep(0.002)


def test_a_corpus_is_read_when_somebody_looks_and_once(reader, run):
    with opened(run) as (corpus,):
        assert reader.sources == []
        assert corpus.share is None
        reader.go.clear()
        assert isinstance(corpus.look(), Preparing)
        until_half(corpus)
        assert corpus.look() == Preparing(0.5, None)
        reader.go.set()
        first = settled(corpus)
        assert (first.number, corpus.share) == (1, None)
        assert corpus.look() is first
        assert reader.sources == [os.fspath(run)]


def test_a_run_that_grew_is_read_again_and_the_page_before_stays(reader, run, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 0.0)
    with opened(run) as (corpus,):
        versions = [settled(corpus)]
        for number in (1, 2):
            grow(run, number)
            reader.begin.clear()
            former = corpus.look()
            assert former == Preparing(0.0, versions[-1])
            assert (versions[-1].folder / "index.html").is_file()
            reader.begin.set()
            versions.append(settled(corpus))
        assert [version.number for version in versions] == [1, 2, 3]
        assert [version.folder.exists() for version in versions] == [False, True, True]
        assert [corpus.version(name) for name in ("1", "2", "02", "x")] == [None, versions[1], None, None]


@pytest.mark.parametrize("change", ["manifest", "gone", "file"])
def test_a_corpus_that_changed_is_read_again(reader, run, monkeypatch, change):
    monkeypatch.setattr(module, "FRESH", 0.0)
    source = run / "run.json" if change == "file" else run
    with opened(source) as (corpus,):
        settled(corpus)
        if change == "gone":
            run.rename(run.parent / "other")
        else:
            (run / "run.json").write_text('{"changed": true}')
        assert settled(corpus).number == 2


def test_a_run_that_grows_faster_than_it_is_read_is_shown(reader, run, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 3600.0)
    with opened(run) as (corpus,):
        first = settled(corpus)
        grow(run, 1)
        assert corpus.look() is first


def test_a_corpus_that_grew_while_it_was_read_is_not_taken_for_new(reader, run, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 0.0)
    with opened(run) as (corpus,):
        reader.go.clear()
        corpus.look()
        until_half(corpus)
        grow(run, 1)
        reader.go.set()
        while corpus.share is not None:
            time.sleep(0.002)
        assert isinstance(corpus.look(), Preparing)
        assert settled(corpus).number == 2


@pytest.mark.parametrize(("name", "error"), [("bad", "DataError"), ("unstartable", "WorkerError")])
def test_a_failure_is_told_once_and_then_tried_again(reader, run, tmp_path, name, error):
    with opened(tmp_path / name, run) as (bad, good):
        assert isinstance(settled(good), Version)
        for _ in range(2):
            found = settled(bad)
            assert isinstance(found, Unavailable)
            assert found.error == error
        assert isinstance(good.look(), Version)


def test_one_corpus_is_read_at_a_time(reader, tmp_path):
    with opened(tmp_path / "a", tmp_path / "b") as (first, second):
        reader.go.clear()
        first.look()
        until_half(first)
        assert [second.look() for _ in range(3)] == [Preparing(0.0, None)] * 3
        time.sleep(0.05)
        assert len(reader.sources) == 1
        reader.go.set()
        settled(second)
        assert len(reader.sources) == 2


def test_an_end_of_the_server_ends_the_reading_and_deletes_all(reader, run):
    corpora = Corpora([run, run])
    first, second = corpora.by_number.values()
    place = settled(first).folder.parents[2]
    reader.go.clear()
    second.look()
    until_half(second)
    corpora.close()
    assert not place.exists()
    assert run.exists()


def test_the_temporary_folder_is_for_the_user_only(reader, run):
    with opened(run) as (corpus,):
        assert settled(corpus).folder.parents[2].stat().st_mode & 0o77 == 0


def test_entries_have_the_names_that_were_typed():
    corpora = Corpora([Path("a") / "run", "b.jsonl"])
    assert corpora.entries == [
        {"name": os.path.join("a", "run"), "href": "/corpora/0/"},  # noqa: PTH118
        {"name": "b.jsonl", "href": "/corpora/1/"},
    ]
    corpora.close()


def test_a_name_that_is_not_valid_unicode_can_be_in_a_page():
    """A folder whose name is not UTF-8 has lone surrogates in Python."""
    corpora = Corpora(["caf\udce9"])
    (entry,) = corpora.entries
    assert entry["name"].encode().startswith(b"caf")
    corpora.close()


TEXTS = [(attribution(), ("pos",)), (attribution("dull film", [-0.5, 0.0]), ("neg",)), (attribution(), ("pos",))]


# Enough for a word in context.
MANY = [(attribution(f"good film {row}", [0.5 + row / 100, 0.01 * (row % 3), 0.0]), ("neg",)) for row in range(21)]


def contents(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_run_becomes_a_report_and_is_only_read(tmp_path):
    run_of(tmp_path / "run", TEXTS + MANY, kept=["label"], part_size=4, n_texts=30)
    before, shares = contents(tmp_path / "run"), []
    (tmp_path / "made").mkdir()
    page = write_corpus(str(tmp_path / "run"), tmp_path / "made", "label", None, shares.append)
    assert contents(tmp_path / "run") == before
    assert page == tmp_path / "made" / "report" / "index.html"
    said = page.read_text("utf-8")
    assert "24 of 30 texts explained, 6 not yet computed" in said
    assert "8.3 % of 24 labelled texts are predicted right" in said
    assert "All texts with “<bdi>good</bdi>”" in said
    assert shares == sorted(shares)
    assert shares[-1] == 1  # all that is read was counted, and no more


@pytest.mark.slow
def test_a_file_of_results_has_no_columns(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(dumps(made) + "\n" for made, _ in TEXTS), encoding="utf-8")
    (tmp_path / "made").mkdir()
    shares = []
    page = write_corpus(str(path), tmp_path / "made", "label", "group", shares.append).read_text("utf-8")
    assert "lstm-imdb on 3 texts" in page
    assert len(re.findall('#model=lstm-imdb&amp;method=mase[^"]*text=The%20cast', page)) == 2
    assert shares == sorted(shares)
    assert shares[-1] <= 1  # it is less where no word has examples


@pytest.mark.slow
def test_a_run_without_texts_says_so(tmp_path):
    run_of(tmp_path / "run", TEXTS, kept=["label"], documents=False)
    (tmp_path / "made").mkdir()
    page = write_corpus(str(tmp_path / "run"), tmp_path / "made", None, None, lambda share: None).read_text("utf-8")
    assert "The run was made without its texts" in page
    assert "superb" not in page


def test_a_column_that_a_run_did_not_keep_is_refused(tmp_path):
    run_of(tmp_path / "run", [(attribution(), ())])
    (tmp_path / "made").mkdir()
    with pytest.raises(OptionError, match="kept no columns"):
        write_corpus(str(tmp_path / "run"), tmp_path / "made", "label", None, lambda share: None)


@pytest.fixture
def corpora(reader, tmp_path):
    """Return a file that can be read, and one that cannot."""
    (tmp_path / "good").touch()
    made = Corpora([tmp_path / "good", f"{tmp_path}/bad <i>\x1b"])
    yield made
    made.close()


@pytest.fixture
def client(corpora):
    """Return a client of a server with these corpora."""
    made = browser(corpora=corpora.entries, routes=routes(corpora))
    made.follow_redirects = False
    return made


def shown(client, corpus):
    """Return the answer when the corpus was read."""
    client.get(f"/corpora/{corpus}/")
    while client.get(f"/corpora/{corpus}/share").json()["share"] is not None:
        time.sleep(0.002)
    return client.get(f"/corpora/{corpus}/")


def check_headers(answer):
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_corpus_is_a_page_with_its_list(client):
    answer = shown(client, 0)
    assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, "/corpora/0/1/")
    page = client.get("/corpora/0/1/")
    assert (page.status_code, page.text) == (200, "page 1")
    assert page.headers["content-security-policy"] == f"{POLICY}; frame-ancestors 'none'"
    assert page.headers["content-type"].startswith("text/html")
    slice_ = client.get("/corpora/0/1/list/texts-00000.js")
    assert slice_.text == "mase.texts(0,[])"
    assert slice_.headers["content-type"].startswith("text/javascript")
    for found in (answer, page, slice_):
        check_headers(found)


def test_a_page_that_is_not_ready_says_so_and_allows_its_own_script_only(client, reader):
    reader.go.clear()
    answer = client.get("/corpora/0/")
    check_headers(answer)
    script = re.search("<script>(.*)</script>", answer.text, re.DOTALL)[1]
    style = re.search("<style>(.*)</style>", answer.text, re.DOTALL)[1]
    assert "<progress" in answer.text
    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; style-src '{checksum(style)}'; script-src '{checksum(script)}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert client.get("/corpora/0/").status_code == 200
    reader.go.set()


def test_a_failure_is_shown_on_its_page_and_escaped(client):
    answer = shown(client, 1)
    check_headers(answer)
    assert answer.status_code == 422
    assert "DataError: &lt;script&gt;it␛ is bad&lt;/script&gt;" in answer.text
    assert "bad &lt;i&gt;␛" in answer.text
    assert "<script" not in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    assert shown(client, 0).status_code == 303


def test_a_page_that_is_loaded_again_is_that_of_today(client, reader, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 0.0)
    shown(client, 0)
    assert client.get("/corpora/0/1/").status_code == 200
    (tmp_path / "good").write_text("more")
    reader.go.clear()
    answer = client.get("/corpora/0/1/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/corpora/0/")
    assert 'href="/corpora/0/1/index.html"' in client.get("/corpora/0/").text
    assert client.get("/corpora/0/1/index.html").text == "page 1"
    assert client.get("/corpora/0/1/list/texts-00000.js").status_code == 200
    reader.go.set()
    assert shown(client, 0).headers["location"] == "/corpora/0/2/"


@pytest.mark.parametrize(
    "path",
    [
        "2/", "-1/", "00/", "x/", "9" * 5_000 + "/", "0/2/index.html", "0/01/index.html", "0/1/nothing",
        "0/1/list/index.html", "0/1/list/texts-00001.js", "0/1/list/..%2Findex.html", "0/1/list/%2e%2e/index.html",
        "0/1/list/..", "0/1/../../../etc/passwd", "0/1/list/%00.js", "0/1/list/", "0/1/list/texts-00000.js%00",
    ],
)  # fmt: skip
def test_nothing_else_has_an_address(client, path):
    shown(client, 0)
    assert client.get(f"/corpora/{path}").status_code in (303, 307, 404)
    answer = client.get(f"/corpora/{path}", follow_redirects=True)
    assert answer.status_code == 404 or answer.text == "page 1"


def test_nothing_but_slices_is_served_from_the_list(client, corpora):
    shown(client, 0)
    (corpora.by_number["0"].newest.folder / "list" / "notes.txt").touch()
    assert client.get("/corpora/0/1/list/notes.txt").status_code == 404


def test_a_page_of_a_former_server_leads_to_that_of_today(client):
    shown(client, 0)
    assert client.get("/corpora/0/7/").headers["location"] == "/corpora/0/"


def test_the_page_of_the_workbench_leads_to_the_corpora(client, tmp_path):
    page = client.get("/api/workbench").text
    (address,) = re.findall(f'<a href="(/[^/]*/corpora/0/)">{tmp_path}/good</a>', page)
    del client.headers["Authorization"]  # a link has none
    assert client.get(address).status_code == 200


def test_who_has_no_token_reads_nothing(client):
    shown(client, 0)
    del client.headers["Authorization"]
    assert client.get("/key/corpora/0/").status_code == 403
    for path in ("", "share", "1/", "1/index.html", "1/list/texts-00000.js"):
        assert client.get(f"/corpora/0/{path}").status_code == 403


def test_corpora_are_only_read(client):
    assert [client.request(method, "/corpora/0/").status_code for method in ("POST", "PUT", "DELETE")] == [405] * 3


@pytest.mark.slow
def test_a_process_reads_a_corpus_and_runs_nothing_that_lies_about(tmp_path, monkeypatch):
    run_of(tmp_path / "run", [(attribution(), ())])
    for name in ("signal", "duckdb", "mase", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')")
    (tmp_path / "made").mkdir()
    monkeypatch.chdir(tmp_path)
    shares = []
    last = Reading("run", tmp_path / "made", None, None).follow(shares.append)
    assert (last.share, last.error) == (1.0, None)
    assert re.search("script-src 'nonce-[0-9a-f]{32}'", last.policy)
    assert shares[-1] == 1.0
    assert not (tmp_path / "canary").exists()
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["report"]


@pytest.mark.slow
def test_a_corpus_that_cannot_be_read_is_a_typed_error(tmp_path):
    last = Reading("nothing.jsonl", tmp_path, None, None).follow(lambda share: None)
    assert last == Message(error="DataError", message="cannot read 'nothing.jsonl': No such file or directory")


def test_a_process_that_is_killed_is_an_error(tmp_path):
    reading = Reading("nothing", tmp_path, None, None)
    reading.end()
    last = reading.follow(lambda share: None)
    assert last.error == "WorkerError"
    assert "SIGKILL" in last.message

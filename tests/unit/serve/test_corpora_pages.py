"""Tests of `mase.serve.corpora_pages`: the pages of corpora, and what their headers allow."""

import re
import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("duckdb")
from tests.unit.serve.clients import browser
from tests.unit.serve.corpora import POLICY

from mase.render.templates import checksum
from mase.serve import corpora as module
from mase.serve.corpora import Corpora
from mase.serve.corpora_pages import routes


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

"""Tests of `mase_serve.security`: who may ask the server. No model is needed: nothing may reach the application."""

import pytest

pytest.importorskip("starlette")

from starlette.routing import Route
from starlette.testclient import TestClient
from tests.serve.clients import bearer

from mase_serve.app import application
from mase_serve.security import Gate, allowed_names

PORT = 8765
OWN = f"http://127.0.0.1:{PORT}"
POST = ("POST", "/api/explanations")


@pytest.fixture(scope="module")
def gate():
    return Gate(allowed_names("127.0.0.1"), PORT)


@pytest.fixture(scope="module")
def app(gate):
    return application([], gate)


@pytest.fixture
def stranger(app):
    """A browser that has no token."""
    return TestClient(app, base_url=OWN, follow_redirects=False)


@pytest.fixture
def client(app, gate):
    """The browser that was given the token."""
    return TestClient(app, base_url=OWN, follow_redirects=False, headers=bearer(gate.token))


def ask(client, method, path, headers):
    return client.request(method, path, headers=headers, json={} if method == "POST" else None)


def test_the_first_address_sets_nothing_that_another_port_is_sent(stranger, gate):
    answer = stranger.get("/", params={"token": gate.token})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert answer.text == stranger.get("/").text  # the same for everybody
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not any(secret in answer.text + repr(gate) for secret in (gate.token, gate.key))


def test_it_is_known_when_the_token_was_used():
    gate = Gate(allowed_names("127.0.0.1"), PORT)
    client = TestClient(application([], gate), base_url=OWN)
    client.get("/api/models", headers=bearer("wrong"))
    assert not gate.visited.is_set()
    client.get("/api/models", headers=bearer(gate.token))
    assert gate.visited.is_set()


PRIVATE = ("/api/models", "/api/workbench", "/corpora/0/", "/nothing", "/api/x", "/x/corpora/0/", "//corpora/0/")


@pytest.mark.parametrize("path", PRIVATE)
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Bearer {token}x", "{token}", "Bearer ü"])
def test_without_the_token_nothing_is_shown(stranger, gate, path, header):
    headers = {"Authorization": header.format(token=gate.token).encode()}
    assert stranger.get(path, headers=headers if header else {}).status_code == 403
    assert stranger.get(path, headers=headers | {"Cookie": f"mase-{PORT}={gate.token}"}).status_code == 403
    assert stranger.get(path, params={"token": gate.token}).status_code == 403


def test_the_key_of_corpora_opens_nothing_else(stranger, gate):
    assert stranger.get(f"/{gate.key}/api/models").status_code == 403
    assert stranger.get("/api/models", headers=bearer(gate.key)).status_code == 403
    assert stranger.get(f"/{gate.token}/corpora/0/").status_code == 403
    assert stranger.get(f"/{gate.key}/corpora/0/").status_code == 404  # it reached the application


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8766",
        "localhost.evil.example:8765", "127.0.0.1.evil.example:8765", "evil.example@127.0.0.1:8765",
        "127.0.0.1:8765@evil.example", "10.0.0.1:8765",
        "0.0.0.0:8765", "[::2]:8765", "localhost:8765/x", "localhost:x", "[::1", "", "127.0.0.1:8765, evil.example",
    ],
)  # fmt: skip
def test_a_name_that_leads_here_by_rebinding_is_refused(client, gate, host):
    for method, path in (("GET", "/"), ("GET", "/api/models"), POST):
        answer = ask(client, method, path, {"Host": host, "Origin": f"http://{host}"})
        assert answer.status_code == 403
    assert client.get(f"/{gate.key}/corpora/0/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_the_names_of_the_loopback_address_are_its_own(stranger, gate, host):
    headers = {"Host": host} | bearer(gate.token)
    assert stranger.get("/api/models", headers=headers).status_code == 200
    posted = ask(stranger, *POST, headers | {"Origin": f"http://{host}"})
    assert posted.status_code == 400  # it reached the application, which misses the text


FOREIGN = (
    "http://evil.example",
    "null",
    "http://127.0.0.1:8766",
    "https://127.0.0.1:8765",
    "http://localhost:8765",
    "",
)


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize(
    ("method", "path"), [POST, ("DELETE", "/api/explanations/x"), ("GET", "/"), ("GET", "/api/models")]
)
def test_a_request_of_another_origin_is_refused(client, method, path, origin):
    assert ask(client, method, path, {"Origin": origin}).status_code == 403


@pytest.mark.parametrize(("method", "path"), [POST, ("DELETE", "/api/explanations/x"), ("PUT", "/"), ("OPTIONS", "/")])
def test_a_request_that_changes_something_needs_an_origin(client, method, path):
    assert ask(client, method, path, {}).status_code == 403
    assert ask(client, method, path, {"Origin": OWN}).status_code in (400, 404, 405)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "other"])
def test_a_request_of_another_site_is_refused(client, gate, site):
    assert client.get("/api/models", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert ask(client, *POST, {"Origin": OWN, "Sec-Fetch-Site": site}).status_code == 403
    first = client.get("/", params={"token": gate.token}, headers={"Sec-Fetch-Site": site})
    assert first.status_code == 200  # a terminal in a browser shows the first address as a link


def test_an_address_that_is_typed_is_of_no_site(client):
    assert client.get("/", headers={"Sec-Fetch-Site": "none"}).status_code == 200
    assert ask(client, *POST, {"Origin": OWN, "Sec-Fetch-Site": "none"}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/models", "/static/style.css", "/nothing", "/api/explanations/x/events"])
def test_every_answer_has_the_headers(client, stranger, path):
    for answer in (client.get(path), client.get(path, headers={"Host": "evil.example"})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert (policy["default-src"], policy["frame-ancestors"], policy["script-src"]) == (
            "'none'",
            "'none'",
            "'self'",
        )
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers


def test_an_error_of_the_server_has_the_headers_and_no_traceback(gate):
    def fail(request):
        raise RuntimeError("a secret")

    app = application([], gate, routes=[Route("/corpora/x", fail)])
    client = TestClient(app, base_url=OWN, headers=bearer(gate.token), raise_server_exceptions=False)
    answer = client.get("/corpora/x")
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "RuntimeError"
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../security.py", "/static/%2e%2e/security.py", "/static/..%2fsecurity.py", "/static/%2fetc%2fpasswd",
        "/static//etc/passwd", "/static/.", "/static/", "/static/workbench.js%00", "/static/__init__.py",
        "/..%2f..%2fetc/passwd", "/corpora/..%2f/",
    ],
)  # fmt: skip
def test_no_address_leads_to_another_file(client, path):
    assert client.get(path).status_code in (404, 307)
    assert "root:" not in client.get(path).text


def test_another_address_allows_its_names_and_any_number():
    gate = Gate(allowed_names("box.example"), 80, any_address=True)
    app = application([], gate)
    for host, status in (
        ("box.example", 200), ("192.0.2.7", 200), ("[2001:db8::1]", 200), ("localhost:80", 200), ("evil.example", 403),
    ):  # fmt: skip
        client = TestClient(app, base_url="http://box.example")
        headers = {"Host": host} | bearer(gate.token)
        assert client.get("/api/models", headers=headers).status_code == status

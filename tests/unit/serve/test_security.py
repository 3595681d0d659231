"""Tests of `mase.serve.security`: who may ask the server. No model is needed: nothing may reach the application."""

import pytest

pytest.importorskip("starlette")

from starlette.routing import Route
from starlette.testclient import TestClient

from mase.serve.app import application
from mase.serve.security import Gate, allowed_names

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
    """A browser that has no cookie."""
    return TestClient(app, base_url=OWN, follow_redirects=False)


@pytest.fixture
def client(stranger, gate):
    """The browser that was given the first address."""
    assert stranger.get("/", params={"token": gate.token}).status_code == 200
    return stranger


def ask(client, method, path, headers):
    return client.request(method, path, headers=headers, json={} if method == "POST" else None)


def test_the_token_moves_to_a_cookie_and_leaves_the_address(stranger, gate):
    answer = stranger.get("/", params={"token": gate.token})
    # No redirect: that would reach the server without the cookie after a link of another site.
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert '<meta http-equiv=refresh content="0; url=/">' in answer.text
    assert gate.token not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name == f"mase-{PORT}={gate.token}"
    assert sorted(attribute.lower() for attribute in attributes) == ["httponly", "path=/", "samesite=strict"]
    assert stranger.get("/").status_code == 200
    assert gate.token not in repr(gate)


def test_the_token_of_the_browser_that_is_started_is_good_for_one_visit(stranger, gate):
    token = gate.once()
    assert token != gate.token
    assert stranger.get("/", params={"token": token}).status_code == 200
    assert stranger.get("/api/models").status_code == 200
    stranger.cookies.clear()
    assert stranger.get("/", params={"token": token}).status_code == 403
    assert stranger.get("/", headers={"Cookie": f"mase-{PORT}={gate.once()}"}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/models", "/static/workbench.js", "/corpora/0/", "/nothing", "/api/x"])
@pytest.mark.parametrize("token", [None, "", "wrong", "ü"])
def test_without_the_token_nothing_is_shown(stranger, path, token):
    answer = stranger.get(path, params={} if token is None else {"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/api/models", "/static/workbench.js"])
def test_the_token_in_another_address_is_nothing(stranger, gate, path):
    assert stranger.get(path, params={"token": gate.token}).status_code == 403
    assert stranger.post("/", params={"token": gate.token}, headers={"Origin": OWN}).status_code == 403
    assert stranger.get("/", params={"token": [gate.token, "x"]}).status_code == 403


@pytest.mark.parametrize(
    "cookie", ["", "mase-8765=", "mase-8765=wrong", "mase-8766={token}", "token={token}", "mase-8765={token}x", "ü"]
)
def test_a_wrong_cookie(stranger, gate, cookie):
    headers = {"Cookie": cookie.format(token=gate.token).encode()}
    assert stranger.get("/api/models", headers=headers).status_code == 403


@pytest.mark.parametrize("cookie", ['a="; b; =c; {own}', "mase-8765=old; {own}", "{own}; mase-8765=x", "a=b;{own};c"])
def test_other_cookies_are_no_obstacle(stranger, gate, cookie):
    headers = {"Cookie": cookie.format(own=f"mase-{PORT}={gate.token}")}
    assert stranger.get("/api/models", headers=headers).status_code == 200


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
    assert client.get("/", params={"token": gate.token}, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_the_names_of_the_loopback_address_are_its_own(stranger, gate, host):
    headers = {"Host": host, "Cookie": f"mase-{PORT}={gate.token}"}
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
    """A page on another port of this machine is of the same site, and its requests would have the cookie."""
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
    client = TestClient(app, base_url=OWN, cookies={gate.cookie: gate.token}, raise_server_exceptions=False)
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
        headers = {"Host": host, "Cookie": f"mase-80={gate.token}"}
        assert client.get("/api/models", headers=headers).status_code == status

"""The body of an answer: the bytes that were packed, or an error before more memory is taken than allowed."""

import gzip
import html
import json
import socket
import threading
import time
import tracemalloc
import zlib
from urllib.parse import quote, quote_plus, unquote_plus

import numpy as np
import pytest
from tests.forks import forked
from tests.servers import content, dropped, probabilities, served, status

from mase.errors import MaseError, NonFiniteError, OptionError, ServiceError
from mase.models import JSONService
from mase.models.http.client import Background, Body, BodyError, Client, Connection, retry_after

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


TEXTS = [f"a superb film number {index}" if index % 2 else f"dull {index}" for index in range(20)]


TOKEN = "s3cr3t/of-the_user"


@pytest.fixture
def server():
    with served({"POST /classify": lambda body: probabilities(body["texts"])}) as (url, double):
        yield url + "/classify", double


def service(url, **options):
    return JSONService(url, request={"texts": "$inputs"}, **{"batch_size": 4, **options})


def right(model):
    return np.allclose(model.predict(TEXTS), probabilities(TEXTS), atol=1e-12)


@pytest.mark.parametrize(
    "faults",
    [
        [dropped] * 3,
        [status(429, {"Retry-After": "0"}), status(503), status(502, body=b"<html>"), status(504)],
        [lambda handler: setattr(handler, "close_connection", True)],
    ],
    ids=["dropped connections", "statuses that pass", "no answer at all"],
)
def test_what_passes_is_tried_again(server, faults):
    url, double = server
    double.faults = list(faults)
    assert right(service(url))
    assert len(double.requests) == 5 + len(faults)


@pytest.mark.slow
def test_retry_after_holds_for_all_requests(server):
    url, double = server
    double.faults = [status(429, {"Retry-After": "1"})]
    model = service(url, concurrency=1)
    start = time.monotonic()
    assert right(model)
    assert 1 <= time.monotonic() - start < 200
    double.faults = [status(429, {"Retry-After": "3600"})]
    with pytest.raises(ServiceError, match="3,600 seconds, which is too long"):
        model.predict(TEXTS[:1])


@pytest.mark.parametrize(
    ("fault", "message", "n_requests"),
    [
        (status(500), "answered 500 .*as told", 1),
        (status(503), r"answered 503 .*\(2 times\)", 2),
        (dropped, r"dropped the connection .*\(2 times\)", 2),
        (status(401), "pass token_env", 1),
        (status(404), "answered 404", 1),
        (status(301, {"Location": "http://127.0.0.2:9/classify"}), "redirects to http://127.0.0.2", 1),
        (status(308, {"Location": "http://localhost:9/classify"}), "redirects to http://localhost", 1),
        (
            status(302, {"Location": "/other?key=1"}),
            r"redirects to http://127.0.0.1:\d+ with the status 302, expected .* 307 or 308",
            1,
        ),
        (content(b"<html>Log in</html>", "text/html"), "'text/html', '<html>Log in</html>', expected JSON", 1),
        (content(b""), "expected JSON", 1),
        (content(b"[" * 40_000), "expected JSON", 1),
        (content(b'{"scores": []}'), "answered dict to 4 inputs", 1),
        (content(b"[[0.5, 0.5], [1, 0], [1, 0], [1, 0], [1, 0]]"), "answered 5 rows to 4 inputs", 1),
        (content(b"[[1, 0], [1, 0], [1, 0], [1]]"), "row 3 has 1 numbers", 1),
        (content(b'[[1, 0], [1, 0], "pos", [1, 0]]'), "row 2 is 'pos'", 1),
        (content(b"[[1, 0], [1, 0], [1, null], [1, 0]]"), "row 2 is", 1),
        (content(b"[[1, 0], [true, false], [1, 0], [1, 0]]"), "row 1 is", 1),
        (content(b"[true, false, true, false]"), "row 0 is", 1),
        (content(b'[{"a": true, "b": false}, {"a": 1, "b": 0}, {"a": 1, "b": 0}, {"a": 1, "b": 0}]'), "row 0 is", 1),
        (content(b"[[0, 1], [0, 1], [0, 1], [0, 1]]", "text/plain; x" * 2), None, 1),
        (content(b'[{"a": 1, "b": 0}, {"a": 1, "b": 0}, {"a": 1, "c": 0}, {"a": 1, "b": 0}]'), "row 2 has the cl", 1),
        (content(b'[{"label": "pos", "score": 0.9}, [], [], []]'), "not the best", 1),
        (content(b"[" + b"[0.5, 0.5]," * 9000 + b"[0, 1]]"), "more than 50,000 bytes", 1),
        (lambda handler: handler.answer(200, gzip.compress(b" " * 99_999), {"Content-Encoding": "gzip"}), "more th", 1),
        (lambda handler: handler.answer(200, b"[]", {"Content-Encoding": "gzip"}), "cannot be unpacked", 1),
        (lambda handler: handler.answer(200, b"[]", {"Content-Encoding": "gzip, gzip"}), "'gzip, gzip'", 1),
        (lambda handler: handler.answer(403, b"no", {"Content-Encoding": "br"}), "answered 403 .*; pass token_env", 1),
        (lambda handler: handler.answer(503, b"later", {"Content-Encoding": "br"}), "answered 503", 2),
    ],
)
def test_a_server_that_fails_for_ever(server, fault, message, n_requests):
    url, double = server
    double.faults, double.always = [fault], True
    model = service(url, retries=1, max_response_bytes=50_000)
    if message is None:
        assert model.predict(TEXTS[:4])[:, 1].tolist() == [1.0] * 4
    else:
        with pytest.raises(ServiceError, match=message) as caught:
            model.predict(TEXTS[:4])
        assert url in str(caught.value)
    assert len(double.requests) == n_requests


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
def test_scores_that_are_not_finite(server, number):
    url, double = server
    double.faults = [content(b"[[1, 0], [0.5, %b]]" % number)]
    with pytest.raises(NonFiniteError, match="row 1"):
        service(url).predict(TEXTS[:2])


def test_classes_that_change_later(server):
    url, double = server
    double.faults = [
        content(b'[{"a": 0.6, "b": 0.4}]'),
        content(b'[{"b": 0.1, "a": 0.9}]'),
        content(b'[{"a": 1, "x": 0}]'),
    ]
    model = service(url)
    assert [model.predict(["one"]).tolist(), model.predict(["two"]).tolist()] == [[[0.6, 0.4]], [[0.9, 0.1]]]
    assert model.labels == ("a", "b")
    with pytest.raises(ServiceError, match=r"has the classes \['a', 'x'\], expected .* \['a', 'b'\]"):
        model.predict(["three"])


@pytest.mark.slow
def test_a_slow_server(server):
    url, double = server

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.close_connection = True
        for _ in range(20):  # each byte in time, the answer as a whole not
            handler.wfile.write(b"[")
            time.sleep(0.05)

    double.faults = [slow]
    assert right(service(url, timeout=0.4))
    double.faults, double.always = [slow], True
    with pytest.raises(ServiceError, match=r"did not answer within 0.2 seconds"):
        service(url, timeout=0.2, retries=0).predict(TEXTS)


def test_requests_side_by_side_on_kept_connections(server):
    url, double = server
    answer = double.routes["POST /classify"]
    together = threading.Barrier(3, timeout=60)

    def waiting(body):
        together.wait()
        return answer(body)

    double.routes["POST /classify"] = waiting
    model = service(url, concurrency=3)
    many = TEXTS[:12] * 2
    assert np.allclose(model.predict(many), probabilities(many))
    assert (double.most_at_once, double.n_connections, len(double.requests)) == (3, 3, 6)


def test_a_rate_limit(server):
    model = service(server[0], requests_per_second=20)
    start = time.monotonic()
    assert right(model)
    assert time.monotonic() - start >= 4 / 20


def test_a_rate_limit_holds_after_a_pause(server):
    url, double = server
    answer, times = double.routes["POST /classify"], []

    def timed(body):
        times.append(time.monotonic())
        return answer(body)

    double.routes["POST /classify"] = timed
    double.faults = [status(429, {"Retry-After": "1"})]
    service(url, batch_size=1, concurrency=8, requests_per_second=5).predict(TEXTS[:8])
    assert min(np.diff(sorted(times))) > 0.1


def test_one_failure_ends_the_others(server):
    url, double = server
    double.faults = [status(503, {"Retry-After": "200"}), status(400)]
    start = time.monotonic()
    with pytest.raises(ServiceError, match="answered 400"):
        service(url).predict(TEXTS[:8])
    assert time.monotonic() - start < 200


def test_a_redirect_on_the_same_server(server):
    url, double = server
    double.faults = [status(307, {"Location": "/elsewhere"})]
    double.routes["POST /elsewhere"] = double.routes["POST /classify"]
    assert right(service(url))
    assert double.asked("/elsewhere")
    double.faults = [status(307, {"Location": url.replace("127.0.0.1", "localhost")})]
    with pytest.raises(ServiceError, match="redirects to http://localhost"):
        service(url).predict(TEXTS[:1])
    double.faults, double.always = [status(307, {"Location": "/classify"})], True
    with pytest.raises(ServiceError, match="redirects more than 3 times"):
        service(url).predict(TEXTS[:1])


def test_nobody_listens():
    with socket.socket() as nobody:  # keeps the port from others
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(ServiceError, match="cannot be reached"):
            service(f"http://127.0.0.1:{nobody.getsockname()[1]}", retries=0).predict(["a text"])


def echo(handler):
    """A fault: the server repeats what it was sent."""
    token = handler.headers["Authorization"]
    handler.answer(403, json.dumps({"error": f"bad token {token}", "key": handler.headers["X-Key"]}).encode())


def test_credentials_are_sent_and_never_shown(server, monkeypatch):
    url, double = server
    monkeypatch.setenv("OUR_TOKEN", TOKEN + "\n")
    monkeypatch.setenv("OUR_KEY", "another key")
    model = service(url, token_env="OUR_TOKEN", headers_env={"X-Key": "OUR_KEY"})
    assert right(model)
    headers = double.requests[0][1]
    assert (headers["Authorization"], headers["X-Key"]) == (f"Bearer {TOKEN}", "another key")
    escaped = TOKEN.replace("/", "\\/").encode()
    label = b'[{"Bearer %b": 0.5, "b": 0.5}]' % escaped
    double.faults = [
        echo,
        content(TOKEN.encode()),
        status(503, {"Retry-After": "999"}, b'"%b"' % escaped),
        content(label),
    ]
    for _ in range(3):
        with pytest.raises(ServiceError) as caught:
            model.predict(["a text"])
        assert "***" in str(caught.value)
        assert TOKEN not in str(caught.value)
        assert "another key" not in str(caught.value)
        assert escaped.decode() not in str(caught.value)
    fresh = service(url, token_env="OUR_TOKEN")
    assert fresh.predict(["a text"]).shape == (1, 2)
    assert fresh.labels == ("***", "b")


def test_a_short_credential_is_a_word_of_answers_but_not_of_errors(server, monkeypatch):
    url, double = server
    monkeypatch.setenv("OUR_TOKEN", "none")
    monkeypatch.setenv("OUR_KEY", "ollama")
    model = service(url, token_env="OUR_TOKEN", headers_env={"X-Key": "OUR_KEY"})
    double.faults = [content(b'[{"none of them": 0.5, "ollama": 0.5}]')]
    model.predict(["a text"])
    assert model.labels == ("none of them", "ollama")
    double.faults = [status(400, body=b"the key ollama is unknown")]
    with pytest.raises(ServiceError, match=r"the key \*\*\* is unknown"):
        model.predict(["a text"])


@pytest.mark.parametrize("written", [html.escape, quote, quote_plus])
def test_credentials_are_not_shown_as_they_are_written_in_pages_and_addresses(server, monkeypatch, written):
    url, double = server
    monkeypatch.setenv("OUR_TOKEN", "sk-<a>&b/c+d=end")
    double.faults = [status(403, {}, written("Bearer sk-<a>&b/c+d=end").encode())]
    with pytest.raises(ServiceError, match=r"\*\*\*") as caught:
        service(url, token_env="OUR_TOKEN").predict(["a text"])
    assert "d=end" not in unquote_plus(str(caught.value))


@pytest.mark.parametrize(
    "place", ["http://user:{}@127.0.0.1/", "http://127.0.0.2/{}", "http://{}/", "http://127.0.0.1:{}/", "/{}"]
)
@pytest.mark.parametrize("token", ["sk-Secret/x<y>zzzzzz", "sk-SecretSecret"])
def test_nothing_of_a_credential_is_shown_as_an_address(server, monkeypatch, place, token):
    url, double = server
    monkeypatch.setenv("OUR_TOKEN", token)
    double.faults, double.always = [status(302, {"Location": place.format(token)})], True
    with pytest.raises(ServiceError) as caught:
        service(url, token_env="OUR_TOKEN", retries=0).predict(["a text"])
    assert not any(part in unquote_plus(str(caught.value)).lower() for part in ("secret", "<y>", "x<y"))


@pytest.mark.parametrize("piece", [b"[],", b'{"a":1},', b"0,"])
def test_an_answer_of_countless_values_is_refused_before_it_is_read(server, monkeypatch, piece):
    url, double = server
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    double.faults = [content(b'{"p":[' + piece * 2_000_000 + piece[:-1] + b"]}")]
    model = service(url, token_env="OUR_TOKEN")
    tracemalloc.start()
    with pytest.raises(ServiceError, match=r"more than .* values, expected the scores of a batch"):
        model.predict(["a text"])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * 2_000_000 * len(piece)


@pytest.mark.slow
def test_the_scores_of_three_thousand_classes_are_few_enough(server):
    url, double = server
    row = b"[" + b",".join(b'{"label": "%d", "score": 0.1}' % number for number in range(3_000)) + b"]"
    double.faults = [content(b"[" + b",".join([row] * 32) + b"]")]
    assert service(url, batch_size=32, multilabel=True).predict(["a"] * 32).shape == (32, 3_000)


def test_certificates_that_cannot_be_read_matter_for_https_alone(server, monkeypatch, tmp_path):
    from mase.models.http import client

    bad = tmp_path / "bad.pem"
    bad.write_text("none")
    for path in (tmp_path / "absent.pem", bad):
        client._read_certificates.cache_clear()
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        assert right(service(server[0]))
        with pytest.raises(OptionError, match="the certificates of SSL_CERT_FILE cannot be read"):
            service("https://models.example")
    client._read_certificates.cache_clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token_env": "NOT_SET_HERE"}, "for the header Authorization is not set"),
        ({"token_env": "hf-abc.def"}, "does not name environment variables"),
        ({"headers_env": {"X-Key: y": "A"}}, "does not name environment variables"),
        ({"headers_env": "OUR_TOKEN"}, "does not name environment variables"),
        ({"timeout": 0}, "timeout is 0, expected a positive number"),
        ({"timeout": True}, "timeout is True"),
        ({"requests_per_second": -1}, "requests_per_second is -1"),
        ({"retries": -1}, "retries is -1, expected an integer >= 0"),
        ({"concurrency": 0}, "concurrency is 0, expected an integer >= 1"),
        ({"max_response_bytes": 1.5}, "max_response_bytes is 1.5"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"labels": "pos"}, "expected one name per class"),
        ({"labels": {"neg", "pos"}}, "expected one name per class"),
    ],
)
def test_options_that_are_wrong(options, message):
    with pytest.raises(OptionError, match=message) as caught:
        service("http://127.0.0.1:9", **options)
    assert "hf-abc" not in str(caught.value)
    assert "NOT_SET" not in str(caught.value)


def test_a_proxy_that_cannot_be_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://user:hidden@proxy:1")
    with pytest.raises(MaseError, match="the proxy of this environment cannot be used") as caught:
        service("http://models.example")
    assert "hidden" not in str(caught.value)


def test_threads_of_a_fork_share_the_connections_that_the_first_one_opens(server, monkeypatch):
    url, _ = server
    client, asked = Client(url.removesuffix("/classify"), Connection(retries=0)), [{"texts": TEXTS}]
    expected = client.post("/classify", asked)

    def late(close):
        time.sleep(0.2)  # the other threads ask meanwhile
        return Background(close)

    def ask():
        found = []
        monkeypatch.setattr("mase.models.http.client.Background", late)
        threads = [threading.Thread(target=lambda: found.append(client.post("/classify", asked))) for _ in range(4)]
        for thread in threads:
            thread.daemon = True
            thread.start()
        for thread in threads:
            thread.join(10)
        return found == [expected] * 4

    assert forked(ask)


@pytest.mark.parametrize(
    "value", ["", "soon", "-5", "Wed, 21 Oct 99999 07:28:00 GMT", "Wed, 1 Oct 9999 07:28:007099999999"]
)
def test_what_is_neither_a_number_nor_a_date_asks_for_nothing(value):
    assert retry_after({"Retry-After": value}) is None


def test_a_host_that_cannot_be_is_an_error_at_once():
    with pytest.raises(OptionError, match="no valid host"):
        JSONService("http://xn--a:9", ["no", "yes"])

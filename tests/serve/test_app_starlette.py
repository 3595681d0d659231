"""Tests of `mase_serve.app`: what the page can ask, of a model in a process of its own."""

import asyncio
import json
import shlex
from html.parser import HTMLParser

import pytest

pytest.importorskip("starlette")

from click.testing import CliRunner
from tests.hostile.payloads import PAYLOADS
from tests.serve.classifiers import judge
from tests.serve.clients import JUDGE, MODELS, TEXT, browser, events, explain, last, predict, wait

import mase
from mase.attribution.json import from_dict, loads
from mase.cli import main
from mase.render.html import article
from mase_serve.security import Limits

LIMITS = Limits(text=2000, n_samples=2000, queue=3, body=20_000, results=3, grace=0.5)


@pytest.fixture(scope="module")
def client():
    with browser(JUDGE, limits=LIMITS) as client:
        wait(client, JUDGE)
        yield client


def plain(target=None, **options):
    return mase.Explainer(judge, n_samples=60, **{"evidence": 5} | options)(TEXT, target=target)


def same(found, expected):
    """Return whether two attributions are the same but for the name of the model."""
    assert found.scores.tobytes() == expected.scores.tobytes()
    return (found.method, found.evidence, found.target) == (expected.method, expected.evidence, expected.target)


def choices(client):
    class Script(HTMLParser):
        inside, content = False, ""

        def handle_starttag(self, tag, attributes):
            self.inside = dict(attributes).get("id") == "choices"

        def handle_endtag(self, tag):
            self.inside = False

        def handle_data(self, data):
            self.content += data if self.inside else ""

    script = Script()
    script.feed(client.get("/api/workbench").text)
    return json.loads(script.content)


@pytest.mark.slow
def test_the_page_offers_what_the_registries_have(client):
    found = choices(client)
    assert [method["name"] for method in found["methods"]] == list(mase.METHODS)
    assert found["units"][:3] == ["word", "wordpunct", "token"]
    assert "margin" in found["links"]
    assert found["models"] == [
        {
            "name": JUDGE,
            "called": judge.name,
            "label": "classifiers.py:judge",
            "state": "ready",
            "message": "",
            "labels": ["neg", "pos"],
            "references": ["delete"],
            "answers": False,
        }
    ]
    assert found["limits"]["text"] == 2000
    assert found["defaults"]["method"] == "mase"
    assert client.get("/static/style.css").headers["content-type"].startswith("text/css")


def test_a_prediction(client):
    found = predict(client).json()
    assert found["labels"] == ["neg", "pos"]
    assert found["probabilities"] == pytest.approx(judge.predict([TEXT])[0].tolist())


@pytest.mark.parametrize(
    ("target", "settings"), [(None, {}), ("neg", {"seed": 3, "evidence": 0}), ("pos", {"method": "occlusion"})]
)
def test_an_explanation_is_that_of_the_library(client, target, settings):
    name, data = last(client, explain(client, target=target, **settings))
    assert name == "done"
    found = from_dict(data["attribution"])
    assert same(found, plain(target, **settings))
    assert data["html"].count("data-unit=") >= len(found.units)


def test_the_copies_make_the_same_explanation(client, tmp_path):
    text = "it's a good film, -- \"bad\" $HOME `x` \\ 'end'\nand more"
    name = explain(client, text=text, target="neg", seed=2, link="probability", evidence=1)
    data = last(client, name)[1]
    found = from_dict(data["attribution"])
    scope = {}
    exec(data["python"].replace("print(found)", ""), scope)
    assert same(scope["found"], found)
    program, command, *arguments = shlex.split(data["command"])
    assert (program, command) == ("mase", "explain")
    result = CliRunner().invoke(main, [command, "--json", *arguments])
    assert result.exit_code == 0, result.output
    assert same(loads(result.stdout.strip()), found)
    line = client.get(f"/api/explanations/{name}/json")
    assert loads(line.text.strip()) == found
    page = client.get(f"/api/explanations/{name}/page")
    assert page.headers["content-disposition"].startswith("attachment")
    assert page.text == found.to_html()


def test_a_page_is_of_the_response_that_is_asked_for(client):
    name = explain(client, target="all")
    found = from_dict(last(client, name)[1]["attribution"])
    for response in found.responses:
        page = client.get(f"/api/explanations/{name}/page", params={"response": response.name})
        assert page.text == found.of(response.name).to_html()
    assert client.get(f"/api/explanations/{name}/page", params={"response": "nobody"}).status_code == 404


def test_the_copies_of_a_record_make_the_same_explanation(client):
    record = {"plea, short": "a good film", "age": 40, "place": "bad"}
    settings = {"fixed": ["age"], "background": {"place": "good, perhaps"}, "evidence": 1}
    data = last(client, explain(client, text=record, target="pos", **settings))[1]
    found = from_dict(data["attribution"])
    assert [unit.text for unit in found.units] == ["a", "good", "film", "bad"]
    scope = {}
    exec(data["python"].replace("print(found)", ""), scope)
    assert same(scope["found"], found)
    _, *arguments = shlex.split(data["command"])
    result = CliRunner().invoke(main, [arguments[0], "--json", *arguments[1:]])
    assert result.exit_code == 0, result.output
    assert same(loads(result.stdout.strip()), found)


def test_several_responses_come_from_one_explanation(client):
    name = explain(client, target="all")
    found = from_dict(last(client, name)[1]["attribution"])
    assert sorted(response.name for response in found.responses) == ["neg", "pos"]
    other = found.responses[1].name
    page = client.get(f"/api/explanations/{name}/article", params={"response": other})
    assert page.text == article(found.of(other))
    asked = {"units": [1], "response": other}
    changed = client.post(f"/api/explanations/{name}/without", json=asked).json()
    assert changed["response"] == pytest.approx(mase.Explainer(judge).predict_without(found.of(other), [1]).response)
    assert client.get(f"/api/explanations/{name}/article", params={"response": "none"}).status_code == 404
    contrast = explain(client, target="pos", against="neg")
    assert from_dict(last(client, contrast)[1]["attribution"]).responses[0].against == "neg"


def test_who_connects_again_gets_the_last_state(client):
    name = explain(client)
    first = last(client, name)
    assert events(client, name) == [first]
    assert client.delete(f"/api/explanations/{name}").status_code == 204
    assert last(client, name) == first


def test_a_prediction_without_units(client):
    name = explain(client, target="pos")
    last(client, name)
    found = client.post(f"/api/explanations/{name}/without", json={"units": [1, 6]}).json()
    expected = plain("pos")
    changed = mase.Explainer(judge).predict_without(expected, [1, 6])
    assert found == {
        "label": changed.label,
        "probability": changed.probability,
        "target_probability": changed.target_probability,
        "response": changed.response,
        "expected_response": expected.expected_without([1, 6]),
        "expected_probability": expected.expected_probability_without([1, 6]),
    }
    for units in ([99], [-1], ["1"], 1, [1.5]):
        answer = client.post(f"/api/explanations/{name}/without", json={"units": units})
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "OptionError")


def test_a_classifier_answers_nothing(client):
    name = explain(client)
    last(client, name)
    answer = client.post(f"/api/explanations/{name}/answer", json={"units": [0]})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "CapabilityError")


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"", 400, "OptionError"),
        (b"[]", 400, "OptionError"),
        (b'{"model": 1, "text": "x"}', 400, "OptionError"),
        (b'{"model": "%s", "text": "\\ud800"}' % JUDGE.encode(), 400, "OptionError"),
        (b'{"model": "%s", "text": "x", "settings": {"design": "x"}}' % JUDGE.encode(), 400, "OptionError"),
        (b'{"model": "%s", "text": "x", "settings": {"n_samples": 2001}}' % JUDGE.encode(), 413, "LimitError"),
        (
            b'{"model": "%s", "text": "x", "settings": {"method": "mase+n_samples=2001"}}' % JUDGE.encode(),
            413,
            "LimitError",
        ),
        (b'{"model": "%s", "text": "%s"}' % (JUDGE.encode(), b"x" * 2001), 413, "LimitError"),
        (b'{"text": "%s"}' % (b"x" * 20_000), 413, "LimitError"),
        (b'{"model": "/etc/passwd", "text": "x"}', 404, "UnknownNameError"),
    ],
)
def test_requests_that_are_refused(client, body, status, error):
    answer = client.post("/api/explanations", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, error)
    assert answer.json()["error"]["message"]


def test_a_model_that_the_server_does_not_have(client):
    """As in an address that somebody has sent: the message says which ones there are."""
    answer = client.post("/api/predictions", json={"model": "nonsense", "text": "x"})
    assert answer.status_code == 404
    assert JUDGE in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/nothing", "/static/nothing.js", "/corpora/7/"])
def test_a_page_that_is_not_there_is_said_in_plain_text(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert client.get("/api/nothing").json()["error"]["message"]


def test_only_json_is_read(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = client.post("/api/explanations", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 415


@pytest.mark.parametrize("path", ["events", "json", "page"])
def test_an_explanation_that_is_not_there(client, path):
    answer = client.get(f"/api/explanations/unknown/{path}")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "UnknownNameError")
    assert client.delete("/api/explanations/unknown").status_code == 404


def test_what_the_model_cannot_explain_is_an_event(client):
    for text, settings, error in (
        (TEXT, {"method": "gradient"}, "CapabilityError"),
        (TEXT, {"units": "page"}, "UnknownNameError"),
        (" ", {}, "EmptyTextError"),
        ("a text that raises", {}, "ModelError"),
    ):
        name = explain(client, text=text, **settings)
        event, data = last(client, name)
        assert (event, data["type"]) == ("failed", error)
        answer = client.get(f"/api/explanations/{name}/json")
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "OptionError")
    assert predict(client, text="a text that raises").json()["error"]["type"] == "ModelError"


def test_old_results_are_forgotten(client):
    names = [explain(client) for _ in range(3) if last(client, explain(client))]
    last(client, names[-1])
    last(client, explain(client))
    statuses = [client.get(f"/api/explanations/{name}/json").status_code for name in names]
    assert statuses[0] == 404
    assert statuses[-1] == 200


def test_nothing_that_comes_from_outside_becomes_markup(client):
    """Markup of a text is text, in every answer that a page shows as HTML."""
    known = Elements(last(client, explain(client))[1]["html"]).found
    for text in PAYLOADS[::25]:
        event, data = last(client, explain(client, text=f"good {text} end", method="occlusion", evidence=0))
        assert event == "done"
        assert Elements(data["html"]).found <= known | {"s", "i"}


class Elements(HTMLParser):
    """The names of the elements of a piece of HTML."""

    def __init__(self, content):
        super().__init__()
        self.found = set()
        self.feed(content)

    def handle_starttag(self, tag, attributes):
        assert not [name for name, _ in attributes if name.startswith("on") or name in ("style", "src", "href")]
        self.found.add(tag)


@pytest.mark.slow
def test_markup_in_the_name_and_the_message_of_a_model(tmp_path):
    name = "<script>alert(1)<"  # a file name cannot have more of it
    path = tmp_path / f"{name}.py"
    path.write_text(MODELS.read_text())
    source = f"{path}:broken"
    with browser(source) as client:
        found = wait(client, source, "failed")
        assert "broken</i> from the start" in found["message"]
        page = client.get("/api/workbench").text
        assert "<script>alert" not in page
        assert "<i>broken" not in page
        assert choices(client)["models"][0]["name"] == source
        answer = predict(client, source)
        assert (answer.status_code, answer.json()["error"]["type"]) == (500, "ModelError")
        assert "broken</i> from the start" in answer.json()["error"]["message"]


def left(client, path, body, *, drips=False):
    """Ask, and leave at once, or send one byte after the other; return the status of the answer."""
    received = [{"type": "http.request", "body": json.dumps(body).encode()}]
    headers = {**client.headers, "content-type": "application/json", "host": client.base_url.netloc.decode()}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent = []

    async def receive():
        if drips:
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b" ", "more_body": True}
        return received.pop() if received else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async def ask():
        async with asyncio.timeout(60):
            await client.app(scope, receive, send)

    client.portal.call(ask)
    return sent[0]["status"]


@pytest.mark.slow
def test_what_nobody_waits_for_any_more_leaves_the_queue(client):
    """The answers would only come after that of the model that hangs."""
    name = explain(client, target="pos")
    last(client, name)
    hanging = explain(client, text="it hangs")
    for n in range(2 * LIMITS.queue):
        assert left(client, "/api/predictions", {"model": JUDGE, "text": f"click {n}"}) == 400
        assert left(client, f"/api/explanations/{name}/without", {"units": [n]}) == 400
    client.delete(f"/api/explanations/{hanging}")
    assert predict(client).status_code == 200


def test_a_request_that_drips_is_ended(client, monkeypatch):
    monkeypatch.setattr("mase_serve.app._BODY_S", 0.2)
    assert left(client, "/api/predictions", {}, drips=True) == 408

"""A browser of tests: it asks a server as the page does."""

import json
import time
from pathlib import Path

from starlette.testclient import TestClient

from mase_serve.app import application
from mase_serve.security import Gate, allowed_names
from mase_serve.worker import Open

MODELS = Path(__file__).with_name("classifiers.py")
JUDGE = f"{MODELS}:judge"
TEXT = "a good start and a bad end of a film"
_PORT = 8765


def browser(*models, url=None, **options):
    """Return a client of a server with these models, or those of a URL, which is open as long as the client is."""
    gate = Gate(allowed_names("127.0.0.1"), _PORT)
    app = application([Open(model, server=url) for model in models], gate, **options)
    own = f"http://127.0.0.1:{_PORT}"
    return TestClient(app, base_url=own, headers={"Origin": own} | bearer(gate.token))


def bearer(token):
    """Return the header that shows the token."""
    return {"Authorization": f"Bearer {token}"}


def wait(client, model, state="ready", seconds=600):
    """Wait until a model has a state, and return its description."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = next(one for one in client.get("/api/models").json()["models"] if one["name"] == model)
        if found["state"] == state:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{model} did not become {state}: {found}")


def explain(client, model=JUDGE, text=TEXT, target=None, against=None, **settings):
    """Begin an explanation and return its id."""
    body = {
        "model": model,
        "text": text,
        "target": target,
        "against": against,
        "settings": {"n_samples": 60} | settings,
    }
    answer = client.post("/api/explanations", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def events(client, name):
    """Return all events of an explanation, until its last one, as pairs of name and data."""
    return told(client.get(f"/api/explanations/{name}/events").text)


def told(content):
    """Return the events in what a server sends, as pairs of name and data."""
    blocks = [block.split("\n") for block in content.split("\n\n") if block.startswith("event: ")]
    return [(first.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for first, data in blocks]


def last(client, name):
    """Return the last event of an explanation."""
    return events(client, name)[-1]


def predict(client, model=JUDGE, text=TEXT):
    """Return the answer to a request for a prediction."""
    return client.post("/api/predictions", json={"model": model, "text": text})

"""What all models behind a URL must hold: the contract of models, awkward texts, pickles and hidden credentials."""

import inspect
import json
import pickle
import re

import numpy as np
import pytest
from tests.hostile.texts import READABLE, SILENT
from tests.servers import KSERVE, LABELS, TEI, V2, dropped, probabilities, served, status

import mase
from mase import Explainer
from mase.errors import ServiceError
from mase.models import JSONService, KServe, TextEmbeddingsInference
from mase.models.origin import dumps
from mase.testing import check_model

TEXT = "A superb cast, but not dull."
TOKEN = "s3cr3t-of-the-user"
SURROGATE = re.compile("[\ud800-\udfff]")
ROUTES = TEI | V2 | {"POST /json": lambda body: probabilities(body["texts"])}
PATHS = {TextEmbeddingsInference: "", KServe: KSERVE, JSONService: "/json"}
OPTIONS = {JSONService: {"request": {"texts": "$inputs"}}}
every_kind = pytest.mark.parametrize("kind", PATHS, ids=lambda kind: kind.__name__)


@pytest.fixture
def server():
    with served(dict(ROUTES)) as (url, double):
        yield url, double


def opened(kind, url, **options):
    return kind(url + PATHS[kind], LABELS, **OPTIONS.get(kind, {}), **options)


@every_kind
def test_the_contract_of_models(server, kind):
    check_model(opened(kind, server[0]), TEXT)


@every_kind
def test_awkward_texts_arrive_as_they_are(server, kind):
    url, double = server
    model = opened(kind, url, max_response_bytes=10_000)
    texts = [text for text in (READABLE | SILENT).values() if len(text) < 1000 and not SURROGATE.search(text)]
    assert len(texts) > 30
    before = len(double.requests)
    found = model.predict([*texts, "$inputs", "$input", "$text"])
    sent = [body for _, _, body in double.requests[before:]]
    arrived = {text for body in sent for text in arrived_texts(body)}
    assert arrived == {text or " " if kind is TextEmbeddingsInference else text for text in texts} | {
        "$inputs", "$input", "$text",
    }  # fmt: skip
    assert np.allclose(found[: len(texts)], probabilities(texts))


def arrived_texts(body):
    if "texts" in body:
        return body["texts"]
    if isinstance(body["inputs"][0], dict):
        return body["inputs"][0]["data"]
    return [text for (text,) in body["inputs"]]


@every_kind
def test_a_pickle_opens_the_model_again(server, kind, monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    url, double = server
    model = opened(kind, url, token_env="OUR_TOKEN", retries=2, mask_token="[MASK]", multilabel=True, concurrency=1)
    content = dumps(Explainer(model, n_samples=16))
    assert TOKEN.encode() not in content
    again = pickle.loads(content)
    assert again(TEXT) == Explainer(model, n_samples=16)(TEXT)
    assert again.model.origin == model.origin
    assert double.requests[-1][1]["Authorization"] == f"Bearer {TOKEN}"
    monkeypatch.delenv("OUR_TOKEN")
    with pytest.raises(mase.MaseError, match="for the header Authorization is not set"):
        pickle.loads(content)


@every_kind
def test_the_origin_has_every_option(kind):
    with served(dict(ROUTES)) as (url, _):
        model = opened(kind, url)
        _, (_, _, options) = model.origin.reduced(model)
    assert set(options) == set(inspect.signature(kind).parameters) - {"url", "connection"}


@pytest.mark.filterwarnings("ignore:the model .* has no checksum")
@pytest.mark.parametrize("engine", ["here", pytest.param("local", marks=pytest.mark.faults)])
@pytest.mark.slow
def test_a_run_keeps_every_row_and_no_credential(server, monkeypatch, tmp_path, engine):
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    url, double = server

    def told(handler):
        handler.answer(400, json.dumps({"error": handler.headers["Authorization"]}).encode())

    def failing(body):
        if any("broken" in text for text in body["texts"]):
            raise ConnectionError
        return probabilities(body["texts"])

    double.routes["POST /json"] = failing
    model = opened(JSONService, url, token_env="OUR_TOKEN", retries=2, batch_size=64)
    double.faults = [dropped, status(429, {"Retry-After": "0"}), told]
    texts = [f"a superb film number {index}" for index in range(6)] + ["a broken film"]
    run = mase.run(texts, tmp_path / "run", model=model, n_samples=16, part_size=4, jobs=1, engine=engine)
    errors = run.texts()["error"].to_pylist()
    assert len(errors) == len(texts)
    assert [errors.count(name) for name in ("ServiceError", None)] == [2, 5]
    messages = run.texts()["message"].to_pylist()
    assert any("***" in message for message in messages if message)
    assert "dropped the connection" in messages[-1]
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert all(headers["Authorization"] == f"Bearer {TOKEN}" for _, headers, _ in double.requests)


def test_results_and_errors_hold_no_credential(server, monkeypatch, tmp_path):
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    url, double = server
    double.routes["GET /info"] = lambda body: TEI["GET /info"](body) | {"model_id": f"a model of {TOKEN}"}
    model = TextEmbeddingsInference(url, token_env="OUR_TOKEN")
    assert model.name == "a model of ***"
    found = Explainer(model, n_samples=16)(TEXT)
    found.save(tmp_path / "found.json")
    found.to_html(tmp_path / "found.html")
    written = "".join(path.read_text() for path in tmp_path.iterdir()) + repr(found) + repr(model) + str(vars(model))
    assert TOKEN not in written
    double.faults, double.always = [dropped], True
    with pytest.raises(ServiceError) as caught:
        TextEmbeddingsInference(url, token_env="OUR_TOKEN", retries=0).predict([TEXT])
    assert TOKEN not in "".join(map(str, (caught.value, caught.value.__cause__, caught.value.__context__)))

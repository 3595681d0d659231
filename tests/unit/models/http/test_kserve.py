"""The KServe v2 protocol as KServe, Triton and MLServer speak it, against a local server."""

import json

import numpy as np
import pytest
from tests.servers import KSERVE, LABELS, METADATA, V2, logits, probabilities, served, tensor

from mase import Explainer
from mase.errors import InvalidTextError, OptionError, ServiceError
from mase.models import Callable, KServe

TEXTS = ["a superb film", "dull", "not superb, not dull"]


@pytest.fixture
def server():
    with served(dict(V2)) as (url, double):
        yield url, double


def asked(double, path=f"{KSERVE}/infer"):
    return double.asked(path)[-1]["inputs"]


def answering(double, outputs):
    double.routes[f"POST {KSERVE}/infer"] = lambda body: {"outputs": outputs}


def test_the_explanation_is_that_of_the_function_itself(server):
    url, double = server
    model = KServe(url + KSERVE, LABELS)
    local = Callable(probabilities, LABELS, name=url + KSERVE)
    assert Explainer(model, n_samples=64)(TEXTS[2]) == Explainer(local, n_samples=64)(TEXTS[2])
    KServe(url, model="sentiment").predict(TEXTS)
    expected = {
        "name": "TEXT",
        "datatype": "BYTES",
        "shape": [3, 1],
        "data": TEXTS,
        "parameters": {"content_type": "str"},
    }
    assert asked(double) == [expected]
    assert double.requests[-1][2]["outputs"] == [{"name": "SCORES"}]


def test_a_version_and_a_prefix(server):
    url, double = server
    path = "/team%20a" + KSERVE + "/versions/3"
    double.routes |= {f"GET {path}": lambda body: METADATA, f"POST {path}/infer": V2[f"POST {KSERVE}/infer"]}
    for model in (KServe(url + path + "/infer"), KServe(url + "/team%20a" + KSERVE, version="3")):
        assert np.allclose(model.predict(TEXTS), probabilities(TEXTS))
        assert model.name == url + path
    for options in ({"model": "other"}, {"version": "4"}):
        with pytest.raises(OptionError, match="the URL names the model 'sentiment'"):
            KServe(url + path, **options)
    with pytest.raises(OptionError, match="the model is missing"):
        KServe(url)


def test_fields_are_inputs(server):
    url, double = server
    inputs = [("premise", "BYTES", [-1]), ("hypothesis", "BYTES", [-1, 1]), ("stars", "FP32", [-1, 1])]
    described = [{"name": name, "datatype": datatype, "shape": shape} for name, datatype, shape in inputs]
    double.routes[f"GET {KSERVE}"] = lambda body: METADATA | {"inputs": described}
    model = KServe(url + KSERVE, LABELS)
    record = {"premise": "superb", "hypothesis": "a dull film", "stars": 3}
    found = Explainer(model, n_samples=64, background={"stars": 0})(record)
    assert [(unit.text, unit.field) for unit in found.units][-1] == ("3", "stars")
    assert [(one["name"], one["datatype"], one["shape"][1:]) for one in asked(double)] == [
        ("premise", "BYTES", []), ("hypothesis", "BYTES", [1]), ("stars", "FP32", [1]),
    ]  # fmt: skip
    for wrong in ("a text", record | {"stars": "three"}, {"premise": "superb", "other": "x"}):
        with pytest.raises(InvalidTextError):
            model.predict([wrong])


def test_a_server_that_describes_nothing(server):
    url, double = server
    double.routes[f"GET {KSERVE}"] = lambda body: {"name": "sentiment", "platform": "", "inputs": [], "outputs": []}
    KServe(url + KSERVE).predict(TEXTS)
    assert (asked(double)[0]["name"], asked(double)[0]["shape"]) == ("text", [3])
    del double.routes[f"GET {KSERVE}"]
    KServe(url + KSERVE, input_name="args").predict([{"args": "superb", "n": 2}, {"args": "dull", "n": 3}])
    assert [(one["name"], one["datatype"]) for one in asked(double)] == [("args", "BYTES"), ("n", "INT64")]


def test_inputs_and_outputs_that_have_to_be_chosen(server):
    url, double = server
    double.routes[f"GET {KSERVE}"] = lambda body: (
        METADATA | {"inputs": [{"name": "x", "datatype": "INT64", "shape": [1]}]}
    )
    with pytest.raises(OptionError, match="none takes text"):
        KServe(url + KSERVE)
    outputs = [tensor("predict", [[1]], "INT64"), tensor("predict_proba", [[0.25, 0.75]], "FP64")]
    double.routes[f"GET {KSERVE}"] = lambda body: METADATA | {"outputs": outputs}
    answering(double, outputs)
    assert KServe(url + KSERVE).predict(["a"]).tolist() == [[0.25, 0.75]]
    with pytest.raises(ServiceError, match="scores, not classes; pass output_name"):
        KServe(url + KSERVE, output_name="predict").predict(["a"])
    double.routes[f"GET {KSERVE}"] = lambda body: (
        METADATA
        | {"outputs": [one | {"name": name, "datatype": "FP32"} for one, name in zip(outputs, "ab", strict=True)]}
    )
    with pytest.raises(OptionError, match="output_name"):
        KServe(url + KSERVE)


def test_a_model_without_batches(server):
    url, double = server
    double.routes[f"GET {KSERVE}"] = lambda body: METADATA | {"inputs": [METADATA["inputs"][0] | {"shape": [1]}]}
    double.routes[f"POST {KSERVE}/infer"] = lambda body: {
        "outputs": [
            {"name": "SCORES", "datatype": "FP32", "shape": [3], "data": probabilities(body["inputs"][0]["data"])[0]}
        ]
    }
    assert np.allclose(KServe(url + KSERVE).predict(TEXTS), probabilities(TEXTS))


def mlserver(row):
    return json.dumps([{"label": label, "score": score} for label, score in zip(LABELS, row, strict=True)])


def hugging_face_of_kserve(row):
    return str(dict(enumerate(row)))


@pytest.mark.parametrize(
    ("written", "labels", "options"),
    [(mlserver, LABELS, {}), (hugging_face_of_kserve, ("0", "1", "2"), {"outputs": "logits"})],
)
def test_scores_as_strings(server, written, labels, options):
    url, double = server
    scores = logits if options else probabilities
    double.routes[f"POST {KSERVE}/infer"] = lambda body: {
        "outputs": [tensor("SCORES", [[written(row)] for row in scores(body["inputs"][0]["data"])], "BYTES")]
    }
    model = KServe(url + KSERVE, **options)
    assert np.allclose(model.predict(TEXTS), probabilities(TEXTS))
    assert model.labels == labels


def test_classes_that_the_server_numbers_have_the_given_names(server):
    url, double = server
    rows = [["{0: 0.125, 1: 0.25, 2: 0.625}"], ["{2: 0.5, 1: 0.375, 0: 0.125}"]]
    answering(double, [tensor("SCORES", rows, "BYTES")])
    model = KServe(url + KSERVE, ["neg", "neutral", "pos"])
    assert model.predict(["a", "b"]).tolist() == [[0.125, 0.25, 0.625], [0.125, 0.375, 0.5]]
    assert model.labels == ("neg", "neutral", "pos")
    for wrong in ("{0: 0.5, 1: 0.5}", "{1: 0.5, 2: 0.25, 3: 0.25}", '{"neg": 0.5, "neutral": 0.25, "pos": 0.25}'):
        answering(double, [tensor("SCORES", [[wrong]], "BYTES")])
        with pytest.raises(ServiceError, match="expected a number for each of the classes"):
            model.predict(["a"])


def test_classes_that_the_server_names_have_no_numbers(server):
    url, double = server
    model = KServe(url + KSERVE)
    answering(double, [tensor("SCORES", [['{"neg": 0.25, "pos": 0.75}']], "BYTES")])
    assert model.predict(["a"]).tolist() == [[0.25, 0.75]]
    answering(double, [tensor("SCORES", [["{0: 0.25, 1: 0.75}"]], "BYTES")])
    with pytest.raises(ServiceError, match="expected a number for each of the classes"):
        model.predict(["b"])


def test_names_that_are_numbers_are_names_first(server):
    url, double = server
    answering(double, [tensor("SCORES", [["{0: 0.25, 1: 0.75}"]], "BYTES")])
    assert KServe(url + KSERVE, ["1", "0"]).predict(["a"]).tolist() == [[0.75, 0.25]]


def test_classifications_of_triton(server):
    url, double = server
    rows = [["0.75:2:pos", "0.25:0:neg: very"], ["0.5:0:neg: very", "0.5:2:pos"]]
    answering(double, [tensor("SCORES", rows, "BYTES")])
    model = KServe(url + KSERVE)
    assert model.predict(["a", "b"]).tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert model.labels == ("neg: very", "pos")


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], r"the outputs \[\], expected SCORES"),
        (None, "no list of outputs"),
        ([tensor("OTHER", [[0.5, 0.5]])], "the outputs .*OTHER"),
        ([tensor("SCORES", [[0.5, 0.5]]) | {"shape": [1, 3]}], r"2 numbers of shape \[1, 3\], expected 3"),
        ([tensor("SCORES", [[0.5, 0.5]]) | {"shape": [0]}], "the shape"),
        ([tensor("SCORES", [[0.5, 0.5]]) | {"shape": "x"}], "the shape 'x'"),
        ([tensor("SCORES", [[0.5, 0.5]]) | {"shape": [1, 1, 2]}], r"scores of shape \[1, 1, 2\]"),
        ([tensor("SCORES", [[0.5, 0.5]] * 3)], "answered 3 rows to 1 inputs"),
        ([tensor("SCORES", [["superb"]], "BYTES")], "as BYTES, expected scores as JSON"),
        ([tensor("SCORES", [[0.5, 0.5]], "BYTES")], "as BYTES, expected strings"),
    ],
)
def test_answers_that_are_wrong(server, outputs, message):
    url, double = server
    answering(double, outputs)
    with pytest.raises(ServiceError, match=message):
        KServe(url + KSERVE).predict(["a"])


@pytest.mark.parametrize("inputs", [["TEXT"], [{"name": ["a"], "datatype": "BYTES", "shape": [-1]}]])
def test_a_description_that_is_wrong(inputs, server):
    url, double = server
    double.routes[f"GET {KSERVE}"] = lambda body: METADATA | {"inputs": inputs}
    with pytest.raises(ServiceError, match="describes its inputs"):
        KServe(url + KSERVE)

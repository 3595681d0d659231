"""Templates of requests and places in answers, against a local server."""

import json
import pickle

import numpy as np
import pytest
from tests.servers import (
    INFO,
    KSERVE,
    LABELS,
    METADATA,
    TEI,
    V2,
    Refused,
    content,
    logits,
    probabilities,
    served,
    tensor,
)

from mase import Explainer
from mase.errors import CapabilityError, InvalidTextError, ModelError, OptionError, ServiceError
from mase.models import Callable, JSONService, KServe, TextEmbeddingsInference

TEXTS = ["a superb film", "dull", "not superb, not dull", "$inputs"]


def labelled(row, label="label", score="score"):
    pairs = sorted(zip(LABELS, row, strict=True), key=lambda pair: -pair[1])
    return [{label: name, score: value} for name, value in pairs]


def as_objects(body):
    return [dict(zip(LABELS, row, strict=True)) for row in probabilities(body["instances"])]


def as_labels_and_scores(body):
    items = [labelled(row) for row in probabilities(body["documents"])]
    return {"results": [{"labels": [i["label"] for i in row], "scores": [i["score"] for i in row]} for row in items]}


def as_hugging_face(body):
    assert body["parameters"] == {"top_k": None, "function_to_apply": "softmax"}
    return [labelled(probabilities([body["inputs"]])[0])]


def as_nested(body):
    rows = [{"a/b": [{"class": None, "classes": labelled(row, "name", "p")}]} for row in probabilities(body[1])]
    return {"data": {"rows": rows}}


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        (as_objects, {"request": {"instances": "$inputs"}}),
        (
            as_labels_and_scores,
            {"request": {"documents": "$inputs"}, "rows": "/results", "scores": "/scores", "row_labels": "/labels"},
        ),
        (
            as_hugging_face,
            {
                "request": {"inputs": "$input", "parameters": {"top_k": None, "function_to_apply": "softmax"}},
                "rows": "/0",
            },
        ),
        (
            as_nested,
            {
                "request": ["v1", "$inputs"],
                "rows": "/data/rows",
                "scores": "/a~1b/0/classes",
                "label": "name",
                "score": "p",
            },
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_services_of_many_forms(answer, options):
    with served({"POST /": answer}) as (url, _):
        model = JSONService(url + "/", **options)
        assert np.allclose(model.predict(TEXTS), probabilities(TEXTS))
        assert model.labels == LABELS


def test_an_item_without_a_field_is_refused():
    with pytest.raises(OptionError, match="expected JSON with strings that are fields"):
        JSONService("http://localhost:1", LABELS, item={"content": "Classify: $text"})


def test_pairs_and_records():
    with served({"POST /": lambda body: probabilities(body)}) as (url, double):
        model = JSONService(url, LABELS)
        record = {"title": "superb", "stars": 4}
        model.predict([record, ("a", "b"), "c"])
        assert double.requests[-1][2] == [record, {"text": "a", "text_pair": "b"}, "c"]
        double.routes["POST /"] = lambda body: probabilities([item["q"][0] for item in body])
        model = JSONService(url, LABELS, item={"q": ["$title"], "stars": "$stars", "lang": "en"})
        local = Callable(lambda records: probabilities([one["title"] for one in records]), LABELS, name=model.name)
        options = {"n_samples": 32, "background": {"stars": 0}}
        assert Explainer(model, **options)(record) == Explainer(local, **options)(record)
        assert double.requests[-1][2][0].keys() == {"q", "stars", "lang"}
        with pytest.raises(InvalidTextError, match=r"expected also \$title, \$stars"):
            model.predict(["a text"])


def test_one_number_per_text():
    with served({"POST /": lambda body: {"ratings": [len(text) / 10 for text in body]}}) as (url, _):
        model = JSONService(url, ["rating"], rows="/ratings", outputs="values")
        assert model.labels == ("rating",)
        found = Explainer(model, n_samples=32)("good film")
        assert np.allclose(found.scores, [0.45, 0.45], atol=0.1)
        assert JSONService(url, ["no", "yes"], rows="/ratings").predict(["abc"]).tolist() == [[0.7, 0.3]]


def test_one_named_value_per_text():
    with served({"POST /": lambda body: [{"stars": len(text) / 10} for text in body]}) as (url, _):
        model = JSONService(url, outputs="values")
        assert model.predict(["abc"]).tolist() == [[0.3]]
        assert model.labels == ("stars",)
        assert Explainer(model, n_samples=32)("good film").prediction.label == "stars"
        with pytest.raises(ServiceError, match="all classes, not the best"):
            JSONService(url).predict(["abc"])


def test_a_service_that_cannot_read_a_text_without_words_is_told_of_mask_tokens():
    def refusing(body):
        if not all(text.strip() for text in body):
            raise Refused(422, "a text is empty")
        return probabilities(body)

    routes = {"POST /refusing": refusing, "POST /dropping": lambda body: probabilities(list(filter(str.strip, body)))}
    with served(routes) as (url, _):
        for path in ("/refusing", "/dropping"):
            with pytest.raises(ServiceError, match=r"1 of the \d texts had all words masked; pass mask_token="):
                Explainer(JSONService(url + path, LABELS))("a superb film")
            Explainer(JSONService(url + path, LABELS, mask_token="..."))("a superb film")


def test_a_server_that_cannot_be_reached_has_no_need_of_mask_tokens():
    with served({"POST /classify": probabilities}) as (url, _):
        pass
    with pytest.raises(ServiceError) as caught:
        JSONService(url + "/classify", LABELS).predict(["a superb film", " "])
    assert "mask_token" not in str(caught.value)


def test_a_slash_at_the_end_is_kept():
    with served({"POST /classify/": probabilities, "POST /classify": probabilities}) as (url, double):
        for path in ("/classify/", "/classify"):
            model = JSONService(url + path, LABELS)
            model.predict(["a"])
            assert (double.requests[-1][0], model.name) == (path, url + "/classify")


def test_parameters_of_the_url():
    with served({"POST /": probabilities}) as (url, double):
        JSONService(url, LABELS, params={"api-version": "2026-01-01"}).predict(["a"])
        assert double.requests[0][0] == "/?api-version=2026-01-01"
        double.routes.clear()
        with pytest.raises(ServiceError) as caught:
            JSONService(url, LABELS, params={"api-version": "2026-01-01"}).predict(["a"])
        assert "api-version" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        ({"error": "busy"}, {"rows": "/predictions"}, r"answered \['error'\] where /predictions leads"),
        ([], {"rows": "/2"}, "answered 'list' where /2 leads"),
        ("text", {"rows": "/a/b"}, "answered 'str' where /a/b leads"),
        (
            [{"labels": ["a"], "scores": [0.5, 0.5]}],
            {"scores": "/scores", "row_labels": "/labels"},
            "two lists of the s",
        ),
        (
            [{"labels": ["a", "a"], "scores": [0.5, 0.5]}],
            {"scores": "/scores", "row_labels": "/labels"},
            r"\['a', 'a'\]",
        ),
    ],
)
def test_answers_that_are_wrong(answer, options, message):
    with served({"POST /": lambda body: answer}) as (url, _), pytest.raises(ServiceError, match=message):
        JSONService(url, **options).predict(["a"])


def test_a_served_model_is_described_as_one():
    with served({"POST /": lambda body: [[0.9, 0.1] for _ in body]}) as (url, _):
        description = JSONService(url, name="mine").description
    assert description.kind == "served model mine"
    assert description.labels_from == "the columns, numbered"
    assert "mase.models.JSONService(" in description.guesses[0].remedy
    with served({"POST /": as_objects}) as (url, _):
        description = JSONService(url, request={"instances": "$inputs"}).description
    assert (description.labels_from, description.guesses) == ("the answers of the model", ())


def test_scores_that_are_no_probabilities_name_the_class_of_the_model():
    message = r"pass JSONService\(\.\.\., multilabel=True\)"
    with served({"POST /": lambda body: [[0.9, 0.8]]}) as (url, _), pytest.raises(ModelError, match=message):
        JSONService(url, ["a", "b"]).predict(["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"request": {"texts": "inputs"}}, r"expected JSON with the string '\$inputs'"),
        ({"request": ["$input", "$inputs"]}, r"expected JSON with the string"),
        ({"rows": "predictions"}, "rows is 'predictions', expected a JSON pointer"),
        ({"scores": 3}, "scores is 3, expected a JSON pointer"),
    ],
)
def test_options_that_are_wrong(options, message):
    with pytest.raises(OptionError, match=message):
        JSONService("http://127.0.0.1:9", **options)


@pytest.mark.parametrize("outputs", ["probabilities", "logits", "values"])
def test_whole_numbers_are_numbers(outputs):
    """JSON of some languages writes 1.0 as 1."""
    one = {"probabilities": 1, "logits": 3, "values": 10**400}[outputs]

    def answer(body):
        return [one if "refund" in text else 0.25 for text in body["texts"]]

    with served({"POST /": answer}) as (url, _):
        labels = None if outputs == "values" else ["no", "yes"]
        model = JSONService(url, labels, request={"texts": "$inputs"}, outputs=outputs)
        if one == 10**400:
            with pytest.raises(ModelError, match="finite"):
                model.scores(["a refund"])
        else:
            assert model.scores(["a refund"])[0, -1] == one


KSERVE_TEXTS = ["a superb film", "dull", "not superb, not dull"]


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
    assert Explainer(model, n_samples=64)(KSERVE_TEXTS[2]) == Explainer(local, n_samples=64)(KSERVE_TEXTS[2])
    KServe(url, model="sentiment").predict(KSERVE_TEXTS)
    expected = {
        "name": "TEXT",
        "datatype": "BYTES",
        "shape": [3, 1],
        "data": KSERVE_TEXTS,
        "parameters": {"content_type": "str"},
    }
    assert asked(double) == [expected]
    assert double.requests[-1][2]["outputs"] == [{"name": "SCORES"}]


def test_a_version_and_a_prefix(server):
    url, double = server
    path = "/team%20a" + KSERVE + "/versions/3"
    double.routes |= {f"GET {path}": lambda body: METADATA, f"POST {path}/infer": V2[f"POST {KSERVE}/infer"]}
    for model in (KServe(url + path + "/infer"), KServe(url + "/team%20a" + KSERVE, version="3")):
        assert np.allclose(model.predict(KSERVE_TEXTS), probabilities(KSERVE_TEXTS))
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
    double.routes[f"GET {KSERVE}"] = lambda body: (
        METADATA
        | {"inputs": [one | {"name": name} for one, name in zip(described, ("text", "text_pair"), strict=False)]}
    )
    pairs = KServe(url + KSERVE, LABELS)
    assert (
        pairs.predict([("superb", "dull")]).tolist()
        == pairs.predict([{"text": "superb", "text_pair": "dull"}]).tolist()
    )
    assert [(one["name"], one["data"]) for one in asked(double)] == [("text", ["superb"]), ("text_pair", ["dull"])]
    for wrong in ("a text", record | {"stars": "three"}, {"premise": "superb", "other": "x"}):
        with pytest.raises(InvalidTextError):
            model.predict([wrong])


def test_a_server_that_describes_nothing(server):
    url, double = server
    double.routes[f"GET {KSERVE}"] = lambda body: {"name": "sentiment", "platform": "", "inputs": [], "outputs": []}
    KServe(url + KSERVE).predict(KSERVE_TEXTS)
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
    assert np.allclose(KServe(url + KSERVE).predict(KSERVE_TEXTS), probabilities(KSERVE_TEXTS))


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
    assert np.allclose(model.predict(KSERVE_TEXTS), probabilities(KSERVE_TEXTS))
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
def test_kserve_answers_that_are_wrong(server, outputs, message):
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


TEXT = "A superb cast, but not dull."


@pytest.fixture
def inference_server():
    with served(dict(TEI)) as (url, double):
        yield url, double


def local(**options):
    return Callable(logits, list(LABELS), outputs="logits", name="owner/sentiment", **options)


def test_inference_the_explanation_is_that_of_the_function_itself(inference_server):
    url, double = inference_server
    model = TextEmbeddingsInference(url)
    assert (model.name, model.labels) == ("owner/sentiment", LABELS)
    assert Explainer(model, n_samples=64, seed=2)(TEXT) == Explainer(local(), n_samples=64, seed=2)(TEXT)
    bodies = double.asked("/predict")
    assert max(len(body["inputs"]) for body in bodies) == INFO["max_client_batch_size"]
    assert {(body["raw_scores"], body["truncate"]) for body in bodies} == {(True, False)}


def test_probabilities_instead_of_logits(inference_server):
    model = TextEmbeddingsInference(inference_server[0] + "/predict", raw_scores=False, truncate=True)
    assert np.allclose(model.predict([TEXT, "dull"]), local().predict([TEXT, "dull"]), atol=1e-12)
    assert inference_server[1].asked("/predict")[0]["truncate"] is True


def test_a_pair_is_one_sequence_of_two(inference_server):
    url, double = inference_server
    model = TextEmbeddingsInference(url)
    pair = ("superb", "a dull film")
    assert model.predict([pair]).tolist() == local().predict([{"text": pair[0], "text_pair": pair[1]}]).tolist()
    assert double.asked("/predict")[-1]["inputs"] == [list(pair)]
    found = Explainer(model, n_samples=32)(pair)
    assert {unit.text for unit in found.units} == {"superb", "a", "dull", "film"}
    with pytest.raises(InvalidTextError, match="pair of texts"):
        model.predict([{"a": "x", "b": "y", "c": "z"}])


def test_an_empty_text_is_sent_as_a_space(inference_server):
    url, double = inference_server
    TextEmbeddingsInference(url).predict(["", ("", ""), ("", "x")])
    assert double.asked("/predict")[-1]["inputs"] == [[" "], [" ", ""], ["", "x"]]


def test_chosen_order_of_labels(inference_server):
    order = ["pos", "neg", "neutral"]
    model = TextEmbeddingsInference(inference_server[0], order)
    assert model.labels == tuple(order)
    assert model.predict(["superb"])[0].tolist() == local().predict(["superb"])[0][[2, 0, 1]].tolist()
    with pytest.raises(ServiceError, match="expected a number for each of the classes"):
        TextEmbeddingsInference(inference_server[0], ["good", "bad"]).predict(["superb"])


def test_labels_that_only_the_answers_tell(inference_server):
    url, double = inference_server
    del double.routes["GET /info"]
    model = TextEmbeddingsInference(url)
    assert model.labels == ("neg", "neutral", "pos")
    assert model.name == url
    assert pickle.loads(pickle.dumps(model)).known_labels == model.labels


def test_multilabel_and_one_class(inference_server):
    url, double = inference_server
    sigmoid = 1 / (1 + np.exp(-np.array(logits(["superb"]))))
    assert np.allclose(TextEmbeddingsInference(url, multilabel=True).predict(["superb"]), sigmoid)
    with pytest.raises(OptionError, match="raw_scores"):
        TextEmbeddingsInference(url, multilabel=True, raw_scores=False)
    double.routes["GET /info"] = lambda body: {"model_type": {"reranker": {"id2label": {"0": "relevant"}}}}
    double.faults = [content(b'[[{"label": "relevant", "score": 0.0}]]')]
    model = TextEmbeddingsInference(url)
    assert model.predict([("query", "text")]).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("kinds", [{"embedding": {"pooling": "cls"}}, {"splade": None}])
def test_another_model_than_a_classifier(inference_server, kinds):
    inference_server[1].routes["GET /info"] = lambda body: INFO | {"model_type": kinds}
    with pytest.raises(CapabilityError, match="expected a classifier"):
        TextEmbeddingsInference(inference_server[0])


@pytest.mark.parametrize("names", [["a"], [0, 5], {"x": "a"}, {"0": "a", "one": "b"}])
def test_labels_that_cannot_be_read(inference_server, names):
    inference_server[1].routes["GET /info"] = lambda body: {"model_type": {"classifier": {"id2label": names}}}
    with pytest.raises(ServiceError, match="id2label"):
        TextEmbeddingsInference(inference_server[0])

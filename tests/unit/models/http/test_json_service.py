"""Templates of requests and places in answers, against a local server."""

import numpy as np
import pytest
from tests.servers import LABELS, Refused, probabilities, served

from mase import Explainer
from mase.errors import InvalidTextError, ModelError, OptionError, ServiceError
from mase.models import Callable, JSONService

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

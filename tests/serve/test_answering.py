"""Tests of `mase_serve.worker`: a language model in the workbench."""

import socket
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from tests.language_models import Recall
from tests.serve.clients import browser, explain, last, wait

import mase
from mase.attribution.json import from_dict
from mase.errors import InvalidTextError
from mase.models.language.answers import Generated
from mase_serve.worker import CITE, Answering, Explain, Settings, prompt_of

RECALL = f"{Path(__file__).parents[1] / 'language_models.py'}:recall"
CONTEXT = {"one": "The cat sat. A bird sang.", "two": "The dog ran. It rained."}
PROMPT = CONTEXT | {"query": "Who moved?"}
IGNORE = [].append
ASK = Explain(PROMPT, None, CITE)


class Counting(Recall):
    n_generated = 0

    def generate(self, prompt, max_new_tokens):
        self.n_generated += 1
        return super().generate(prompt, max_new_tokens)


def explained(model, ask=ASK):
    told, said = [], []
    found = Answering(Generated(model)).explain(ask, told.append, said.append)
    assert told
    assert said == [found.answer.text] * found.answer.generated
    return found


def test_an_answer_has_the_sources_that_cite_finds():
    found, plain = explained(Recall()), mase.cite(Recall(), context=CONTEXT, query="Who moved?")
    assert [(one.name, one.scores) for one in found.responses] == [(one.name, one.scores) for one in plain.responses]
    assert (found.document, found.answer, found.method) == (plain.document, plain.answer, plain.method)
    assert found.answer.generated


def test_a_given_answer_rather_than_another():
    prompt, settings = PROMPT | {"answer": "The cat sat."}, Settings(method="mase-cite", units="document", evidence=0)
    found = explained(Recall(), Explain(prompt, None, settings, against="The dog ran."))
    assert not found.answer.generated
    assert found.title == "answer rather than The dog ran."
    assert found.words == tuple(CONTEXT.values())


def test_other_settings_generate_no_other_answer():
    model = Counting()
    answering = Answering(Generated(model))
    for seed in range(2):
        answering.explain(Explain(PROMPT, None, Settings(method="mase-cite", units="word", seed=seed)), IGNORE, IGNORE)
    assert model.n_generated == 1


def test_without_a_unit_the_answer_has_another_probability_and_the_model_answers_anew():
    answering = Answering(Generated(Recall()))
    found = answering.explain(ASK, IGNORE, IGNORE).of("The dog ran.")
    changed = answering.without(ASK, found, [2])
    assert found.words[2] == "The dog ran."
    assert changed.response < found.response
    assert answering.regenerate(ASK, found, [2]) == "The cat sat."
    assert answering.regenerate(ASK, found, [0, 2]) == "Nothing."


def test_a_prompt_is_texts_a_query_and_an_answer():
    assert prompt_of("A text.") == ({"context": "A text."}, "", None)
    assert prompt_of({"a": "x", "answer": "y", "query": "q"}) == ({"a": "x"}, "q", "y")
    assert prompt_of({"a": "x", "answer": " "})[2] is None
    with pytest.raises(InvalidTextError, match="'age'"):
        prompt_of({"age": 3})


@pytest.mark.slow
def test_a_served_language_model():
    with browser(RECALL) as client:
        assert wait(client, RECALL)["answers"]
        name = explain(client, RECALL, PROMPT, method="mase-cite", units="sentence", evidence=0)
        event, data = last(client, name)
        found = from_dict(data["attribution"])
        assert (event, found.answer.text) == ("done", "The cat sat. The dog ran.")
        assert "[1]" in data["html"]
        asked = {"units": [2], "response": "The dog ran."}
        changed = client.post(f"/api/explanations/{name}/without", json=asked).json()
        assert changed["response"] < found.of("The dog ran.").response
        answer = client.post(f"/api/explanations/{name}/answer", json={"units": [2]})
        assert answer.json() == {"text": "The cat sat."}
        assert client.post(f"/api/explanations/{name}/answer", json={"units": [9]}).status_code == 400


@pytest.mark.slow
def test_a_language_model_of_another_server_is_asked_there():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with browser("tiny", url=url) as client:
            assert url in wait(client, "tiny", "failed")["message"]

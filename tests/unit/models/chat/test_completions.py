"""Tests of `mase.models.chat.completions`, against a server on the loopback address."""

import asyncio
import json
import pickle
import time

import httpx
import pytest
from tests import servers
from tests.chat_server import CUT, EMPTY, PARTS, REFUSAL, ROUTE, TOOL, chat_served, endless, slow, told

from mase.errors import OptionError, ServiceError
from mase.models import Chat
from mase.models.chat.completions import split_address
from mase.models.chat.measures import measures

QUESTION = [{"role": "user", "content": "Cleo swims. Ada sings. What does Cleo do?"}]


def ask(url, **options):
    return Chat.openai(url, "look-up", **options).reply(QUESTION)


def test_a_server_is_asked_as_the_protocol_says():
    with chat_served() as (url, double):
        chat = Chat.openai(url, parameters={"seed": 3}, prices=(1.0, 2.0))
        assert (chat.name, chat.address) == ("look-up", url + ROUTE)
        assert chat.reply(QUESTION).text == "Cleo swims."
        assert double.asked(ROUTE) == [
            {"model": "look-up", "messages": QUESTION, "temperature": 0.0, "max_tokens": 512, "seed": 3}
        ]
        assert chat.bill.cost == pytest.approx((100 * 1 + 5 * 2) / 1e6)
        assert not chat.bill.estimated


def test_parameters_can_be_left_out():
    with chat_served() as (url, double):
        ask(url, temperature=None, max_tokens=None)
        assert double.asked(ROUTE) == [{"model": "look-up", "messages": QUESTION}]


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_an_address_may_name_the_route(end):
    with chat_served() as (url, double):
        assert ask(url + end).text == "Cleo swims."
        assert double.requests[-1][0] == ROUTE


def test_other_paths_are_kept():
    assert split_address("https://a.b/api/v1/chat/completions") == ("https://a.b", "/api/v1/chat/completions")
    assert split_address("https://a.b/openai/") == ("https://a.b", "/openai/chat/completions")


@pytest.mark.parametrize(
    ("answer", "text", "ended"),
    [
        (TOOL, "", "tool"),
        (REFUSAL, "I can't help with that.", "refusal"),
        (CUT, "Cleo swims and", "length"),
        (PARTS, "Cleo swims.", "stop"),
        (EMPTY, "", "stop"),
    ],
    ids=["tool", "refusal", "cut", "parts", "empty"],
)
def test_answers_that_are_no_plain_text(answer, text, ended):
    with chat_served(lambda messages: answer) as (url, _):
        reply = ask(url)
        assert (reply.text, reply.ended) == (text, ended)


@pytest.mark.parametrize("text", ["Клео плавает.", "克莱奥游泳。", "كليو تسبح", "🏊‍♀️"])
def test_answers_in_other_scripts(text, tmp_path):
    with chat_served(lambda messages: text) as (url, _):
        assert ask(url, archive=tmp_path / "a").text == text
        assert ask(url, archive=tmp_path / "a").text == text


@pytest.mark.parametrize(
    "fault",
    [servers.status(429, {"Retry-After": "0"}), servers.status(500), servers.status(503), servers.dropped],
    ids=["429", "500", "503", "cut"],
)
def test_what_passes_is_tried_again(fault):
    with chat_served() as (url, double):
        double.faults = [fault]
        assert ask(url).text == "Cleo swims."
        assert len(double.asked(ROUTE)) == 2


CHARGED = {"usage": {"prompt_tokens": 70, "completion_tokens": 3}}


def charged(status=500):
    """A fault: no answer, and a count of the tokens that it cost."""
    return lambda handler: handler.answer(status, json.dumps({"choices": [], **CHARGED}).encode())


@pytest.mark.parametrize("status", [500, 503, 200])
def test_what_failed_and_was_charged_counts(status, tmp_path):
    with chat_served() as (url, double):
        double.faults = [charged(status), servers.status(500)]
        chat = Chat.openai(url, "look-up", archive=tmp_path / "a", prices=(1.0, 2.0))
        reply = chat.reply(QUESTION)
        assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.n_rejected) == (
            "Cleo swims.",
            170,
            8,
            1,
        )
        assert (chat.n_sent, chat.bill.requests, chat.bill.tokens) == (2, 2, 178)
        assert chat.bill.cost == pytest.approx((170 + 2 * 8) / 1e6)
        chat.close()
        again = Chat.openai(url, "look-up", archive=tmp_path / "a", prices=(1.0, 2.0))
        assert again.reply(QUESTION) == reply
        assert (again.n_sent, again.bill) == (0, chat.bill)


def test_answers_without_a_message_are_not_paid_for_for_ever():
    with chat_served() as (url, double):
        double.faults, double.always = [charged(200)], True
        with pytest.raises(ServiceError, match="expected choices"):
            ask(url)
        assert len(double.asked(ROUTE)) == 3


def test_a_server_that_says_how_long_to_wait_is_waited_for():
    with chat_served() as (url, double):
        double.faults = [servers.status(429, {"Retry-After": "1"})]
        begun = time.monotonic()
        ask(url)
        assert time.monotonic() - begun >= 1


@pytest.mark.parametrize(
    ("fault", "options", "message"),
    [
        (servers.status(500), {"retries": 1}, r"answered 500 .*\(2 times\)"),
        (servers.status(401), {}, "token_env"),
        (servers.status(429), {"retries": 1}, "2 times"),
        (slow(0.5), {"timeout": 0.1, "retries": 0}, "within 0.1 seconds"),
        (servers.dropped, {"retries": 0}, "dropped the connection"),
        (endless, {"max_response_bytes": 2**18, "retries": 0}, "more than 262,144 bytes"),
        (servers.content(b"<html>"), {}, "expected JSON"),
        (told({"error": "no"}), {}, "expected choices"),
        (told({"choices": []}), {}, "expected choices"),
        (told({"choices": [{"message": {"content": 3}}]}), {}, "expected a text"),
    ],
    ids=["500", "401", "429", "slow", "dropped", "endless", "html", "error", "none", "number"],
)
def test_failures_say_what_is_wrong(fault, options, message):
    with chat_served() as (url, double):
        double.faults, double.always = [fault], True
        with pytest.raises(ServiceError, match=message):
            ask(url, **options)


def test_what_came_before_a_failure_is_kept(tmp_path):
    with chat_served() as (url, double):
        chat = Chat.openai(url, "look-up", archive=tmp_path / "a", concurrency=1, retries=0)
        double.faults = [lambda handler: handler.answer(200, json.dumps(PARTS).encode()), servers.status(500)]
        conversations = [([{"role": "user", "content": f"{i}. What does Ada do?"}], 0) for i in range(4)]
        with pytest.raises(ServiceError):
            chat.replies(conversations)
        kept, n_asked = chat.bill.requests, len(double.asked(ROUTE))
        assert kept >= 1
        chat.replies(conversations)
        assert len(double.asked(ROUTE)) == n_asked + 4 - kept


def test_the_key_is_in_the_environment_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_CHAT_KEY", "sk-very-secret-123456")

    def answer(messages):
        return "the key is sk-very-secret-123456"

    with chat_served(answer) as (url, double):
        chat = Chat.openai(url, "look-up", token_env="MY_CHAT_KEY", archive=tmp_path / "a")
        reply = chat.reply(QUESTION)
        assert double.requests[-1][1]["Authorization"] == "Bearer sk-very-secret-123456"
        chat.close()
        told_of = [reply.text, repr(chat), pickle.dumps(chat).decode("latin1"), (tmp_path / "a").read_text()]
        assert not any("secret" in text for text in told_of)
        with pytest.raises(OptionError, match="environment"):
            Chat.openai(url, "look-up", token_env="NOT_SET_ANYWHERE").reply(QUESTION)


def test_a_model_behind_an_address_can_be_sent_to_another_process():
    with chat_served() as (url, _):
        chat = pickle.loads(pickle.dumps(Chat.openai(url, timeout=5.0)))
        assert chat.reply(QUESTION).text == "Cleo swims."


def test_other_clients_are_three_lines():
    with chat_served() as (url, _):

        def call(messages):
            body = {"model": "look-up", "messages": messages}
            return httpx.post(url + ROUTE, json=body).json()["choices"][0]["message"]["content"]

        async def later(messages):
            async with httpx.AsyncClient() as client:
                answer = await client.post(url + ROUTE, json={"model": "look-up", "messages": messages})
                await asyncio.sleep(0)
                return answer.json()["choices"][0]["message"]["content"]

        assert [Chat(one).reply(QUESTION).text for one in (call, later)] == ["Cleo swims."] * 2


def test_an_address_of_embeddings_is_a_measure():
    def embed(body):
        rows = [{"index": i, "embedding": [len(text), text.count("s")]} for i, text in enumerate(body["input"])]
        return {"data": rows[::-1]}

    routes = {"POST /v1/embeddings": embed, "GET /v1/models": lambda body: {"data": [{"id": "e"}]}}
    with servers.served(routes) as (url, double):
        first = measures("embedding", label=None, embedding=url)["embedding"]
        assert first(["Ada sings.", "Ada sings."], "Ada sings.") == pytest.approx([1.0, 1.0])
        assert double.asked("/v1/embeddings") == [{"model": "e", "input": ["Ada sings."]}]
        double.faults = [told({"data": []})]
        with pytest.raises(ServiceError, match="0 vectors to 1 texts"):
            first(["a"], "a")


def test_requests_go_side_by_side():
    conversations = [([{"role": "user", "content": f"{i}. What does Ada do?"}], 0) for i in range(32)]
    with chat_served(seconds=0.05) as (url, double):
        Chat.openai(url, "look-up", concurrency=16).replies(conversations)
        assert 8 <= double.most_at_once <= 16


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"parameters": {"a": object()}}, "parameters"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_options_are_checked(options, named):
    with pytest.raises(OptionError, match=named):
        Chat.openai("http://localhost:1", "m", **options)


def test_a_model_is_looked_up_beside_the_address():
    routes = {"GET /api/v1/models": lambda body: {"data": [{"id": "prefixed"}]}}
    with servers.served(routes | {"GET /v1/models": lambda body: {"data": [{"id": "root"}]}}) as (url, _):
        assert Chat.openai(f"{url}/api/v1").model == "prefixed"
        assert Chat.openai(url).model == "root"

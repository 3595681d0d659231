"""Who splits texts, and what is said where nobody can."""

import inspect
import pickle
import re

import numpy as np
import pytest
import torch
from tests.completion_server import echo, engine, legacy, llama_cpp, llama_cpp_python, vllm
from tests.servers import Refused, dropped, served, status
from tests.unit.models.language.causal_models import byte_tokenizer

import mase
from mase.errors import CapabilityError, EmptyTextError, ModelError, OptionError, ScoreMismatchError, ServiceError
from mase.models import CompletionServer
from mase.models.language.base import LanguageModel
from mase.models.origin import dumps


def failing(body):
    raise Refused(404, "not found")


@pytest.mark.parametrize(
    "changes",
    [
        {"POST /tokenize": failing},
        {"POST /detokenize": failing},
        {"POST /tokenize": lambda body: {"tokens": []}},
        {"POST /tokenize": lambda body: {"tokens": [{"id": 1, "text": "a"}]}},
        {"POST /tokenize": lambda body: [[1, 2]]},
    ],
)
def test_a_server_that_does_not_split_texts_is_asked_with_text(changes):
    with served(vllm(engine(True)) | changes) as (url, _):
        assert CompletionServer(url).dialect == "echo-text"
        with pytest.raises(CapabilityError, match="expected the tokenizer of the model as tokenizer"):
            CompletionServer(url, dialect="vllm")


def test_a_page_at_props_is_no_llama_cpp():
    with served(vllm(engine()) | {"GET /props": lambda body: "<html>"}) as (url, _):
        assert CompletionServer(url).dialect == "vllm"
    with served(llama_cpp(engine())) as (url, _):
        assert CompletionServer(url, "any name").dialect == "llama.cpp"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dialect": "openai"}, "expected 'auto', 'vllm'"),
        ({"tokenizer": "Qwen/Qwen3-8B"}, "tokenizer is of type str, expected one of transformers"),
        ({"tolerance": 0}, "tolerance is 0, expected a positive number"),
        ({"tolerance": float("nan")}, "expected a positive number"),
        ({"batch_size": 0}, "batch_size is 0"),
    ],
)
def test_options_are_checked(options, said):
    with served(vllm(engine())) as (url, _), pytest.raises(OptionError, match=said):
        CompletionServer(url, **options)


def shifted(answer):
    """Return an answer of vLLM in which every token has the score of the one after it."""
    for choice in answer["choices"]:
        entries = choice["prompt_logprobs"] or []
        scores = [max(entry.items(), key=lambda item: item[1]["rank"])[1] for entry in entries[1:]]
        for held, after in zip(scores, [dict(one) for one in scores[1:]], strict=False):
            held["logprob"] = after["logprob"]
    return answer


def changed(routes, path, change):
    return routes | {path: lambda body: change(routes[path](body))}


def test_llama_cpp_python_is_refused_where_it_is_wrong():
    with served(llama_cpp_python(engine())) as (url, _), pytest.raises(ScoreMismatchError) as error:
        CompletionServer(url)
    of = engine()
    ids, reported = of.generated(of.ids("The capital of France is"), 8)
    assert ", ".join(f"{score:.2f}" for score in reported) in str(error.value)
    assert repr([of.text([token]) for token in ids]) in str(error.value)
    assert len(re.findall(r"-\d+\.\d\d", str(error.value))) == 16


def test_a_server_that_shifts_scores_is_refused_in_every_dialect():
    routes = changed(vllm(engine()), "POST /v1/completions", shifted)
    del routes["POST /detokenize"]
    with served(routes) as (url, _), pytest.raises(ScoreMismatchError):
        CompletionServer(url, dialect="vllm", tokenizer=engine().tokenizer)


def test_one_dialect_may_be_true_where_another_is_false():
    with served(changed(vllm(engine()), "POST /v1/completions", shifted)) as (url, _):
        assert CompletionServer(url, tokenizer=engine().tokenizer).dialect == "echo"


def test_false_scores_are_said_before_anything_else():
    routes = changed(vllm(engine()), "POST /v1/completions", shifted)
    completions = routes["POST /v1/completions"]

    def without_echo(body):
        if body.get("echo"):
            raise Refused(400, "echo is not supported")
        return completions(body)

    with served(routes | {"POST /v1/completions": without_echo}) as (url, _), pytest.raises(ScoreMismatchError):
        CompletionServer(url, tokenizer=engine().tokenizer)


def test_a_server_that_scores_nothing_is_refused_with_all_reasons():
    def refuse(body):
        raise Refused(400, "no log-probabilities")

    with (
        served(vllm(engine()) | {"POST /v1/completions": refuse}) as (url, _),
        pytest.raises(ServiceError, match=r"as vllm: .*400.*; as echo: .*400.*; as echo-text: .*400"),
    ):
        CompletionServer(url, tokenizer=engine().tokenizer)


@pytest.mark.parametrize("text", ["Paris", "ñ is"])
def test_tokens_that_are_split_in_another_way_are_not_compared(text, monkeypatch):
    of = engine()
    plain, pieces = of.generated, [of.ids(letter, special=False)[0] for letter in text]  # of ñ only the first byte

    def apart(ids, n):
        return plain(ids, len(pieces), pieces) if of.text(ids).endswith("France is") else plain(ids, n)

    monkeypatch.setattr(of, "generated", apart)
    with served(vllm(of, token_ids=False)) as (url, _):
        assert CompletionServer(url, tokenizer=of.tokenizer).dialect == "vllm"


@pytest.mark.parametrize("off", [0.4, 0.6])
def test_differences_up_to_the_tolerance_are_noise(off):
    def noisy(answer):
        for choice in answer["choices"]:
            for entry in (choice["prompt_logprobs"] or [])[1:]:
                for held in entry.values():
                    held["logprob"] -= off
        return answer

    with served(changed(vllm(engine()), "POST /v1/completions", noisy)) as (url, _):
        if off < 0.5:
            assert CompletionServer(url, tokenizer=engine().tokenizer).dialect == "vllm"
        else:
            with pytest.raises(ScoreMismatchError):
                CompletionServer(url, dialect="vllm", tokenizer=engine().tokenizer)
            assert CompletionServer(url, dialect="vllm", tokenizer=engine().tokenizer, tolerance=0.7)


def test_llama_cpp_without_grammars_of_tokens_is_refused():
    with (
        served(llama_cpp(engine(), grammars=False)) as (url, _),
        pytest.raises(ServiceError, match="which the grammar asks for"),
    ):
        CompletionServer(url)


def test_a_tokenizer_of_another_model_is_refused():
    with (
        served(vllm(engine())) as (url, _),
        pytest.raises(ServiceError, match="pass the tokenizer of the served model"),
    ):
        CompletionServer(url, dialect="vllm", tokenizer=byte_tokenizer())


def test_a_server_that_generates_nothing_cannot_be_checked():
    def silent(answer):
        for choice in answer["choices"]:
            choice["text"], choice["logprobs"], choice["token_ids"] = "", legacy(engine(), [], []), []
        return answer

    with (
        served(changed(vllm(engine()), "POST /v1/completions", silent)) as (url, _),
        pytest.raises(ServiceError, match="expected tokens to check its scores by"),
    ):
        CompletionServer(url, dialect="vllm")


TEXTS = ["The capital of France is", "Where is Paris? It is", "Who lives in the kitchen?"]


MESSAGES = [{"role": "user", "content": "Where is Paris?"}]


ANSWER = " Paris, naïve café."


# The routes of a server, whether its tokenizer puts a token before texts, the options, and the dialect that is found.
KINDS = {
    "vllm": (vllm, True, {}, "vllm"),
    "vllm-local-tokenizer": (vllm, True, {"tokenizer": engine(True).tokenizer}, "vllm"),
    "vllm-as-echo": (vllm, True, {"dialect": "echo"}, "echo"),
    "vllm-as-text": (vllm, True, {"dialect": "echo-text"}, "echo-text"),
    "llama.cpp": (llama_cpp, True, {}, "llama.cpp"),
    "echo": (echo, False, {"tokenizer": engine().tokenizer}, "echo"),
    "echo-text": (echo, False, {}, "echo-text"),
    "llama-cpp-python": (llama_cpp_python, True, {}, "echo-text"),
    "llama-cpp-python-local-tokenizer": (llama_cpp_python, True, {"tokenizer": engine(True).tokenizer}, "echo-text"),
}


every_kind = pytest.mark.parametrize("kind", KINDS)


def truth(of, prompt, answer):
    """Return the log-probabilities of the ids of an answer, each from a pass over what stands before it."""
    with torch.inference_mode():
        rows = [
            of.model(torch.tensor([[*prompt, *answer[:end]]])).logits[0, -1].log_softmax(-1)
            for end in range(len(answer))
        ]
    return [float(row[token]) for row, token in zip(rows, answer, strict=True)]


@every_kind
@pytest.mark.slow
def test_scores_are_those_of_the_model(kind):
    routes, bos, options, dialect = KINDS[kind]
    of = engine(bos)
    with served(routes(of)) as (url, _):
        server = CompletionServer(url, **options)
        assert server.dialect == dialect
        assert (server.name, server.sha256, server.n_setup) == ("tiny", None, 5)
        given, greedy = server.continuation(ANSWER), server.generate(TEXTS[0], 5)
        assert {place for span in given.spans for place in range(*span)} == {*range(len(ANSWER))}
        assert (len(greedy), given.text) == (5, ANSWER)
        assert (greedy.cut, given.cut) == ("max-new-tokens", None)
        assert greedy.text == of.shown(of.generated(of.ids(TEXTS[0]), 5)[0])
        found = server.log_probabilities(TEXTS, [given, greedy])
    assert [table.shape for table in found] == [(3, len(given)), (3, 5)]
    for answer, table in zip((given, greedy), found, strict=True):
        ids = of.ids(answer.text, special=False)
        assert len(ids) == len(answer)
        np.testing.assert_allclose(table, [truth(of, of.ids(text), ids) for text in TEXTS], atol=1e-4)


@pytest.mark.parametrize("kind", ["vllm", "vllm-local-tokenizer", "echo", "llama-cpp-python-local-tokenizer"])
def test_messages_are_rendered_by_the_chat_template(kind):
    routes, bos, options, _ = KINDS[kind]
    of = engine(bos)
    with served(routes(of)) as (url, _):
        server = CompletionServer(url, **options)
        answer = server.continuation(ANSWER)
        (found,) = server.log_probabilities([MESSAGES], [answer])
    # A server that takes text puts its first token before it.
    prompt = of.ids(of.chat(MESSAGES), special=server.dialect == "echo-text")
    np.testing.assert_allclose(found[0], truth(of, prompt, of.ids(ANSWER, special=False)), atol=1e-4)


def test_llama_cpp_renders_messages():
    of = engine()
    with served(llama_cpp(of)) as (url, _):
        server = CompletionServer(url)
        (found,) = server.log_probabilities([MESSAGES, "Who?"], [server.continuation(ANSWER)])
    for row, prompt in zip(found, (of.chat(MESSAGES), "Who?"), strict=True):
        np.testing.assert_allclose(row, truth(of, of.ids(prompt), of.ids(ANSWER, special=False)), atol=1e-4)


def test_messages_need_someone_who_renders_them():
    with served(echo(engine())) as (url, _):
        server = CompletionServer(url, dialect="echo-text")
        with pytest.raises(CapabilityError, match="expected the tokenizer of the model as tokenizer"):
            server.generate(MESSAGES, 3)


def test_prompts_are_sent_in_batches_and_come_back_in_their_order():
    of = engine()
    prompts = [f"One, two, {'three, ' * i}" for i in range(11)]
    with served(vllm(of)) as (url, double):
        server = CompletionServer(url, tokenizer=of.tokenizer, batch_size=4)
        answer = server.continuation(" Paris")
        double.requests.clear()
        (found,) = server.log_probabilities(prompts, [answer])
        assert sorted(len(body["prompt"]) for body in double.asked("/v1/completions")) == [3, 4, 4]
        assert len(double.requests) == 3
    np.testing.assert_allclose(found, [truth(of, of.ids(prompt), answer.ids) for prompt in prompts], atol=1e-4)


@pytest.mark.parametrize("routes", [vllm, llama_cpp])
def test_a_explained_answer_has_no_token_that_ends_it(routes, monkeypatch):
    of = engine()
    ids, scores = of.generated(of.ids(TEXTS[0]), 3)
    with served(routes(of)) as (url, _):
        server = CompletionServer(url, tokenizer=of.tokenizer)
        ended = [*ids, of.tokenizer.eos_token_id], [*scores, -0.5]
        monkeypatch.setattr(of, "generated", lambda *arguments: ended)
        found = server.generate(TEXTS[0], 20)
        assert (found.ids, found.cut) == (tuple(ids), None)


@pytest.mark.parametrize("routes", [vllm, llama_cpp, echo])
def test_an_answer_that_reached_the_end_of_the_window(routes, monkeypatch):
    of = engine()
    short = of.generated(of.ids(TEXTS[0]), 3)
    with served(routes(of)) as (url, _):
        server = CompletionServer(url, tokenizer=of.tokenizer)
        monkeypatch.setattr(of, "generated", lambda *arguments: short)
        assert server.generate(TEXTS[0], 20).cut == "window"


@pytest.mark.parametrize(
    "option", ["presence_penalty", "frequency_penalty", "dry_multiplier", "xtc_probability", "mirostat"]
)
def test_what_a_server_was_started_with_changes_no_answer(option):
    routes, of = llama_cpp(engine(True)), engine(True)
    answer = routes["POST /completion"]

    def started_with_it(body):
        changed = body.get(option, 1) and "grammar" not in body
        return answer(body | {"prompt": [*body["prompt"], *of.ids(" lives", special=False)]} if changed else body)

    with served(routes | {"POST /completion": started_with_it}) as (url, _):
        assert CompletionServer(url).generate(TEXTS[0], 5).text == of.shown(of.generated(of.ids(TEXTS[0]), 5)[0])


def test_no_answer_is_refused():
    of = engine()
    with served(vllm(of)) as (url, double):
        server = CompletionServer(url, tokenizer=of.tokenizer)
        completions = double.routes["POST /v1/completions"]
        double.routes["POST /v1/completions"] = lambda body: without_text(completions(body))
        with pytest.raises(ModelError, match="generated no text"):
            server.generate(TEXTS[0], 3)
        with pytest.raises(EmptyTextError):
            server.continuation("")


def without_text(answer):
    answer["choices"][0]["text"] = ""
    return answer


def test_a_model_is_named_unless_there_is_only_one():
    with served(vllm(engine()) | {"GET /v1/models": lambda body: {"data": [{"id": "a"}, {"id": "b"}]}}) as (
        url,
        double,
    ):
        with pytest.raises(OptionError, match=r"serves \['a', 'b'\]"):
            CompletionServer(url)
        server = CompletionServer(url + "/v1/", "b", name="ours", tokenizer=engine().tokenizer)
        assert {body["model"] for body in double.asked("/v1/completions")} == {"b"}
    assert server.name == "ours"


def test_an_address_without_a_list_of_models_is_told():
    with served(vllm(engine())) as (url, _), pytest.raises(OptionError, match="lists none at /v1/models"):
        CompletionServer(f"{url}/elsewhere")


def test_a_server_that_cannot_list_its_models_is_asked_by_name():
    def unlisted(body):  # as `transformers serve` without a cache of a hub
        raise Refused(500, "no cache")

    with (
        served({"GET /v1/models": unlisted}) as (url, _),
        pytest.raises(ServiceError, match=r"answered 500 .*pass model='NAME'"),
    ):
        CompletionServer(url)


def test_an_address_that_is_no_url_is_told_as_such():
    with pytest.raises(OptionError, match="does not begin with http:// or https://"):
        CompletionServer("localhost:8000")


def test_a_server_that_is_not_there():
    with pytest.raises(ServiceError, match="cannot be reached"):
        CompletionServer("http://127.0.0.1:1")


def test_what_passes_is_asked_again_and_what_does_not_ends_it():
    of = engine()
    with served(vllm(of)) as (url, double):
        server = CompletionServer(url, tokenizer=of.tokenizer, batch_size=1, retries=3)
        answer = server.continuation(" Paris")
        truths = [truth(of, of.ids(text), answer.ids) for text in TEXTS]
        double.faults += [status(429, {"Retry-After": "0"}), dropped, status(503)]
        np.testing.assert_allclose(server.log_probabilities(TEXTS, [answer])[0], truths, atol=1e-4)
        double.faults += [status(500, body=b'{"error": "out of memory"}')]
        with pytest.raises(ServiceError, match=r"500 .*out of memory"):
            server.log_probabilities(TEXTS, [answer])


def test_a_pickle_opens_and_checks_the_server_again(monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", "s3cr3t")
    with served(vllm(engine())) as (url, double):
        server = CompletionServer(url, token_env="OUR_TOKEN", tolerance=0.1, batch_size=3, dialect="echo-text")
        content = dumps(server)
        double.requests.clear()
        again = pickle.loads(content)
        assert again._opened == server._opened
        assert {"model", "dialect", "tokenizer", "batch_size", "tolerance", "name", "token_env"} == {*again._opened[1]}
        assert all(headers["Authorization"] == "Bearer s3cr3t" for _, headers, _ in double.requests)
        assert double.asked("/v1/completions")
    assert b"s3cr3t" not in content
    assert {*inspect.signature(CompletionServer).parameters} - {"base_url", "connection"} <= {*again._opened[1]}


def test_it_is_a_language_model_for_cite():
    of = engine()
    with served(vllm(of)) as (url, _):
        server = CompletionServer(url, tokenizer=of.tokenizer)
        assert isinstance(server, LanguageModel)
        found = mase.cite(
            server, context=["Paris is in France.", "The kitchen is clean."], query="Where?", answer="Paris"
        )
    assert len(found.units) == 2
    assert found.answer.text == "Paris"


@pytest.mark.parametrize("local", [True, False])
def test_special_tokens_are_those_of_the_tokenizer(local):
    of = engine()
    with served(vllm(of)) as (url, _):
        server = CompletionServer(url, tokenizer=of.tokenizer if local else None)
    special = of.tokenizer.eos_token
    assert server.special_spans(f"a {special} b") == (((2, 2 + len(special)),) if local else ())

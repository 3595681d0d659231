"""A server is not believed before its scores came back."""

import re

import pytest
from tests.completion_server import engine, legacy, llama_cpp, llama_cpp_python, vllm
from tests.servers import Refused, served
from tests.unit.models.language.causal_models import byte_tokenizer

from mase.errors import ScoreMismatchError, ServiceError
from mase.models import CompletionServer


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

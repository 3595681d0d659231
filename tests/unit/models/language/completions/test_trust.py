"""A server is not believed before its scores came back."""

import re

import pytest
from tests.completion_server import engine, legacy, llama_cpp, llama_cpp_python, vllm
from tests.servers import served
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
        assert CompletionServer(url).dialect == "echo"


@pytest.mark.parametrize("off", [0.2, 0.3])
def test_differences_up_to_the_tolerance_are_noise(off):
    def noisy(answer):
        for choice in answer["choices"]:
            for entry in (choice["prompt_logprobs"] or [])[1:]:
                for held in entry.values():
                    held["logprob"] -= off
        return answer

    with served(changed(vllm(engine()), "POST /v1/completions", noisy)) as (url, _):
        if off < 0.25:
            assert CompletionServer(url).dialect == "vllm"
        else:
            with pytest.raises(ScoreMismatchError):
                CompletionServer(url, dialect="vllm")
            assert CompletionServer(url, dialect="vllm", tolerance=0.5)


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

"""Who splits texts, and what is said where nobody can."""

import pytest
from tests.completion_server import engine, llama_cpp, vllm
from tests.servers import Refused, served

from mase.errors import CapabilityError, OptionError
from mase.models import CompletionServer


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

"""The dialect of vLLM: the right score for each token, or an error that says what came instead."""

import copy

import pytest

from mase.errors import ServiceError
from mase.models.language.completions.dialect import Row
from mase.models.language.completions.vllm import Vllm
from mase.models.language.protocol import Continuation

ANSWER = Continuation(" Paris.", (7, 8), ((0, 6), (6, 7)))
ROWS = [Row((1, 2, 3), ANSWER), Row((4,), ANSWER)]
DIALECT = Vllm("m")


def entry(token, score):
    """One token of a prompt: beside its own score stands that of the most probable one."""
    return {"99": {"logprob": -0.1, "rank": 1}, str(token): {"logprob": score, "rank": 5, "decoded_token": "x"}}


def good():
    """Return an answer to both rows, in the order in which a server may finish them."""
    first = [None, entry(2, -9.0), entry(3, -8.0), entry(7, -1.5), entry(8, 0.0)]
    second = [None, entry(7, -2.5), entry(8, -0.25)]
    return {"choices": [{"index": 1, "prompt_logprobs": second}, {"index": 0, "prompt_logprobs": first}]}


def test_scores_are_those_of_the_tokens_of_the_answer_by_the_index_of_the_prompt():
    assert DIALECT.scores(good(), ROWS) == [[-1.5, 0.0], [-2.5, -0.25]]
    body = DIALECT.score_body(ROWS)
    assert body["prompt"] == [[1, 2, 3, 7, 8], [4, 7, 8]]
    assert (body["prompt_logprobs"], body["max_tokens"], body["temperature"]) == (1, 1, 0)


def second(answer):
    return answer["choices"][0]


def replaced(entry):
    return lambda answer: second(answer)["prompt_logprobs"].__setitem__(1, entry)


FAULTS = {
    "no choices": lambda answer: answer.pop("choices"),
    "a row is lost": lambda answer: answer["choices"].pop(),
    "a row comes twice": lambda answer: second(answer).update(index=0),
    "a row too many": lambda answer: answer["choices"].append({"prompt_logprobs": []}),
    "no index": lambda answer: second(answer).pop("index"),
    "an index that is no number": lambda answer: second(answer).update(index="1"),
    "no scores": lambda answer: second(answer).update(prompt_logprobs=None),
    "too few tokens": lambda answer: second(answer)["prompt_logprobs"].pop(),
    "a truncated prompt": lambda answer: second(answer)["prompt_logprobs"].pop(0),
    "too many tokens": lambda answer: second(answer)["prompt_logprobs"].append(entry(5, -1.0)),
    "another token": replaced(entry(6, -1.0)),
    "no score of a token": replaced(None),
    "null": replaced(entry(7, None)),
    "NaN": replaced(entry(7, float("nan"))),
    "minus infinity": replaced(entry(7, float("-inf"))),
    "minus infinity as vLLM writes it": replaced(entry(7, -9999.0)),
    "a probability": replaced(entry(7, 0.3)),
    "true": replaced(entry(7, True)),
    "text": replaced(entry(7, "-1.0")),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_anything_else_is_refused(fault):
    answer = good()
    FAULTS[fault](answer)
    with pytest.raises(ServiceError, match=r"the server answered .*, expected "):
        DIALECT.scores(answer, ROWS)


def test_an_empty_prompt_has_no_score_of_the_first_token():
    answer = {"choices": [{"index": 0, "prompt_logprobs": [None, entry(8, -1.0)]}]}
    with pytest.raises(ServiceError, match="expected a prompt that is not empty"):
        DIALECT.scores(answer, [Row((), ANSWER)])


def test_what_is_generated_has_as_many_ids_as_scores():
    logprobs = {"tokens": [" Paris", "."], "token_logprobs": [-0.5, -0.25], "text_offset": [0, 6]}
    answer = {"choices": [{"index": 0, "text": " Paris.", "token_ids": [7, 8], "logprobs": logprobs}]}
    output = DIALECT.generated(answer)
    assert (output.text, output.ids, output.log_probabilities) == (" Paris.", (7, 8), (-0.5, -0.25))
    older = copy.deepcopy(answer)
    del older["choices"][0]["token_ids"]
    assert DIALECT.generated(older).ids is None
    answer["choices"][0]["token_ids"] = [7]
    with pytest.raises(ServiceError, match="as many of each"):
        DIALECT.generated(answer)
    answer["choices"][0]["logprobs"] = None
    with pytest.raises(ServiceError, match="the list 'tokens'"):
        DIALECT.generated(answer)

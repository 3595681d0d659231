"""The dialect of the server of llama.cpp: the tokens that a grammar forces, and nothing else."""

import pytest

from mase.errors import ServiceError
from mase.models.language.completions.dialect import Row
from mase.models.language.completions.llama_cpp import LlamaCpp
from mase.models.language.protocol import Continuation

ROW = Row((1, 2, 3), Continuation(" Paris.", (7, 8), ((0, 6), (6, 7))))
DIALECT = LlamaCpp("m")


def good(**changes):
    entries = [{"id": 7, "token": " Paris", "logprob": -1.5}, {"id": 8, "token": ".", "logprob": -0.25}]
    return {
        "content": " Paris.",
        "tokens_evaluated": 3,
        "truncated": False,
        "completion_probabilities": entries,
    } | changes


def test_the_answer_is_forced_and_its_scores_are_read():
    body = DIALECT.score_body([ROW])
    assert (body["prompt"], body["n_predict"], body["grammar"]) == ([1, 2, 3], 2, "root ::= <[7]> <[8]>")
    assert not body["cache_prompt"]
    assert DIALECT.scores(good(), [ROW]) == [[-1.5, -0.25]]


@pytest.mark.parametrize(
    "changes",
    [
        {"completion_probabilities": None},
        {"completion_probabilities": good()["completion_probabilities"][:1]},
        {"completion_probabilities": good()["completion_probabilities"][::-1]},
        {"completion_probabilities": [{"content": " Paris", "probs": [{"tok_str": " Paris", "prob": 0.2}]}] * 2},
        {"completion_probabilities": [{"id": 7, "token": " Paris", "prob": 0.2}, {"id": 8, "token": ".", "prob": 0.7}]},
        {"completion_probabilities": [{"id": 7, "token": " Paris", "logprob": -3.4e38}] * 2},
        {"truncated": True},
        {"tokens_evaluated": 2},
    ],
)
def test_anything_else_is_refused(changes):
    with pytest.raises(ServiceError, match=r"the server answered .*, expected "):
        DIALECT.scores(good(**changes), [ROW])


@pytest.mark.parametrize("answer", [None, [], "text", {"error": {"code": 400}}])
def test_no_answer_is_refused(answer):
    with pytest.raises(ServiceError):
        DIALECT.scores(answer, [ROW])

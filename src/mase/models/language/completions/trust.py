"""Whether the scores of a server are true: what it reports while it generates must come back for the same tokens."""

from collections.abc import Sequence

from mase.errors import ScoreMismatchError, ServiceError
from mase.models.language.completions.dialect import INCOMPLETE, Output, Row
from mase.models.language.completions.server import Server
from mase.models.language.protocol import Continuation

__all__ = ["N_CHECKED", "check"]

_PROMPTS = ("The capital of France is", "One, two, three, four, five, six, seven,")
_N_TOKENS = 8
# Rows that a check evaluates.
N_CHECKED = 2 * len(_PROMPTS) + 1


def check(server: Server, tolerance: float) -> None:
    """Compare the log-probabilities of greedy answers, as a server reports them, with its scores of the same tokens.

    Raises
    ------
    ScoreMismatchError
        If a difference is larger than `tolerance`.
    ServiceError
        If the server generates nothing, or cannot be compared.
    """
    prompts = server.splitting.prompts(_PROMPTS)
    outputs = server.generated(prompts, _N_TOKENS)
    pairs = [(prompt, output) for prompt, output in zip(prompts, outputs, strict=True) if output.text.strip()]
    answers = [_common(server.splitting.generated(output), output) for _, output in pairs]
    rows = [Row(prompt, answer) for (prompt, _), answer in zip(pairs, answers, strict=True) if answer]
    if not rows:
        raise ServiceError(
            f"the server generated {[output.text for output in outputs]!r:.80}, expected tokens to check its scores by"
        )
    reported = [output.log_probabilities for (_, output), answer in zip(pairs, answers, strict=True) if answer]
    crossed = Row(rows[0].prompt, rows[-1].answer)  # a server may know only what it would generate
    for row, given, before in zip(rows, server.scores([*rows, crossed]), reported, strict=False):
        _compare(row.answer, before[: len(given)], given, tolerance)


def _common(answer: Continuation, output: Output) -> Continuation:
    """Return the first tokens of an answer, as far as the server generated the same.

    Where it says no ids, the text was split again, perhaps otherwise.
    """
    if output.ids is not None:
        return answer
    same = 0
    for (start, end), token in zip(answer.spans, output.tokens, strict=False):
        if answer.text[start:end] != token or INCOMPLETE in token:
            break
        same += 1
    end = answer.spans[same - 1][1] if same else 0
    return Continuation(answer.text[:end], answer.ids[:same], answer.spans[:same])


def _compare(answer: Continuation, reported: Sequence[float], given: Sequence[float], tolerance: float) -> None:
    if max(abs(one - other) for one, other in zip(reported, given, strict=True)) <= tolerance:
        return
    tokens = [answer.text[start:end] for start, end in answer.spans]
    raise ScoreMismatchError(
        f"the server reported the log-probabilities {_listed(reported)} of the tokens {tokens!r} while it generated "
        f"them, and {_listed(given)} when it was given the same tokens to score, expected differences of at most "
        f"{tolerance:g}; its scores cannot be used. Ask another server, or pass a larger tolerance for one that "
        "computes with low precision"
    )


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in numbers)

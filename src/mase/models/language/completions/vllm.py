"""vLLM: `/v1/completions` with `prompt_logprobs`, the log-probabilities of the tokens of a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mase.models.language.completions.dialect import COMPLETIONS, LENGTH, Output, Row, choices, listed, number, refused

__all__ = ["Vllm"]


@dataclass(frozen=True, slots=True)
class Vllm:
    """Asks vLLM with token ids, so that prompt and answer are split into tokens alike in every row.

    Notes
    -----
    As in `vllm/entrypoints/openai/completion/protocol.py` of vLLM: `prompt_logprobs` of a choice is a list
    with one entry per token of the prompt. The first is null, and each of the others an object from token id (a string
    in JSON) to `logprob`, `rank` and `decoded_token`, in which the token of the prompt always is. `return_token_ids`
    adds the ids of generated tokens (since 0.10.2; without them, the generated text is split again). One token is
    generated per row and not used: vLLM takes `max_tokens` 0 only with `echo`.
    """

    model: str
    path: str = COMPLETIONS
    batch_size: int = 8

    def score_body(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the JSON of the request that scores n answers."""
        prompts = [[*row.prompt, *row.answer.ids] for row in rows]
        return {"model": self.model, "prompt": prompts, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 1}

    def scores(self, answer: Any, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities of the tokens of each answer."""
        return [_scores(choice, row) for choice, row in zip(choices(answer, len(rows)), rows, strict=True)]

    def generate_body(self, prompt: tuple[int, ...] | str, max_new_tokens: int) -> dict[str, Any]:
        """Return the JSON of the request that continues a prompt greedily, with the special tokens in the text."""
        return {
            "model": self.model,
            "prompt": list(prompt),
            "max_tokens": max_new_tokens,
            "temperature": 0,
            "repetition_penalty": 1.0,  # the default may be another one, from the files of the model
            "logprobs": 1,
            "return_token_ids": True,
            "skip_special_tokens": False,
        }

    def generated(self, answer: Any) -> Output:
        """Return what was generated."""
        (choice,) = choices(answer, 1)
        logprobs = choice.get("logprobs")
        tokens, values = listed(logprobs, "tokens"), listed(logprobs, "token_logprobs")
        ids = choice.get("token_ids")
        known = tuple(ids) if isinstance(ids, list) and all(isinstance(one, int) for one in ids) else None
        if len(tokens) != len(values) or len(known or tokens) != len(tokens):
            raise refused(f"{len(tokens)} tokens and {len(values)} log-probabilities", "as many of each")
        scores = tuple(number(value, token) for value, token in zip(values, tokens, strict=True))
        return Output(
            str(choice.get("text", "")), tuple(map(str, tokens)), known, scores, choice.get("finish_reason") == LENGTH
        )


def _scores(choice: dict[str, Any], row: Row) -> list[float]:
    entries, ids = listed(choice, "prompt_logprobs"), row.answer.ids
    n_prompt = len(row.prompt)
    if len(entries) != n_prompt + len(ids):
        raise refused(f"prompt_logprobs of {len(entries)} tokens", f"{n_prompt + len(ids)}, as were asked")
    if not n_prompt:
        raise refused("no log-probability for the first token", "a prompt that is not empty")
    return [_score(entry, token) for entry, token in zip(entries[n_prompt:], ids, strict=True)]


def _score(entry: Any, token: int) -> float:
    found = entry.get(str(token)) if isinstance(entry, dict) else None
    if not isinstance(found, dict):
        held = list(entry) if isinstance(entry, dict) else entry
        raise refused(f"log-probabilities of the tokens {held!r:.60}", f"that of token {token} among them")
    return number(found.get("logprob"), str(found.get("decoded_token")))

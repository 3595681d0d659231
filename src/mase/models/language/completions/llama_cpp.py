"""llama.cpp: `/completion` with a grammar that allows only the tokens of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mase.models.language.completions.dialect import Output, Row, listed, number, refused

__all__ = ["LlamaCpp"]

# A server may have been started with other values, as by --presence-penalty.
_GREEDY = {
    "temperature": 0,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "xtc_probability": 0.0,
    "mirostat": 0,
}


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """Lets the server of llama.cpp generate the given answer, and reads the log-probabilities on the way.

    Its server has no `echo` ("Only no echo is supported"), but a grammar that names token ids, as in
    ``root ::= <[12]> <[57]>``, leaves nothing else to generate, and `n_probs` without `post_sampling_probs` reports
    log-probabilities from before the grammar.

    Notes
    -----
    As in `tools/server/README.md` and `grammars/README.md` of llama.cpp since pull request 17816 (December 2025). An
    answer to `n_probs` has `completion_probabilities`, a list with `id`, `token` and `logprob` of each generated token.
    Its `stop_type` is "limit" where neither the model nor a stop word ended it.
    `cache_prompt` is off: with it, scores depend on what was asked before.
    """

    model: str
    path: str = "/completion"
    batch_size: int = 1

    def score_body(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the JSON of the request that scores one answer."""
        (row,) = rows
        grammar = "root ::= " + " ".join(f"<[{token}]>" for token in row.answer.ids)
        return {**self.generate_body(row.prompt, len(row.answer)), "grammar": grammar}

    def scores(self, answer: Any, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities of the tokens of the answer."""
        (row,) = rows
        n_read, cut = (answer.get("tokens_evaluated"), answer.get("truncated")) if isinstance(answer, dict) else (0, 0)
        if cut or n_read not in (None, len(row.prompt)):
            raise refused(f"a score after {n_read} tokens of the prompt", f"one after all {len(row.prompt)}")
        output = self.generated(answer)
        if output.ids != row.answer.ids:
            raise refused(
                f"the tokens {output.ids!r:.80}",
                f"{row.answer.ids!r:.80}, which the grammar asks for (llama.cpp does since December 2025)",
            )
        return [list(output.log_probabilities)]

    def generate_body(self, prompt: tuple[int, ...] | str, max_new_tokens: int) -> dict[str, Any]:
        """Return the JSON of the request that continues a prompt greedily."""
        return {
            "model": self.model,
            "prompt": list(prompt),
            "n_predict": max_new_tokens,
            **_GREEDY,
            "n_probs": 1,
            "cache_prompt": False,
        }

    def generated(self, answer: Any) -> Output:
        """Return what was generated."""
        entries = listed(answer, "completion_probabilities")
        if not all(isinstance(entry, dict) and isinstance(entry.get("id"), int) for entry in entries):
            raise refused(f"completion_probabilities {entries!r:.80}", "objects with id, token and logprob")
        tokens = tuple(str(entry.get("token")) for entry in entries)
        scores = tuple(number(entry.get("logprob"), token) for entry, token in zip(entries, tokens, strict=True))
        ids, cut = tuple(entry["id"] for entry in entries), answer.get("stop_type") == "limit"
        return Output(str(answer.get("content", "")), tokens, ids, scores, cut)

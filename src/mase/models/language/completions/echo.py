"""Servers that repeat the prompt with the log-probabilities of its tokens: `echo` with `logprobs`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mase.models.language.completions.dialect import (
    COMPLETIONS,
    INCOMPLETE,
    LENGTH,
    Output,
    Row,
    choices,
    number,
    refused,
)
from mase.text import Span

__all__ = ["Echo", "EchoText", "Echoed"]

# OpenAI writes a piece of a character as "bytes:" and its bytes in hexadecimal.
_BYTES = "bytes:"
_LISTS = ("tokens", "token_logprobs", "text_offset")


@dataclass(frozen=True, slots=True)
class Echo:
    """Asks with token ids: older models of OpenAI, vLLM, SGLang and several hosts.

    Notes
    -----
    As in `vllm/entrypoints/openai/completion/serving.py` of vLLM: `logprobs` of a choice has the lists `tokens`,
    `token_logprobs`, `top_logprobs` and `text_offset`, with an entry for each token of the prompt and then of the
    generated text. The log-probability of the first is null. One token is generated and not used, because some servers
    take `max_tokens` 0 for "no limit".
    """

    model: str
    path: str = COMPLETIONS
    batch_size: int = 1

    def score_body(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the JSON of the request that scores n answers."""
        return {**self._asked([[*row.prompt, *row.answer.ids] for row in rows], 1), "echo": True}

    def scores(self, answer: Any, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities of the tokens of each answer."""
        found = []
        for choice, row in zip(choices(answer, len(rows)), rows, strict=True):
            echoed, first = Echoed.of(choice), len(row.prompt)
            end = first + len(row.answer)
            if len(echoed.tokens) not in (end, end + 1):
                raise refused(f"{len(echoed.tokens)} tokens", f"the {end} that were asked and one that is generated")
            found.append(echoed.scores(range(first, end)))
        return found

    def generate_body(self, prompt: tuple[int, ...] | str, max_new_tokens: int) -> dict[str, Any]:
        """Return the JSON of the request that continues a prompt greedily."""
        return self._asked(prompt if isinstance(prompt, str) else list(prompt), max_new_tokens)

    def generated(self, answer: Any) -> Output:
        """Return what was generated."""
        (choice,) = choices(answer, 1)
        echoed = Echoed.of(choice)
        scores = tuple(echoed.scores(range(len(echoed.tokens))))
        return Output(echoed.text, echoed.tokens, None, scores, choice.get("finish_reason") == LENGTH)

    def _asked(self, prompt: Any, max_tokens: int) -> dict[str, Any]:
        return {"model": self.model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "logprobs": 1}


@dataclass(frozen=True, slots=True)
class EchoText(Echo):
    """Asks with text, where a server takes no token ids or its tokenizer is not known, such as llama-cpp-python.

    The answer begins at the token whose `text_offset` is the length of the prompt. If a token reaches over the end of
    the prompt, or the answer is split into other tokens than in other rows, its scores would not be comparable: a
    ServiceError says so.
    """

    def score_body(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the JSON of the request that scores n answers."""
        texts = [f"{row.prompt}{row.answer.text}" for row in rows]
        return {**self._asked(texts[0] if len(texts) == 1 else texts, 1), "echo": True}

    def scores(self, answer: Any, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities of the tokens of each answer."""
        found = []
        for choice, row in zip(choices(answer, len(rows)), rows, strict=True):
            echoed = Echoed.of(choice)
            tokens, spans = echoed.split(str(row.prompt), row.answer.text)
            if spans != row.answer.spans:
                raise refused(
                    f"the answer as the tokens {echoed.tokens[tokens.start : tokens.stop]!r:.100}",
                    f"{[row.answer.text[start:end] for start, end in row.answer.spans]!r:.100}, as after other "
                    "prompts; pass the tokenizer of the model as tokenizer",
                )
            found.append(echoed.scores(tokens))
        return found


@dataclass(frozen=True, slots=True)
class Echoed:
    """The text of a choice, its tokens, where each begins in the text, and its log-probability."""

    text: str
    tokens: tuple[str, ...]
    offsets: tuple[int, ...]
    log_probabilities: tuple[Any, ...]

    @classmethod
    def of(cls, choice: dict[str, Any]) -> "Echoed":
        """Return what stands in a choice.

        Raises
        ------
        ServiceError
            If it has no list of tokens, offsets or log-probabilities, or not as many of each.
        """
        held = choice.get("logprobs")
        if not isinstance(held, dict) or not all(isinstance(held.get(name), list) for name in _LISTS):
            got = f"logprobs with {list(held)!r:.100}" if isinstance(held, dict) else f"the logprobs {held!r:.60}"
            raise refused(
                got,
                f"the lists {', '.join(_LISTS)} in it; ask a server that knows echo with logprobs in completions, such "
                "as vLLM, or llama.cpp",
            )
        tokens, scores, offsets = (held[name] for name in _LISTS)
        if not len(tokens) == len(scores) == len(offsets) or not all(isinstance(one, int) for one in offsets):
            raise refused(
                f"{len(tokens)} tokens, {len(scores)} log-probabilities and {len(offsets)} offsets", "as many of each"
            )
        return cls(str(choice.get("text", "")), tuple(map(str, tokens)), tuple(offsets), tuple(scores))

    def scores(self, tokens: range) -> list[float]:
        """Return the log-probabilities of some of the tokens."""
        return [number(self.log_probabilities[token], self.tokens[token]) for token in tokens]

    def split(self, prompt: str, answer: str) -> tuple[range, tuple[Span, ...]]:
        """Return which tokens are the answer, and their spans in it.

        Raises
        ------
        ServiceError
            If the server did not repeat both, one token is part of both, or its offsets do not count characters.
        """
        if not self.tokens or not self.text.startswith(prompt + answer):
            raise refused(f"{self.text[-60:]!r} as the end of the text", f"all of the prompt and {answer[:60]!r}")
        start = self._shift() + len(prompt)
        end = start + len(answer)
        tokens = [token for token, offset in enumerate(self.offsets) if start <= offset < end]
        bounds = {*self.offsets, self.offsets[-1] + len(self.tokens[-1])}  # the generated token may be left out
        if not {start, end} <= bounds:
            raise refused(
                f"tokens that reach over an end of the answer {answer[:40]!r}",
                "tokens of the prompt and tokens of the answer; put the space between them into the answer, or pass "
                "the tokenizer of the model as tokenizer",
            )
        self._check_characters(tokens)
        # The pieces of one character begin at the same offset, and have the same span.
        begins = sorted({self.offsets[token] - start for token in tokens})
        spans = dict(zip(begins, pairwise([*begins, len(answer)]), strict=True))
        return range(tokens[0], tokens[-1] + 1), tuple(spans[self.offsets[token] - start] for token in tokens)

    def _check_characters(self, tokens: Sequence[int]) -> None:
        """Check that tokens stand in the text where their offsets say; a piece of a character has no text to compare.

        Offsets in bytes may be those of other tokens.
        """
        if self.text.isascii():
            return
        for token in tokens:
            piece, there = self.tokens[token].strip(), self.text[self.offsets[token] - self._shift() :]
            if not (_is_piece(piece) or there.lstrip().startswith(piece)):
                raise refused(
                    f"the offset {self.offsets[token]} for the token {self.tokens[token]!r:.40}, where the text has "
                    f"{there[:20]!r}",
                    "offsets that count characters, not bytes; use dialect='echo' and pass the tokenizer of the model "
                    "as tokenizer",
                )

    def _shift(self) -> int:
        """Return where the text begins: after the first token if that is a special one, which the text does not have.

        The offsets of vLLM count its characters.
        """
        first = self.tokens[0].strip() if self.tokens else ""
        return 0 if _is_piece(first) or self.text.lstrip().startswith(first) else len(self.tokens[0])


def _is_piece(token: str) -> bool:
    """Return whether a token is a piece of a character, which has no text of its own."""
    return INCOMPLETE in token or token.startswith(_BYTES)

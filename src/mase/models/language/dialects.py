"""How servers score a given answer: by echo, as vLLM or as llama.cpp does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

from mase.errors import CapabilityError, EmptyTextError, ModelError, ServiceError
from mase.models.language.base import Continuation, Prompt
from mase.models.language.prompts import grown
from mase.models.language.server_tokens import (
    COMPLETIONS,
    INCOMPLETE,
    LENGTH,
    Output,
    Row,
    TokenClient,
    choices,
    listed,
    number,
    refused,
)
from mase.text import Span

if TYPE_CHECKING:
    from mase.models.language.server_tokens import LocalTokenClient


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
        result = []
        for choice, row in zip(choices(answer, len(rows)), rows, strict=True):
            echoed, first = Echoed.of(choice), len(row.prompt)
            end = first + len(row.answer)
            if len(echoed.tokens) not in (end, end + 1):
                raise refused(f"{len(echoed.tokens)} tokens", f"the {end} that were asked and one that is generated")
            result.append(echoed.scores(range(first, end)))
        return result

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
        result = []
        for choice, row in zip(choices(answer, len(rows)), rows, strict=True):
            echoed = Echoed.of(choice)
            tokens, spans = echoed.split(str(row.prompt), row.answer.text)
            if spans != row.answer.spans:
                raise refused(
                    f"the answer as the tokens {echoed.tokens[tokens.start : tokens.stop]!r:.100}",
                    f"{[row.answer.text[start:end] for start, end in row.answer.spans]!r:.100}, as after other "
                    "prompts; pass the tokenizer of the model as tokenizer",
                )
            result.append(echoed.scores(tokens))
        return result


@dataclass(frozen=True, slots=True)
class Echoed:
    """The text of a choice, its tokens, where each begins in the text, and its log-probability."""

    text: str
    tokens: tuple[str, ...]
    offsets: tuple[int, ...]
    log_probabilities: tuple[Any, ...]

    @classmethod
    def of(cls, choice: dict[str, Any]) -> "Echoed":
        """Return what stands in a choice."""
        held = choice.get("logprobs")
        if not isinstance(held, dict) or not all(isinstance(held.get(name), list) for name in _LISTS):
            got = f"logprobs with {list(held)!r:.100}" if isinstance(held, dict) else f"the logprobs {held!r:.60}"
            raise refused(
                got,
                f"the lists {', '.join(_LISTS)} in it; ask a server that knows echo with logprobs in completions, such "
                "as vLLM, or llama.cpp",
            )
        tokens, scores, offsets = (held[name] for name in _LISTS)
        if not len(tokens) == len(scores) == len(offsets) or not all(isinstance(offset, int) for offset in offsets):
            raise refused(
                f"{len(tokens)} tokens, {len(scores)} log-probabilities and {len(offsets)} offsets", "as many of each"
            )
        return cls(str(choice.get("text", "")), tuple(map(str, tokens)), tuple(offsets), tuple(scores))

    def scores(self, tokens: range) -> list[float]:
        """Return the log-probabilities of some of the tokens."""
        return [number(self.log_probabilities[token], self.tokens[token]) for token in tokens]

    def split(self, prompt: str, answer: str) -> tuple[range, tuple[Span, ...]]:
        """Return which tokens are the answer, and their spans in it."""
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
        known = tuple(ids) if isinstance(ids, list) and all(isinstance(item, int) for item in ids) else None
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
    result = entry.get(str(token)) if isinstance(entry, dict) else None
    if not isinstance(result, dict):
        held = list(entry) if isinstance(entry, dict) else entry
        raise refused(f"log-probabilities of the tokens {held!r:.60}", f"that of token {token} among them")
    return number(result.get("logprob"), str(result.get("decoded_token")))


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


# What stands before an answer whose tokens are asked for. A chat template ends like this, too.
_BEFORE = "Answer:\n"


class Splitting(Protocol):
    """Turns prompts into what is sent, and answers into tokens."""

    def prompts(self, prompts: Sequence[Prompt]) -> Sequence[tuple[int, ...] | str]:
        """Return n prompts as ids or texts."""
        ...

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        ...

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer, without those that end it."""
        ...


@dataclass(frozen=True, slots=True)
class ByIds:
    """Prompts are sent as ids. The tokens of an answer are the same after every prompt."""

    token_client: TokenClient

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return n prompts as ids."""
        return self.token_client.prompts(prompts)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        return self.token_client.continuation(answer)

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer, without those that end it."""
        wanted = _written(output)
        if output.ids is None:
            return self.continuation(output.text)
        beginnings = self.token_client.beginnings(output.ids)
        end = next((n for n, text in enumerate(beginnings, 1) if text.strip() == wanted), None)
        if end is None:
            raise ServiceError(
                f"the tokens that the server generated read {beginnings[-1][:60]!r}, expected {output.text[:60]!r} as "
                "it says; pass the tokenizer of the served model as tokenizer"
            )
        text = beginnings[end - 1]
        return Continuation(text, output.ids[:end], grown(text, beginnings[:end]))


@dataclass(frozen=True, slots=True)
class ByText:
    """Prompts are sent as text. The server says where tokens begin, and no ids: tokens are numbered by their text.

    Attributes
    ----------
    dialect
        How the server is asked.
    ask
        Sends a request to it and returns the answer.
    token_client
        The tokenizer whose chat template turns messages into text; None if there is none.
    """

    dialect: EchoText
    ask: Callable[[dict[str, Any]], Any]
    token_client: "LocalTokenClient | None"

    def prompts(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return n prompts as texts."""
        if self.token_client is not None:
            return self.token_client.texts(prompts)
        texts = [prompt for prompt in prompts if isinstance(prompt, str)]
        if len(texts) != len(prompts):
            raise CapabilityError(
                "the server does not turn messages into text, expected the tokenizer of the model as tokenizer, or a "
                "text as template"
            )
        return texts

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        if not answer:
            raise EmptyTextError("answer '' has no token, expected at least one")
        body = {**self.dialect.generate_body(_BEFORE + answer, 1), "echo": True}
        (choice,) = choices(self.ask(body), 1)
        echoed = Echoed.of(choice)
        tokens, spans = echoed.split(_BEFORE, answer)
        ids = tuple(crc32(token.encode()) for token in echoed.tokens[tokens.start : tokens.stop])
        return Continuation(answer, ids, spans)

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer."""
        _written(output)
        return self.continuation(output.text)


def _written(output: Output) -> str:
    """Return what a server generated, without white space around it."""
    if not output.text.strip():
        raise ModelError("the server generated no text, expected an answer; pass one, or ask another question")
    return output.text.strip()

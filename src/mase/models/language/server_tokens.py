"""What completion servers are asked, and how the tokens in their answers are read."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mase.errors import EmptyTextError, OptionError, ServiceError
from mase.models.http.client import Client
from mase.models.language.base import Continuation, Prompt
from mase.models.language.prompts import PromptTokenizer, grown, plain

COMPLETIONS = "/v1/completions"
LENGTH = "length"  # the `finish_reason` of a text that a limit ended
INCOMPLETE = "\ufffd"  # in the place of a character of several tokens

# vLLM writes -9999 for minus infinity, and llama.cpp the smallest number of its type.
_LEAST = -9000.0
_ROUNDING = 1e-3


@dataclass(frozen=True, slots=True)
class Row:
    """An answer to score after a prompt, which is a tuple of token ids, or the text for servers that take no ids."""

    prompt: tuple[int, ...] | str
    answer: Continuation


@dataclass(frozen=True, slots=True)
class Output:
    """What a server generated: the text and its t tokens, their ids if it says them, and their log-probabilities.

    `cut` is whether it says that a limit ended the text, and not the model.
    """

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...] | None
    log_probabilities: tuple[float, ...]
    cut: bool = False


class Dialect(Protocol):
    """How one kind of server is asked to score an answer and to generate one.

    Attributes
    ----------
    path
        Where it takes requests.
    batch_size
        Number of rows in a request, unless the user says another.
    """

    @property
    def path(self) -> str:
        """Where it takes requests."""
        ...

    @property
    def batch_size(self) -> int:
        """Number of rows in a request."""
        ...

    def score_body(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the JSON of the request that scores n answers."""
        ...

    def scores(self, answer: Any, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities in the answer to it: for each row those of the tokens of its answer."""
        ...

    def generate_body(self, prompt: tuple[int, ...] | str, max_new_tokens: int) -> dict[str, Any]:
        """Return the JSON of the request that continues a prompt greedily."""
        ...

    def generated(self, answer: Any) -> Output:
        """Return what stands in the answer to it."""
        ...


def refused(got: str, expected: str) -> ServiceError:
    """Return the error for an answer of the server."""
    return ServiceError(f"the server answered {got}, expected {expected}; no score was kept")


def choices(answer: Any, n: int) -> list[dict[str, Any]]:
    """Return the choices of a completion in the order of its n prompts."""
    result = listed(answer, "choices")
    objects = [choice for choice in result if isinstance(choice, dict)]
    indices = [choice.get("index") for choice in objects]
    if sorted(index for index in indices if isinstance(index, int)) != list(range(n)) or len(result) != n:
        raise refused(f"choices with the indices {indices!r:.60}", f"one choice for each of {n} prompts")
    return sorted(objects, key=lambda choice: int(choice["index"]))


def listed(value: Any, name: str) -> list[Any]:
    """Return the list that an object has under a name."""
    result = value.get(name) if isinstance(value, dict) else None
    if not isinstance(result, list):
        keys = f"an object with {list(value)!r:.200}" if isinstance(value, dict) else f"{value!r:.60}"
        raise refused(keys, f"the list {name!r}")
    return result


def number(value: Any, token: str) -> float:
    """Return a log-probability."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _LEAST < value <= _ROUNDING:
        raise refused(f"the log-probability {value!r:.40} for the token {token!r:.60}", "a number from -9000 to 0")
    return min(float(value), 0.0)


class TokenClient(Protocol):
    """Turns prompts and answers into token ids, and ids into text."""

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts, with the special tokens that the model expects around them."""
        ...

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of an answer, which has no special tokens around it."""
        ...

    def beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all."""
        ...


@dataclass(frozen=True, slots=True)
class VllmTokenClient:
    """The routes `/tokenize`, which applies the chat template to `messages`, and `/detokenize` of vLLM."""

    client: Client
    model: str

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts."""
        asked: list[Mapping[str, Any]] = [
            {"prompt": prompt, "add_special_tokens": True}
            if isinstance(prompt, str)
            else {"messages": prompt, "add_generation_prompt": True, "add_special_tokens": False}
            for prompt in prompts
        ]
        return self._encoded(asked)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of an answer."""
        (ids,) = self._encoded([{"prompt": answer, "add_special_tokens": False}])
        return _continuation(answer, ids, self)

    def beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all."""
        bodies = [{"model": self.model, "tokens": list(ids[:end])} for end in range(1, len(ids) + 1)]
        return [_text(answer, "prompt") for answer in self.client.post("/detokenize", bodies)]

    def _encoded(self, asked: Sequence[Mapping[str, Any]]) -> list[tuple[int, ...]]:
        bodies = [{"model": self.model, **item} for item in asked]
        return [_ids(answer) for answer in self.client.post("/tokenize", bodies)]


@dataclass(frozen=True, slots=True)
class LlamaCppTokenClient:
    """The routes `/tokenize`, `/detokenize` and `/apply-template` of the server of llama.cpp."""

    client: Client

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts."""
        chats = [{"messages": prompt} for prompt in prompts if not isinstance(prompt, str)]
        texts = iter([_text(answer, "prompt") for answer in self.client.post("/apply-template", chats)])
        return self._encoded([prompt if isinstance(prompt, str) else next(texts) for prompt in prompts], special=True)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of an answer."""
        (ids,) = self._encoded([answer], special=False)
        return _continuation(answer, ids, self)

    def beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all."""
        bodies = [{"tokens": list(ids[:end])} for end in range(1, len(ids) + 1)]
        return [_text(answer, "content") for answer in self.client.post("/detokenize", bodies)]

    def _encoded(self, texts: Sequence[str], *, special: bool) -> list[tuple[int, ...]]:
        bodies = [{"content": text, "add_special": special, "parse_special": True} for text in texts]
        return [_ids(answer) for answer in self.client.post("/tokenize", bodies)]


def _continuation(answer: str, ids: tuple[int, ...], token_client: TokenClient) -> Continuation:
    if not ids:
        raise EmptyTextError(f"answer {answer!r:.60} has no token, expected at least one")
    beginnings = token_client.beginnings(ids)
    # Some tokenizers read a text without its first space.
    unread = answer.removesuffix(beginnings[-1]) if answer.endswith(beginnings[-1]) else ""
    return Continuation(answer, ids, grown(answer, [unread + beginning for beginning in beginnings]))


def _ids(answer: Any) -> tuple[int, ...]:
    ids = listed(answer, "tokens")
    if not all(isinstance(item, int) for item in ids):
        raise refused(f"the tokens {ids!r:.80}", "their ids")
    return tuple(ids)


def _text(answer: Any, name: str) -> str:
    text = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise refused(f"{answer!r:.80}", f"an object with the text {name!r}")
    return text


@dataclass(frozen=True, slots=True)
class LocalTokenClient:
    """A tokenizer of transformers. See `mase.models.language.server_tokens.TokenClient`."""

    tokenizer: PromptTokenizer

    @classmethod
    def of(cls, tokenizer: Any, owner: str) -> "LocalTokenClient":
        """Return the token_client of a tokenizer."""
        transformers = sys.modules.get("transformers")
        if transformers is None or not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
            raise OptionError(
                f"tokenizer is of type {type(tokenizer).__name__}, expected one of transformers, as in "
                "tokenizer=AutoTokenizer.from_pretrained(...)"
            )
        return cls(PromptTokenizer(tokenizer, owner, getattr(tokenizer, "chat_template", None) is not None))

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts."""
        return [self.tokenizer.prompt(prompt) for prompt in prompts]

    def texts(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return n prompts as texts; messages without the special token that a server puts before every text."""
        first = getattr(self.tokenizer.backend, "bos_token", None) or ""
        return [
            plain(prompt, self.tokenizer.owner)
            if isinstance(prompt, str) or not self.tokenizer.chat
            else self.tokenizer.rendered(prompt, answering=True).removeprefix(first)
            for prompt in prompts
        ]

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of an answer."""
        return self.tokenizer.continuation(answer)

    def beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all."""
        return [self.tokenizer.decoded(ids[:end]) for end in range(1, len(ids) + 1)]

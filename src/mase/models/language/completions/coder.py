"""Who turns prompts into token ids, and ids into text, where the server does: the routes of vLLM and of llama.cpp."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mase.errors import EmptyTextError
from mase.models.http.client import Client
from mase.models.language.completions.dialect import listed, refused
from mase.models.language.protocol import Continuation, Prompt
from mase.models.language.spans import grown

__all__ = ["Coder", "LlamaCppCoder", "VllmCoder"]


class Coder(Protocol):
    """Turns prompts and answers into token ids, and ids into text."""

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts, with the special tokens that the model expects around them.

        Raises
        ------
        InvalidTextError, ServiceError
            If messages cannot be turned into text.
        """
        ...

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of an answer, which has no special tokens around it.

        Raises
        ------
        EmptyTextError
            If it has none.
        """
        ...

    def beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all."""
        ...


@dataclass(frozen=True, slots=True)
class VllmCoder:
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
        bodies = [{"model": self.model, **one} for one in asked]
        return [_ids(answer) for answer in self.client.post("/tokenize", bodies)]


@dataclass(frozen=True, slots=True)
class LlamaCppCoder:
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


def _continuation(answer: str, ids: tuple[int, ...], coder: Coder) -> Continuation:
    if not ids:
        raise EmptyTextError(f"answer {answer!r:.60} has no token, expected at least one")
    beginnings = coder.beginnings(ids)
    # Some tokenizers read a text without its first space.
    unread = answer.removesuffix(beginnings[-1]) if answer.endswith(beginnings[-1]) else ""
    return Continuation(answer, ids, grown(answer, [unread + beginning for beginning in beginnings]))


def _ids(answer: Any) -> tuple[int, ...]:
    ids = listed(answer, "tokens")
    if not all(isinstance(one, int) for one in ids):
        raise refused(f"the tokens {ids!r:.80}", "their ids")
    return tuple(ids)


def _text(answer: Any, name: str) -> str:
    text = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise refused(f"{answer!r:.80}", f"an object with the text {name!r}")
    return text

"""Who turns prompts into token ids, and ids into text: a tokenizer on this machine, or the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mase.errors import CapabilityError
from mase.models.http.client import Client
from mase.models.language.completions.dialect import listed, refused
from mase.models.language.protocol import Prompt
from mase.models.language.template import plain

__all__ = ["Coder", "LlamaCppCoder", "LocalCoder", "VllmCoder", "rendered"]


class Coder(Protocol):
    """Turns prompts and answers into token ids, and ids into text."""

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts, with the special tokens that the model expects around them.

        Raises
        ------
        CapabilityError, ServiceError
            If messages cannot be turned into text.
        """
        ...

    def answer(self, text: str) -> tuple[int, ...]:
        """Return the ids of an answer, which has no special tokens around it."""
        ...

    def decoded(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of n sequences of ids; an incomplete character at its end is U+FFFD."""
        ...


@dataclass(frozen=True, slots=True)
class LocalCoder:
    """A tokenizer of transformers."""

    tokenizer: Any

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts."""
        texts = [rendered(self.tokenizer, prompt) for prompt in prompts]
        return [self._ids(text, special=isinstance(prompt, str)) for text, prompt in zip(texts, prompts, strict=True)]

    def answer(self, text: str) -> tuple[int, ...]:
        """Return the ids of an answer."""
        return self._ids(text, special=False)

    def decoded(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of n sequences of ids."""
        return [
            str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
            for ids in sequences
        ]

    def _ids(self, text: str, *, special: bool) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=special)["input_ids"])


def rendered(tokenizer: Any, prompt: Prompt) -> str:
    """Return a prompt as text: messages by the chat template of a tokenizer, up to where the answer begins.

    Raises
    ------
    CapabilityError
        If there are messages, but no tokenizer.
    InvalidTextError
        If the tokenizer has no chat template, and there is more than one message.
    """
    if isinstance(prompt, str):
        return prompt
    if tokenizer is None:
        raise CapabilityError(
            "the server does not turn messages into text, expected the tokenizer of the model as tokenizer, or a text "
            "as template"
        )
    if not tokenizer.chat_template:
        return plain(prompt, "the tokenizer")
    return str(tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True))


@dataclass(frozen=True, slots=True)
class VllmCoder:
    """The routes `/tokenize` and `/detokenize` of vLLM, which apply the chat template to messages (`messages`)."""

    client: Client
    model: str

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts."""
        return self._encoded([
            {"prompt": prompt, "add_special_tokens": True}
            if isinstance(prompt, str)
            else {"messages": prompt, "add_generation_prompt": True, "add_special_tokens": False}
            for prompt in prompts
        ])  # fmt: skip

    def answer(self, text: str) -> tuple[int, ...]:
        """Return the ids of an answer."""
        return self._encoded([{"prompt": text, "add_special_tokens": False}])[0]

    def decoded(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of n sequences of ids."""
        bodies = [{"model": self.model, "tokens": list(ids)} for ids in sequences]
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

    def answer(self, text: str) -> tuple[int, ...]:
        """Return the ids of an answer."""
        return self._encoded([text], special=False)[0]

    def decoded(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of n sequences of ids."""
        return [
            _text(answer, "content")
            for answer in self.client.post("/detokenize", [{"tokens": list(ids)} for ids in sequences])
        ]

    def _encoded(self, texts: Sequence[str], *, special: bool) -> list[tuple[int, ...]]:
        bodies = [{"content": text, "add_special": special, "parse_special": True} for text in texts]
        return [_ids(answer) for answer in self.client.post("/tokenize", bodies)]


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

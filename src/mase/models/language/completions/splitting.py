"""How answers are split into tokens: by ids, or by the offsets that a server gives to the tokens of a text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol
from zlib import crc32

from mase.errors import EmptyTextError, ModelError, ServiceError
from mase.models.language.completions.coder import Coder, rendered
from mase.models.language.completions.dialect import Output, choices
from mase.models.language.completions.echo import Echoed, EchoText
from mase.models.language.protocol import Continuation, Prompt
from mase.text import Span

__all__ = ["ByIds", "ByText", "Splitting"]

# What stands before an answer whose tokens are asked for. A chat template ends like this, too.
_BEFORE = "Answer:\n"


class Splitting(Protocol):
    """Turns prompts into what is sent, and answers into tokens."""

    def prompts(self, prompts: Sequence[Prompt]) -> Sequence[tuple[int, ...] | str]:
        """Return n prompts as ids or texts.

        Raises
        ------
        CapabilityError, ServiceError
            If messages cannot be turned into text.
        """
        ...

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer.

        Raises
        ------
        EmptyTextError
            If it has none.
        """
        ...

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer, without those that end it.

        Raises
        ------
        ModelError
            If there are none.
        ServiceError
            If the ids do not stand for the text.
        """
        ...


@dataclass(frozen=True, slots=True)
class ByIds:
    """Prompts are sent as ids. The tokens of an answer are the same after every prompt."""

    coder: Coder

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return n prompts as ids."""
        return self.coder.prompts(prompts)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        ids = self.coder.answer(answer) if answer else ()
        if not ids:
            raise EmptyTextError(f"answer is {answer!r}, expected a text with at least one token")
        return Continuation(answer, ids, _spans(answer, self._beginnings(ids)))

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer, without those that end it."""
        if not output.text.strip():
            raise ModelError("the server generated no text, expected an answer; pass answer, or another prompt")
        if output.ids is None:
            return self.continuation(output.text)
        beginnings = self._beginnings(output.ids)
        wanted = output.text.strip()
        end = next((n for n, text in enumerate(beginnings, 1) if text.strip() == wanted), None)
        if end is None:
            raise ServiceError(
                f"the tokens that the server generated read {beginnings[-1][:60]!r}, expected {output.text[:60]!r} as "
                "it says; pass the tokenizer of the served model as tokenizer"
            )
        text = beginnings[end - 1]
        return Continuation(text, output.ids[:end], _spans(text, beginnings[:end]))

    def _beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all t."""
        return self.coder.decoded([ids[:end] for end in range(1, len(ids) + 1)])


@dataclass(frozen=True, slots=True)
class ByText:
    """Prompts are sent as text. The server says where tokens begin, and no ids: tokens are numbered by their text.

    Attributes
    ----------
    dialect
        How the server is asked.
    ask
        Sends a request to it and returns the answer.
    tokenizer
        The tokenizer whose chat template renders messages; None if there is none.
    """

    dialect: EchoText
    ask: Callable[[dict[str, Any]], Any]
    tokenizer: Any

    def prompts(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return n prompts as texts, without the special token that the server puts before them."""
        first = getattr(self.tokenizer, "bos_token", None) or ""
        texts = [rendered(self.tokenizer, prompt) for prompt in prompts]
        return [
            text if isinstance(prompt, str) else text.removeprefix(first)
            for text, prompt in zip(texts, prompts, strict=True)
        ]

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        if not answer:
            raise EmptyTextError("answer is '', expected a text with at least one token")
        body = {**self.dialect.generate_body(_BEFORE + answer, 1), "echo": True}
        (choice,) = choices(self.ask(body), 1)
        echoed = Echoed.of(choice)
        tokens, spans = echoed.split(_BEFORE, answer)
        return _numbered(answer, echoed.tokens[tokens.start : tokens.stop], spans)

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer."""
        if not output.text.strip():
            raise ModelError("the server generated no text, expected an answer; pass answer, or another prompt")
        return self.continuation(output.text)


def _numbered(text: str, tokens: Sequence[str], spans: tuple[Span, ...]) -> Continuation:
    return Continuation(text, tuple(crc32(token.encode()) for token in tokens), spans)


def _spans(text: str, beginnings: Sequence[str]) -> tuple[Span, ...]:
    """Return the span of each token in a text, given the text of the first token, of the first two, and so on.

    Some tokenizers read a text without its first space. The last token ends with the text.
    """
    skipped = len(text) - len(beginnings[-1]) if text.endswith(beginnings[-1]) else 0
    ends = [0]
    for beginning in beginnings:
        ends.append(max(ends[-1], _shared(text, text[:skipped] + beginning)))
    ends[-1] = len(text)
    return tuple(pairwise(ends))


def _shared(text: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    different = (index for index, (one, two) in enumerate(zip(text, other, strict=False)) if one != two)
    return next(different, min(len(text), len(other)))

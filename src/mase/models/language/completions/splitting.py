"""How answers are split into tokens: by ids, or by the offsets that a server gives to the tokens of a text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

from mase.errors import CapabilityError, EmptyTextError, ModelError, ServiceError
from mase.models.language.completions.coder import Coder
from mase.models.language.completions.dialect import Output, choices
from mase.models.language.completions.echo import Echoed, EchoText
from mase.models.language.protocol import Continuation, Prompt
from mase.models.language.spans import grown

if TYPE_CHECKING:
    from mase.models.language.completions.local import LocalCoder

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
        return self.coder.continuation(answer)

    def generated(self, output: Output) -> Continuation:
        """Return the tokens of a generated answer, without those that end it."""
        wanted = _written(output)
        if output.ids is None:
            return self.continuation(output.text)
        beginnings = self.coder.beginnings(output.ids)
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
    coder
        The tokenizer whose chat template turns messages into text; None if there is none.
    """

    dialect: EchoText
    ask: Callable[[dict[str, Any]], Any]
    coder: "LocalCoder | None"

    def prompts(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return n prompts as texts."""
        if self.coder is not None:
            return self.coder.texts(prompts)
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

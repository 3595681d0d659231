"""What a language model was taken for, for `mase.check`."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from mase.models.description import Guess, precision_of
from mase.models.language.protocol import LanguageModel

__all__ = ["DescribedLanguageModel", "LanguageDescription", "description_of", "of_module"]

_PLAIN = (
    "pass a template that ends where the answer begins, as in '{context}\\n\\nQuestion: {query}\\nAnswer:', or set the "
    "chat template of the tokenizer"
)


@dataclass(frozen=True, slots=True)
class LanguageDescription:
    """What an object was taken for.

    Attributes
    ----------
    kind
        The kind of model, such as "causal language model LlamaForCausalLM".
    messages
        How messages become a prompt; None if that is not known.
    context_length
        Largest number of tokens of a prompt and its answer; None without a limit, or if it is not known.
    stops
        The tokens that end an answer; empty if they are not known.
    device, precision
        The device and the data type of the weights; None where they are not known.
    guesses
        What was guessed.
    """

    kind: str
    messages: str | None = None
    context_length: int | None = None
    stops: tuple[str, ...] = ()
    device: str | None = None
    precision: str | None = None
    guesses: tuple[Guess, ...] = ()


@runtime_checkable
class DescribedLanguageModel(Protocol):
    """A language model that describes itself."""

    @property
    def description(self) -> LanguageDescription:
        """What the model was taken for."""
        ...


def of_module(
    model: Any, owner: str, tokenizer: Any, context_length: int | None, stops: tuple[str, ...]
) -> LanguageDescription:
    """Return the description of a language model with a torch `module` on a `device`.

    `tokenizer` is its `mase.models.language.tokenizer.PromptTokenizer`.
    """
    known = tokenizer.chat or tokenizer.targets  # an encoder-decoder has no chats
    guesses = () if known else (Guess("prompts are plain text, without the turns of a chat", _PLAIN),)
    messages = "through the chat template of the tokenizer" if tokenizer.chat else "as plain text"
    kind = f"{owner} {type(model.module).__name__}"
    return LanguageDescription(kind, messages, context_length, stops, model.device, precision_of(model.module), guesses)


def description_of(model: LanguageModel) -> LanguageDescription:
    """Return the description of any language model; one that has none is described by its class."""
    return model.description if isinstance(model, DescribedLanguageModel) else LanguageDescription(type(model).__name__)

"""The adapter for language models: what is explained is the probability of their answers."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.language.generated import Generated
from mase.models.language.opening import generates, language_model
from mase.models.protocol import Model

__all__ = ["LanguageModelAdapter"]


@dataclass(frozen=True, slots=True)
class LanguageModelAdapter:
    """Accept a language model of this library or of transformers (with its tokenizer), or a pipeline of one."""

    understands: ClassVar[str] = "a language model with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object generates text."""
        return generates(model)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model with its answers.

        Raises
        ------
        OptionError
            If there is no tokenizer.
        """
        return Generated(language_model(model, tokenizer, name=name))

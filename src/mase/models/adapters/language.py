"""The adapter for language models: what is explained is the probability of their answers."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.language.generated import Generated
from mase.models.language.label_words import LabelWords
from mase.models.language.opening import generates, language_model
from mase.models.language.protocol import LabelledLanguageModel
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
        """Return the model with its answers, or the classifier that its label words make of it.

        Raises
        ------
        OptionError
            If there is no tokenizer, or the label words are invalid.
        """
        opened = language_model(model, tokenizer, name=name)
        if isinstance(opened, LabelledLanguageModel) and opened.labels is not None:
            return LabelWords(opened, opened.labels, template=opened.template)
        return Generated(opened)

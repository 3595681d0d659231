"""A language model that answers each prompt by itself, or with the answer that stands in a field beside it."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from mase.arrays import Floats
from mase.defaults import MAX_NEW_TOKENS
from mase.document import Document, Input
from mase.errors import InvalidTextError
from mase.links import LINKS_WITHOUT_CLASSES
from mase.models.identity import reads_of
from mase.models.language.given import ANSWER, AnswerProbe, GivenAnswer, prompt_fields
from mase.models.language.prompt_probe import having_read, prompt_tokens
from mase.models.language.protocol import LanguageModel, Prompt
from mase.models.language.template import Template
from mase.models.origin import Reopened
from mase.models.protocol import Binding
from mase.scalars import check_integer
from mase.several import check_texts
from mase.text import Tokens

__all__ = ["Generated", "check_max_new_tokens"]


class Generated(Reopened):
    """A language model and its answers to documents: one column, the log-probability of the answer of the document.

    The answer of a document is its field "answer", which is never masked and no part of the prompt. If it has none, it
    is the greedy answer of the model to the whole prompt. It is explained by deleting units from the prompt.

    Parameters
    ----------
    language_model
        The language model.
    template
        The prompt, in which the fields have their places; see `mase.models.language.template.Template.of`.
    max_new_tokens
        Largest number of tokens of a generated answer.

    Raises
    ------
    OptionError
        If an option is invalid.
    """

    has_embeddings = False
    returns_values = True
    references = ("delete",)
    labels = (ANSWER,)
    links = LINKS_WITHOUT_CLASSES["log-probabilities"]
    default_method = "mase-cite"

    def __init__(
        self,
        language_model: LanguageModel,
        *,
        template: Prompt | Template | None = None,
        max_new_tokens: int = MAX_NEW_TOKENS,
    ) -> None:
        self.language_model, self.max_new_tokens = language_model, check_max_new_tokens(max_new_tokens)
        self.template = template if template is None or isinstance(template, Template) else Template(template)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # What is opened again by its origin does not know the number that was set after it was opened.
        by_origin = None if self.origin is None else self.origin.reduced(self)
        if by_origin is None:
            return super().__reduce_ex__(protocol)
        return *by_origin, {"max_new_tokens": self.max_new_tokens}

    @property
    def name(self) -> str:
        """Name of the language model."""
        return self.language_model.name

    @property
    def sha256(self) -> str | None:
        """Checksum of its weights; None for a server."""
        return self.language_model.sha256

    @property
    def prompting(self) -> dict[str, Any]:
        """The largest number of tokens of an answer, and the template if it is not the default."""
        template = {} if self.template is None else {"template": self.template.prompt}
        return {**template, "max_new_tokens": self.max_new_tokens}

    def reads(self) -> dict[str, Any]:
        """Return how the language model reads prompts; empty for a server."""
        return reads_of(self.language_model)

    def encode(self, text: Input) -> Tokens:
        """Return the words of all fields of a document as tokens; those of the answer are fixed.

        Raises
        ------
        EmptyTextError
            If there is none.
        """
        document = Document.of(text)
        held = [field.name for field in document.fields if field.name == ANSWER]
        return prompt_tokens(self.language_model, Document.of(document, fixed=held))

    def bind(self, binding: Binding) -> AnswerProbe:
        """Return the probe of one document, whose answer is given or generated first.

        Raises
        ------
        CapabilityError
            If the space needs an embedding layer.
        OptionError
            If the template does not name the fields of the document.
        ModelError
            If the prompt is too long, or the model answers nothing.
        """
        return self._answered(binding.tokens.document).bind(binding)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return the log-probability `(n, 1)` of the answer of each document."""
        documents = [Document.of(text) for text in check_texts(texts, tuples=True)]
        rows = [self._answered(document).predict([document]) for document in documents]
        return np.concatenate(rows) if rows else np.empty((0, 1))

    def _answered(self, document: Document) -> GivenAnswer:
        """Return the model with the answer of a document."""
        prompt, given = prompt_fields(document.content), _given(document)
        template = Template.of(self.template, [*prompt])
        if given is not None:
            answer = self.language_model.continuation(given)
            return GivenAnswer(self.language_model, answer, template=template)
        model = having_read(self.language_model, template.filled(prompt))
        answer = model.generate(template.filled(prompt), self.max_new_tokens)
        return GivenAnswer(model, answer, template=template, generated=True)


def check_max_new_tokens(n: int) -> int:
    """Return the largest number of tokens of an answer, after a check.

    Raises
    ------
    OptionError
        If it is no integer >= 1.
    """
    return check_integer("max_new_tokens", n, 1)


def _given(document: Document) -> str | None:
    """Return the answer that stands in a document; None if there is none."""
    answer = next((field.content for field in document.fields if field.name == ANSWER), "")
    if not isinstance(answer, str):
        raise InvalidTextError(f"field 'answer' is {answer!r:.60}, expected a text")
    return answer if answer.strip() else None

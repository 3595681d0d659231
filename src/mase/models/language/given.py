"""A language model with a given answer: the log-probabilities of the answer and of its parts, whatever the prompt."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Answer, Note, Part
from mase.document import TEXT, Document, Input, Scalar
from mase.errors import OptionError
from mase.links import LINKS_WITHOUT_CLASSES, Output
from mase.models.language.prompt_probe import PromptProbe, having_read, prompt_tokens
from mase.models.language.protocol import Continuation, Cut, HalfLanguageModel, LanguageModel, Prompt
from mase.models.language.template import Template
from mase.models.protocol import Binding
from mase.models.rewriting import Content
from mase.several import check_texts
from mase.text import Span, Tokens, visible

__all__ = ["ANSWER", "AnswerProbe", "GivenAnswer", "columns_of", "prompt_fields"]

# The name of the response of the whole answer.
ANSWER = "answer"
_CUT: Mapping[Cut, str] = {
    "max-new-tokens": "max_new_tokens ended the answer, and not the model: it may go on; use a larger max_new_tokens",
    "window": "the end of the model's context window ended the answer, and not the model: it may go on; use a shorter "
    "context",
    "longest-answer": "the answer is as long as the model can give, and may be incomplete; ask for a shorter one",
}


class GivenAnswer:
    """A language model whose k columns are the log-probabilities of an answer, of its parts, and of another answer.

    It is explained by deleting units from the prompt. A field of the document that is called "answer" is no part of it.

    Parameters
    ----------
    language_model
        The language model.
    answer
        The answer.
    parts
        Spans of the answer, each of which is a response. Their tokens are those that overlap the span. The probability
        of a part is that of its tokens after the prompt and the answer so far.
    template
        The prompt, in which the fields of the document have their places.
    against
        Another answer, to compare with.
    generated
        Whether the model generated the answer.

    Raises
    ------
    OptionError
        If a part is no span of the answer or has no token, or both answers are the same.
    """

    has_embeddings = False
    returns_values = True
    references = ("delete",)
    links = LINKS_WITHOUT_CLASSES["log-probabilities"]
    default_method = "mase-cite"

    def __init__(
        self,
        language_model: LanguageModel,
        answer: Continuation,
        *,
        parts: Sequence[Span] = (),
        template: Template,
        against: Continuation | None = None,
        generated: bool = False,
    ) -> None:
        if against is not None and against.text == answer.text:
            raise OptionError(f"against is {against.text[:60]!r}, expected another text than the answer")
        self.language_model, self.template = language_model, template
        self._answers = (answer,) if against is None else (answer, against)
        self._columns = columns_of(answer, parts)
        names = _unique(
            [ANSWER, *(answer.text[start:end] for start, end in parts), *(a.text for a in self._answers[1:])]
        )
        self.labels = tuple(names)
        explained = [Part(*span, name) for span, name in zip(parts, names[1:], strict=False)]
        self.answer = Answer(answer.text, tuple(explained) or (Part(0, len(answer.text), ANSWER),), generated)
        lengths = [len(answer), *map(len, self._columns), *map(len, self._answers[1:])]
        self.output = Output("log-probabilities", n_tokens=tuple(lengths))
        self.name, self.sha256 = language_model.name, language_model.sha256

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if the answer was cut off."""
        cut = self._answers[0].cut
        return () if cut is None else (Note("answer-cut", _CUT[cut]),)

    @property
    def prompting(self) -> dict[str, Any]:
        """The template."""
        return {"template": self.template.prompt}

    def encode(self, text: Input) -> Tokens:
        """Return the words of all fields of a document as tokens.

        Raises
        ------
        EmptyTextError
            If there is none.
        """
        return prompt_tokens(self.language_model, Document.of(text))

    def bind(self, binding: Binding) -> "AnswerProbe":
        """Return the probe of one document.

        Raises
        ------
        CapabilityError
            If the space needs an embedding layer.
        OptionError
            If the template does not name the fields of the document.
        """
        return AnswerProbe.of(self, binding)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return the log-probabilities `(n, k)`."""
        contents = [Document.of(text).content for text in check_texts(texts, tuples=True)]
        return self.scores(contents) if contents else np.empty((0, len(self.labels)))

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return the log-probabilities `(n, k)` of the columns after n prompts, given the contents of their fields.

        Raises
        ------
        ModelError
            If a prompt is too long, or the model fails.
        """
        prompts = [self._prompt(text) for text in texts]
        answer, *others = self.language_model.log_probabilities(prompts, self._answers)
        whole = [table.sum(axis=1) for table in (answer, *others)]
        return np.stack([whole[0], *(answer[:, tokens].sum(axis=1) for tokens in self._columns), *whole[1:]], axis=1)

    def half(self) -> Self | None:
        """Return the same model in bfloat16; None if it has none, or if that would be slower."""
        if not isinstance(self.language_model, HalfLanguageModel):
            return None
        half = self.language_model.half()
        if half is None:
            return None
        return self._with(half)

    def reading(self, text: Content) -> Self:
        """Return the same model after it has read a prompt, given the contents of its fields."""
        return self._with(having_read(self.language_model, self._prompt(text)))

    def _prompt(self, text: Content) -> Prompt:
        return self.template.filled(prompt_fields(text))

    def _with(self, language_model: LanguageModel) -> Self:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__, language_model=language_model)
        return copy


@dataclass(frozen=True, slots=True)
class AnswerProbe(PromptProbe):
    """A language model with a given answer, bound to a prompt. See `mase.models.protocol.Probe`."""

    model: GivenAnswer

    @property
    def answer(self) -> Answer:
        """The answer."""
        return self.model.answer

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said of the answer."""
        return self.model.notes


def prompt_fields(content: Content) -> dict[str, Scalar]:
    """Return the contents of the fields that are parts of the prompt, by name."""
    fields: Mapping[str, Scalar] = content if isinstance(content, Mapping) else {TEXT: content}
    return {name: value for name, value in fields.items() if name != ANSWER}


def columns_of(answer: Continuation, parts: Sequence[Span]) -> list[Ints]:
    """Return the indices of the tokens of each part of an answer: those whose characters overlap its span.

    Raises
    ------
    OptionError
        If a part is no span of the answer, or has no token.
    """
    shown = [visible(answer.text, span) for span in answer.spans]
    columns = []
    for start, end in parts:
        if not 0 <= start < end <= len(answer.text):
            raise OptionError(f"part is ({start}, {end}), expected a span of the {len(answer.text)} characters")
        tokens = [i for i, span in enumerate(shown) if span is not None and span[0] < end and start < span[1]]
        if not tokens:
            raise OptionError(f"part {answer.text[start:end]!r:.60} has no token, expected a span with a word in it")
        columns.append(np.array(tokens))
    return columns


def _unique(names: Sequence[str]) -> list[str]:
    """Return the names, numbered where one occurs again."""
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        seen[name] += 1
        while (numbered := name if seen[name] == 1 else f"{name} ({seen[name]})") in unique:
            seen[name] += 1
        unique.append(numbered)
    return unique

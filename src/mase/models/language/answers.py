"""Language models as models of their answers: a given answer, a generated one, or words for labels."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, SupportsIndex

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution.response import Answer, Note, Part
from mase.defaults import MAX_NEW_TOKENS, check_integer
from mase.document import TEXT, Document, Input, Scalar, check_text, check_texts
from mase.errors import CapabilityError, InvalidTextError, OptionError
from mase.links import LINKS_WITHOUT_CLASSES, Output
from mase.models.base import Binding, Model
from mase.models.description import Description, language_description_of
from mase.models.function import BlackBox, CallableProbe, Content, Rewriter, word_tokens
from mase.models.language.base import (
    Continuation,
    Cut,
    Labels,
    LanguageModel,
    Prompt,
    log_probabilities,
)
from mase.models.language.prompts import Template
from mase.models.origin import Reopened, reads_of
from mase.responses import predictions
from mase.text import Span, Tokens, visible

# Rows that the language model gets at once. It orders them by length and makes its own batches of them.
_ROWS = 64


class PromptModel(BlackBox):
    """A language model whose prompts are made of the fields of a document, which are masked by deleting units."""

    references = ("delete",)
    language_model: LanguageModel

    def encode(self, text: Input) -> Tokens:
        """Return the words of all fields of a document as tokens."""
        return prompt_tokens(self.language_model, Document.of(text))

    def half(self) -> Self | None:
        """Return the same model in bfloat16; None if it has none, or if that would be slower."""
        half = self.language_model.half()
        return None if half is None else self._with(half)

    def reading(self, text: Content) -> Self:
        """Return the same model after it has read a prompt, given the contents of its fields."""
        return self._with(self.language_model.reading(self._prompt(text)))

    def _prompt(self, content: Content) -> Prompt:
        """Return the prompt of the contents of the fields."""
        raise NotImplementedError

    def _with(self, language_model: LanguageModel) -> Self:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__, language_model=language_model)
        return copy


@dataclass(frozen=True, slots=True)
class PromptProbe(CallableProbe):
    """A model of prompts, bound to a document. See `mase.models.base.Probe`."""

    model: PromptModel

    @classmethod
    def of(cls, model: PromptModel, binding: Binding) -> Self:
        """Return the probe of one document."""
        if not binding.space.binary:
            raise CapabilityError(
                "the prompt of a language model has no embedding layer to scale, expected a method that masks words; "
                "use method='mase-cite'"
            )
        document = binding.tokens.document
        document.check_masks()
        model = model.reading(document.content)
        start = model.scores([document.content])
        rewriter = Rewriter.of(binding.tokens, binding.coordinate_of_token)
        return cls(model, binding, rewriter, None, start, batch_size=_ROWS)

    @property
    def varies(self) -> bool | None:
        """Whether answers to the same row vary: log-probabilities do not."""
        return False

    @property
    def rounding(self) -> float:
        """Infinity if the language model rounds, as in half precision: an answer may be any number of tokens."""
        return math.inf if self.model.language_model.rounds else 0.0

    def half(self) -> Self | None:
        """Return the same probe in bfloat16; None if the model has none, or if that would be slower."""
        half = self.model.half()
        return None if half is None else replace(self, model=half.reading(self.binding.tokens.document.content))


def prompt_tokens(model: LanguageModel, document: Document) -> Tokens:
    """Return the words of all fields of a document as tokens, with the pieces that the model takes for special
    tokens.
    """
    tokens = word_tokens(document)
    return replace(tokens, special=model.special_spans(tokens.text))


# The name of the response of the whole answer.
ANSWER = "answer"

_CUT: Mapping[Cut, str] = {
    "max-new-tokens": "max_new_tokens ended the answer, and not the model: it may go on; use a larger max_new_tokens",
    "window": "the end of the model's context window ended the answer, and not the model: it may go on; use a shorter "
    "context",
    "longest-answer": "the answer is as long as the model can give, and may be incomplete; ask for a shorter one",
}


class GivenAnswer(PromptModel):
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
    """

    name: str
    labels: tuple[str, ...]
    sha256: str | None
    output: Output
    returns_values = True
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

    def bind(self, binding: Binding) -> "AnswerProbe":
        """Return the probe of one document."""
        return AnswerProbe.of(self, binding)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return the log-probabilities `(n, k)`."""
        contents = [Document.of(text).content for text in check_texts(texts, tuples=True)]
        return self.scores(contents) if contents else np.empty((0, len(self.labels)))

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return the log-probabilities `(n, k)` of the columns after n prompts, given the contents of their fields."""
        prompts = [self._prompt(text) for text in texts]
        answer, *others = log_probabilities(self.language_model, prompts, self._answers)
        whole = [table.sum(axis=1) for table in (answer, *others)]
        return np.stack([whole[0], *(answer[:, tokens].sum(axis=1) for tokens in self._columns), *whole[1:]], axis=1)

    def _prompt(self, text: Content) -> Prompt:
        return self.template.filled(prompt_fields(text))


@dataclass(frozen=True, slots=True)
class AnswerProbe(PromptProbe):
    """A language model with a given answer, bound to a prompt. See `mase.models.base.Probe`."""

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
    """Return the indices of the tokens of each part of an answer: those whose characters overlap its span."""
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


class Generated(Reopened, Model):
    """A language model and its answers to documents: one column, the log-probability of the answer of the document.

    The answer of a document is its field "answer", which is never masked and no part of the prompt. If it has none, it
    is the greedy answer of the model to the whole prompt. It is explained by deleting units from the prompt.

    Parameters
    ----------
    language_model
        The language model.
    template
        The prompt, in which the fields have their places; see `mase.models.language.prompts.Template.of`.
    max_new_tokens
        Largest number of tokens of a generated answer.
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
        """Return the words of all fields of a document as tokens; those of the answer are fixed."""
        document = Document.of(text)
        held = [field.name for field in document.fields if field.name == ANSWER]
        return prompt_tokens(self.language_model, Document.of(document, fixed=held))

    def bind(self, binding: Binding) -> AnswerProbe:
        """Return the probe of one document, whose answer is given or generated first."""
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
        model = self.language_model.reading(template.filled(prompt))
        answer = model.generate(template.filled(prompt), self.max_new_tokens)
        return GivenAnswer(model, answer, template=template, generated=True)


def check_max_new_tokens(n: int) -> int:
    """Return the largest number of tokens of an answer, after a check."""
    return check_integer("max_new_tokens", n, 1)


def _given(document: Document) -> str | None:
    """Return the answer that stands in a document; None if there is none."""
    answer = next((field.content for field in document.fields if field.name == ANSWER), "")
    if not isinstance(answer, str):
        raise InvalidTextError(f"field 'answer' is {answer!r:.60}, expected a text")
    return answer if answer.strip() else None


class LabelWords(Reopened, PromptModel):
    """A classifier of prompts: the probability of each label is that of its word as the answer of a language model.

    The probabilities of the words, with all of their tokens, are divided by their sum. The logits are the
    log-probabilities before that. It is explained by deleting units from the prompt.

    Parameters
    ----------
    language_model
        The language model.
    labels
        The words, at least two. A mapping has a word for each label, as in ``{"pos": "great", "neg": "terrible"}``.
    template
        The prompt, in which the fields of a document have their places, as for `mase.cite`; the text of a plain text is
        `{context}`. By default, the fields are the prompt.

    Raises
    ------
    OptionError
        If there are fewer than two labels, or the tokens of a word begin with all of those of another one.

    Notes
    -----
    After a prompt that is text, the words begin with a space, unless the tokenizer adds one itself or the template ends
    with white space. After a turn of a chat they are as given.

    What follows a word does not count, so that "no" has the probability of all answers that begin with "no". With "no"
    and "none" as labels, "none" could never be the more probable one if its tokens begin with that of "no"; such words
    are refused. A word with its end, such as "no.", can help. Of words of different length, a longer one tends to be
    less probable; compare predictions for several texts, not with one half.
    """

    name: str
    labels: tuple[str, ...]
    output = Output("logits")

    def __init__(self, language_model: LanguageModel, labels: Labels, *, template: Prompt | None = None) -> None:
        words = _words(labels)
        self.language_model, self.labels = language_model, tuple(words)
        self.template = None if template is None else Template(template)
        spaced = self._ends_open
        self.answers = tuple(_continuation(language_model, word, spaced=spaced) for word in words.values())
        _check_beginnings(self.answers)
        self.name = language_model.name

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights, the words and the template; None for a server."""
        if self.language_model.sha256 is None:
            return None
        words = [(label, answer.ids) for label, answer in zip(self.labels, self.answers, strict=True)]
        question = [self.language_model.sha256, words, None if self.template is None else self.template.prompt]
        return hashlib.sha256(json.dumps(question).encode()).hexdigest()

    @property
    def prompting(self) -> dict[str, Any]:
        """The words, with the space before them, and the template if it is not the default."""
        template = {} if self.template is None else {"template": self.template.prompt}
        return {
            **template,
            "words": {label: answer.text for label, answer in zip(self.labels, self.answers, strict=True)},
        }

    def reads(self) -> dict[str, Any]:
        """Return how the language model reads prompts; empty for a server."""
        return reads_of(self.language_model)

    @property
    def description(self) -> Description:
        """What the model was taken for."""
        inner = language_description_of(self.language_model)
        kind = f"label words of a {inner.kind}"
        return Description(kind, "labels", inner.device, inner.precision, context_length=inner.context_length)

    @property
    def _ends_open(self) -> bool:
        """Whether a prompt is text that does not end with white space."""
        prompt: Prompt = [] if self.template is None else self.template.prompt
        model = self.language_model
        chat = model.chat
        if not isinstance(prompt, str) and chat:
            return False
        text = prompt if isinstance(prompt, str) else "".join(message["content"] for message in prompt[-1:])
        return text == text.rstrip()

    def bind(self, binding: Binding) -> PromptProbe:
        """Return the probe of one document.

        Raises
        ------
        CapabilityError
            If the space needs an embedding layer.
        OptionError
            If the template does not name the fields of the document.
        """
        return PromptProbe.of(self, binding)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return the probabilities `(n, k)` of the labels."""
        contents = [Document.of(text).content for text in check_texts(texts, tuples=True)]
        return predictions(self.scores(contents), self.output) if contents else np.empty((0, len(self.labels)))

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return the log-probabilities `(n, k)` of the words after n prompts, given the contents of their fields.

        Raises
        ------
        ModelError
            If a prompt is too long, or the model fails.
        """
        tables = log_probabilities(self.language_model, [self._prompt(text) for text in texts], self.answers)
        return np.stack([table.sum(axis=1) for table in tables], axis=1)

    def _prompt(self, content: Content) -> Prompt:
        fields = {TEXT: content} if isinstance(content, str) else content
        return Template.of(self.template, fields).filled(fields)


def _words(labels: Labels) -> dict[str, str]:
    """Return the word of each label."""
    if isinstance(labels, str) or not isinstance(labels, Sequence | Mapping):
        raise OptionError(f"labels is {labels!r:.60}, expected words such as ['yes', 'no'], or a word for each label")
    words = dict(labels) if isinstance(labels, Mapping) else {label: label for label in labels}
    if len(words) < 2 or len(words) < len(labels):
        raise OptionError(f"labels is {labels!r:.80}, expected at least two different words")
    blank = next((label for label, word in words.items() if not check_text(word).strip()), None)
    if blank is not None:
        raise OptionError(f"the word of label {blank!r} is blank, expected what the model answers for this label")
    return words


def _continuation(model: LanguageModel, word: str, *, spaced: bool) -> Continuation:
    """Return the tokens of a word, after a space if it is to be spaced and the tokenizer does not add it itself.

    A tokenizer that does so gives a word the same tokens after another one as alone.
    """
    own = model.continuation(word)
    if not spaced or word[0].isspace() or model.continuation(f"{word} {word}").ids == own.ids * 2:
        return own
    return model.continuation(f" {word}")


def _check_beginnings(answers: Sequence[Continuation]) -> None:
    """Check that no word begins with all tokens of another one."""
    for index, answer in enumerate(answers):
        for other in (*answers[:index], *answers[index + 1 :]):
            if other.ids[: len(answer)] == answer.ids:
                raise OptionError(
                    f"label words {answer.text!r} and {other.text!r} begin with the same tokens, so that the second "
                    "can never be more probable, expected words of which none is the beginning of another one; add "
                    f"what ends them, as in {answer.text + '.'!r}, or choose other words"
                )

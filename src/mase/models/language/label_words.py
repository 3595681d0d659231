"""Label words: a language model as a classifier of prompts."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from mase.arrays import Floats
from mase.document import TEXT, Document, Input, check_text
from mase.errors import OptionError
from mase.links import Output, predictions
from mase.models.description import Description
from mase.models.identity import reads_of
from mase.models.language.description import description_of
from mase.models.language.prompt_probe import PromptProbe, having_read, prompt_tokens
from mase.models.language.protocol import (
    Continuation,
    HalfLanguageModel,
    LabelledLanguageModel,
    Labels,
    LanguageModel,
    Prompt,
)
from mase.models.language.template import Template
from mase.models.origin import Reopened
from mase.models.protocol import Binding
from mase.models.rewriting import Content
from mase.several import check_texts
from mase.text import Tokens

__all__ = ["LabelWords"]


class LabelWords(Reopened):
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

    has_embeddings = False
    references = ("delete",)
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
        return {**template, "words": {label: one.text for label, one in zip(self.labels, self.answers, strict=True)}}

    def reads(self) -> dict[str, Any]:
        """Return how the language model reads prompts; empty for a server."""
        return reads_of(self.language_model)

    @property
    def description(self) -> Description:
        """What the model was taken for."""
        inner = description_of(self.language_model)
        kind = f"label words of a {inner.kind}"
        return Description(kind, "labels", inner.device, inner.precision, context_length=inner.context_length)

    @property
    def _ends_open(self) -> bool:
        """Whether a prompt is text that does not end with white space."""
        prompt: Prompt = [] if self.template is None else self.template.prompt
        model = self.language_model
        chat = not isinstance(model, LabelledLanguageModel) or model.chat
        if not isinstance(prompt, str) and chat:
            return False
        text = prompt if isinstance(prompt, str) else "".join(message["content"] for message in prompt[-1:])
        return text == text.rstrip()

    def encode(self, text: Input) -> Tokens:
        """Return the words of all fields of a document as tokens.

        Raises
        ------
        EmptyTextError
            If there is none.
        """
        return prompt_tokens(self.language_model, Document.of(text))

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
        tables = self.language_model.log_probabilities([self._prompt(text) for text in texts], self.answers)
        return np.stack([table.sum(axis=1) for table in tables], axis=1)

    def half(self) -> Self | None:
        """Return the same model in bfloat16; None if it has none, or if that would be slower."""
        half = self.language_model.half() if isinstance(self.language_model, HalfLanguageModel) else None
        if half is None:
            return None
        return self._with(half)

    def reading(self, text: Content) -> Self:
        """Return the same model after it has read a prompt, given the contents of its fields."""
        return self._with(having_read(self.language_model, self._prompt(text)))

    def _with(self, language_model: LanguageModel) -> Self:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__, language_model=language_model)
        return copy

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
    for index, one in enumerate(answers):
        for other in (*answers[:index], *answers[index + 1 :]):
            if other.ids[: len(one)] == one.ids:
                raise OptionError(
                    f"label words {one.text!r} and {other.text!r} begin with the same tokens, so that the second can "
                    "never be more probable, expected words of which none is the beginning of another one; add what "
                    f"ends them, as in {one.text + '.'!r}, or choose other words"
                )

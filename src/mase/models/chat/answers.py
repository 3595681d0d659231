"""A chat model with a question is a Model: the agreement with an answer, or the label of a text."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution.response import Answer, Note, Part
from mase.document import TEXT, Document, Input, check_texts
from mase.errors import CapabilityError, ModelError, OptionError
from mase.links import Output
from mase.models.base import Binding
from mase.models.chat.archive import Reply
from mase.models.chat.chat import Chat, Messages
from mase.models.chat.measures import Measure
from mase.models.chat.parts import Conversation, Repairs
from mase.models.description import Description
from mase.models.function import BlackBox, CallableProbe, Content, Rewriter, word_tokens
from mase.models.language.prompts import Template
from mase.models.origin import Reopened
from mase.text import Tokens

METHOD = "mase-chat"
_ENDS = {
    "length": "were cut off by a limit: pass a larger max_tokens",
    "tool": "called a tool in place of a text, and count as empty",
    "refusal": "were refusals",
}


@dataclass(slots=True)
class Tally:
    """What is to be told of the answers to one text, each counted once.

    Attributes
    ----------
    seen
        The keys of the answers.
    ends
        How many ended in which way.
    unreadable
        How many named no label, and the first of them.
    repairs
        How conversations were kept valid.
    """

    seen: set[tuple[str, int]] = field(default_factory=set)
    ends: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    example: str = ""
    repairs: Repairs = field(default_factory=Repairs)

    def notes(self, chat: Chat) -> tuple[Note, ...]:
        """Return the notes."""
        n = len(self.seen)
        found = [
            Note("answers-ended", f"{count} of {n} answers {_ENDS[ended]}")
            for ended, count in sorted(self.ends.items())
            if ended in _ENDS
        ]
        if self.unreadable:
            message = (
                f"{self.unreadable} of {n} answers name none of the labels, or several, such as {self.example!r:.60}, "
                "and count as none of them; pass read=, or ask for the label alone in the prompt"
            )
            found.append(Note("unreadable", message))
        if self.repairs.dropped or self.repairs.held:
            dropped = f"{self.repairs.dropped} empty messages were dropped with their pair" * bool(self.repairs.dropped)
            held = f"{self.repairs.held} empty messages held a placeholder" * bool(self.repairs.held)
            message = f"so that conversations stay valid, {' and '.join(filter(None, (dropped, held)))}"
            found.append(Note("conversation", message))
        if chat.repaired:
            message = "the last line of the archive was damaged, as by a kill; it was removed and is asked again"
            found.append(Note("archive-repaired", message))
        return tuple(found)


class ChatModel(Reopened, BlackBox, ABC):
    """What the models of this module share: they are asked, and answer with text.

    Attributes
    ----------
    chat
        The chat model.
    tally
        What is to be told of the answers, for one text.
    n_after
        Requests that an explanation keeps for afterwards.
    proxy
        A cheap model that is asked the same, whose answers lower the error of the scores; None without one.
    """

    name: str
    sha256 = None
    references = ("delete",)
    default_method = METHOD
    labels: tuple[str, ...]
    links: tuple[str, ...]
    output: Output
    n_after = 0
    proxy: "ChatModel | None" = None

    def __init__(self, chat: Chat) -> None:
        self.chat, self.name, self.tally = chat, chat.name, Tally()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers."""
        return self.tally.notes(self.chat)

    @abstractmethod
    def messages(self, content: Content) -> Messages:
        """Return the conversation about the contents of the fields of a document."""

    @abstractmethod
    def read(self, replies: Sequence[Reply], *, first: Sequence[bool]) -> Floats:
        """Return the columns `(n, k)` of n answers, which are told of where they are the `first` of their kind."""

    def of_text(self, scores: Floats) -> Floats:
        """Return those of the columns `(n, k)` of the answers to the whole document whose mean is its prediction."""
        return scores

    def encode(self, text: Input) -> Tokens:
        """Return the words of all fields of a document as tokens."""
        return word_tokens(Document.of(text))

    def bind(self, binding: Binding) -> "ChatProbe":
        """Return the probe of one document."""
        return ChatProbe.of(self, binding)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return the columns `(n, k)` of the first answer to each document."""
        contents = [Document.of(text).content for text in check_texts(texts, tuples=True)]
        return self.scores(contents) if contents else np.empty((0, len(self.labels)))

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return the columns `(n, k)` of the first answer to n contents of the fields."""
        return self.asked(texts, [0] * len(texts))

    def asked(self, texts: Sequence[Content], repeats: Sequence[int]) -> Floats:
        """Return the columns `(n, k)` of the answers to n contents, each with the number of the repeat."""
        conversations = [self.messages(text) for text in texts]
        replies = self.chat.replies(list(zip(conversations, repeats, strict=True)))
        first = []
        for messages, repeat, reply in zip(conversations, repeats, replies, strict=True):
            key = (str(messages), repeat)
            first.append(key not in self.tally.seen)
            if first[-1]:
                self.tally.seen.add(key)
                self.tally.ends[reply.ended] += 1
        return self.read(replies, first=first)

    def begun(self) -> Self:
        """Return the same model, which has told of nothing so far."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__, tally=Tally())
        return copy


@dataclass(frozen=True, slots=True)
class ChatProbe(CallableProbe):
    """A chat model bound to a document. See `mase.models.base.Probe`.

    Attributes
    ----------
    varies
        Whether answers to the same messages differ, as it was said, or seen when the document was bound; None if it was
        not said, and not seen.
    n_asked
        How often each row was asked.
    """

    model: ChatModel
    varies: bool | None = False
    n_asked: Counter[bytes] = field(default_factory=Counter, compare=False)

    answers_only: ClassVar[bool] = True

    @classmethod
    def of(cls, model: ChatModel, binding: Binding) -> Self:
        """Return the probe of one document, whose scores are the mean of the planned answers to the whole of it."""
        if not binding.space.binary:
            raise CapabilityError(
                "a chat model has no embedding layer to scale, expected a method that masks words; use "
                f"method={METHOD!r}"
            )
        document = binding.tokens.document
        document.check_masks()
        model = model.begun()
        n, content = model.chat.repeats, document.content
        scores = model.asked([content] * n, range(n))
        varies = model.chat.varies
        if model.chat.varies is None and (scores != scores[0]).any():
            n, varies = _ONCE_SEEN, True
            scores = np.concatenate([scores, model.asked([content] * (n - len(scores)), range(len(scores), n))])
        rewriter = Rewriter.of(binding.tokens, binding.coordinate_of_token)
        start = model.of_text(scores).mean(axis=0, keepdims=True)
        size = max(8, model.chat.concurrency)
        return cls(model, binding, rewriter, None, start, n_setup=n, batch_size=size, varies=varies)

    @property
    def n_reserved(self) -> int:
        """Requests of an explanation that are not for its rows."""
        return self.n_setup + self.model.n_after

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers."""
        return self.model.notes

    @property
    def answer(self) -> Answer | None:
        """The explained answer; None for a label."""
        return self.model.answer if isinstance(self.model, ChatAnswer) else None

    @property
    def has_control(self) -> bool:
        """Whether there is a cheap model beside this one."""
        return self.model.proxy is not None

    def control(self, coordinates: Floats) -> Floats:
        """Return the scores `(b, k)` of the cheap model at coordinates `(b, p)`."""
        assert self.model.proxy is not None
        kept = self.binding.kept_tokens(coordinates, "a chat model")
        return self.model.proxy.scores([self.rewriter.content(one) for one in self.rewriter.masked_rows(kept, None)])

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; a row that is asked again gets another answer."""
        del rows
        kept = self.binding.kept_tokens(coordinates, "a chat model")
        contents = [self.rewriter.content(one) for one in self.rewriter.masked_rows(kept, None)]
        repeats = []
        for row in kept:
            key = np.packbits(row).tobytes()
            repeats.append(self.n_asked[key] + (self.n_setup if row.all() else 0))
            self.n_asked[key] += 1
        return self.model.asked(contents, repeats)


# Answers to the whole conversation, once two of them differ.
_ONCE_SEEN = 3


class ChatAnswer(ChatModel):
    """The agreement of new answers of a chat model with an explained one; a column for each measure.

    Parameters
    ----------
    chat, conversation, answer
        The model, what it is asked, and the explained answer.
    measures
        How answers are compared, the one to explain first.
    generated
        Whether the model gave this answer.
    """

    returns_values = True
    links = ("value",)
    output = Output("values")

    def __init__(
        self, chat: Chat, conversation: Conversation, answer: str, measures: Sequence[Measure], *, generated: bool
    ) -> None:
        super().__init__(chat)
        self.conversation, self.measures, self.explained = conversation, tuple(measures), answer
        self.labels = tuple(one.name for one in measures)
        if len(set(self.labels)) < len(self.labels):
            raise OptionError(f"measures are called {', '.join(self.labels)}, expected a name of its own for each")
        self.answer = Answer(answer, (Part(0, len(answer), self.labels[0]),), generated)

    @property
    def prompting(self) -> dict[str, Any]:
        """The parameters of the requests and what stands in the prompt."""
        return {"parameters": dict(self.chat.parameters), **self.conversation.settings}

    def messages(self, content: Content) -> Messages:
        """Return the conversation."""
        return self.conversation.messages(content, self.tally.repairs)

    def read(self, replies: Sequence[Reply], *, first: Sequence[bool]) -> Floats:
        """Return the agreement `(n, k)` of n answers with the explained one."""
        texts = [reply.text for reply in replies]
        if self.chat.reader is not None:
            for text, is_first in zip(texts, first, strict=True):
                if is_first and self.chat.reader(text) is None:
                    self.tally.unreadable, self.tally.example = self.tally.unreadable + 1, self.tally.example or text
        return np.array([one.values(texts, self.explained) for one in self.measures], dtype=np.float64).T

    def of_text(self, scores: Floats) -> Floats:
        """Return the agreement `(n, k)` of the answers to the whole conversation, without the explained one itself."""
        return scores[1:] if self.answer.generated and len(scores) > 1 else scores


class ChatLabels(ChatModel):
    """A chat model as a classifier of texts: the probability of a label is the share of answers with that label.

    Parameters
    ----------
    chat
        A chat model with labels.
    """

    links: tuple[str, ...] = ("probability",)
    output = Output("probabilities")
    kind: ClassVar[str] = "chat model"
    cheap: ClassVar[bool] = False

    def __init__(self, chat: Chat) -> None:
        if chat.labels is None or chat.reader is None:
            raise OptionError(
                f"{chat.name} has no labels, expected mase.models.Chat(..., labels=['positive', 'negative']) for a "
                "classifier of texts; mase.cite explains its answers"
            )
        super().__init__(chat)
        self.labels, self._reader = chat.labels, chat.reader
        names = f"{', '.join(chat.labels[:-1])} or {chat.labels[-1]}"
        asks = f"Which label does this text have: {names}? Answer with the label alone.\n\n{{context}}"
        self.template = Template(asks if chat.prompt is None else chat.prompt)

    @property
    def prompting(self) -> dict[str, Any]:
        """The parameters of the requests and the prompt."""
        return {"parameters": dict(self.chat.parameters), "template": self.template.prompt}

    @property
    def description(self) -> Description:
        """What the model was taken for."""
        return Description("chat model that answers with text", "labels")

    def messages(self, content: Content) -> Messages:
        """Return the prompt for a text or a record; a text is a message of the user."""
        fields = {TEXT: content} if isinstance(content, str) else content
        prompt = Template.of(self.template, fields).filled(fields)
        return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt

    def read(self, replies: Sequence[Reply], *, first: Sequence[bool]) -> Floats:
        """Return 1 for the label of each answer `(n, k)`; 0 for all labels if it has none."""
        table = np.zeros((len(replies), len(self.labels)))
        for row, reply, is_first in zip(table, replies, first, strict=True):
            label = self._reader(reply.text)
            if label is not None:
                row[self.labels.index(label)] = 1.0
            elif is_first:
                self.tally.unreadable, self.tally.example = self.tally.unreadable + 1, self.tally.example or reply.text
        return table

    def bind(self, binding: Binding) -> ChatProbe:
        """Return the probe of one document.

        Raises
        ------
        ModelError
            If no answer to the document itself has a label.
        """
        probe = super().bind(binding)
        if not probe.start.any():
            raise ModelError(
                f"{self.name} answered {probe.model.tally.example!r:.100} to the text itself, expected one of "
                f"{', '.join(self.labels)}; ask for the label alone in prompt, or pass read"
            )
        return probe

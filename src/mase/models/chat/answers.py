"""A chat model with a question is a Model: the agreement with an answer, or the label of a text."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Answer, Note, Part
from mase.document import TEXT, Document, Input, check_texts
from mase.errors import CapabilityError, ModelError, OptionError
from mase.links import Output
from mase.models.base import Binding
from mase.models.chat.chat import Chat, Messages, asked_with
from mase.models.chat.measures import Values
from mase.models.chat.parts import Conversation
from mase.models.description import Description
from mase.models.function import BlackBox, CallableProbe, Content, Rewriter, word_tokens
from mase.models.language.prompts import Template
from mase.models.origin import Reopened
from mase.text import Tokens

METHOD = "mase-chat"
# Answers to the whole conversation, once two of them differ.
_ONCE_SEEN = 3
# By what is counted: the code of a note, and what it says.
_TOLD = {
    "length": ("answers-ended", "{} of {} answers were cut off by a limit: pass a larger max_tokens"),
    "refusal": ("answers-ended", "{} of {} answers were refusals"),
    "tool": ("answers-ended", "{} of {} answers called a tool in place of a text, and count as empty"),
    "unreadable": (
        "unreadable",
        "{} of {} answers name none of the labels, or several, such as {!r:.60}, and count as none of them; pass read=,"
        " or ask for the label alone in the prompt",
    ),
    "dropped": (
        "conversation",
        "so that conversations stay valid, {} empty messages were dropped, those of user and assistant in pairs",
    ),
    "held": ("conversation", "so that conversations stay valid, {} empty messages held a placeholder"),
}


@dataclass(slots=True)
class Tally:
    """What is to be told of the answers to one text, each counted once."""

    seen: set[tuple[str, int]] = field(default_factory=set)  # conversations, and numbers of the repeat
    counts: Counter[str] = field(default_factory=Counter)  # what `_TOLD` names, and requests "rejected" and charged
    example: str = ""  # of an answer without a label


class ChatModel(Reopened, BlackBox, ABC):
    """What the models of this module share: they are asked, and answer with text."""

    name: str
    sha256 = None
    references = ("delete",)
    default_method = METHOD
    labels: tuple[str, ...]
    links: tuple[str, ...]
    output: Output
    n_after = 0  # requests that an explanation keeps for afterwards
    proxy: "ChatModel | None" = None  # a cheap one that is asked the same

    def __init__(self, chat: Chat) -> None:
        self.chat, self.name, self.tally = chat, chat.name, Tally()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers."""
        counts, told = self.tally.counts, (len(self.tally.seen), self.tally.example)
        notes = [Note(code, said.format(counts[name], *told)) for name, (code, said) in _TOLD.items() if counts[name]]
        if self.chat.repaired:
            message = "the last line of the archive was damaged, as by a kill; it was removed and is asked again"
            notes.append(Note("archive-repaired", message))
        return tuple(notes)

    @abstractmethod
    def messages(self, content: Content) -> Messages:
        """Return the conversation about the contents of the fields of a document."""

    @abstractmethod
    def read(self, answers: Sequence[str]) -> Floats:
        """Return the columns `(n, k)` of n answers."""

    def encode(self, text: Input) -> Tokens:
        """Return the words of all fields of a document as tokens."""
        return word_tokens(Document.of(text))

    def bind(self, binding: Binding) -> "ChatProbe":
        """Return the probe of one document."""
        return ChatProbe.of(self, binding)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return the columns `(n, k)` of the first answer to each document."""
        return self.scores([Document.of(text).content for text in check_texts(texts, tuples=True)])

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return the columns `(n, k)` of the first answer to n contents of the fields."""
        return self.asked(texts, [0] * len(texts)) if texts else np.empty((0, len(self.labels)))

    def asked(self, texts: Sequence[Content], repeats: Sequence[int]) -> Floats:
        """Return the columns `(n, k)` of the answers to n contents, each with the number of the repeat."""
        conversations = [self.messages(text) for text in texts]
        replies = self.chat.replies(list(zip(conversations, repeats, strict=True)))
        for messages, repeat, reply in zip(conversations, repeats, replies, strict=True):
            if (key := (str(messages), repeat)) not in self.tally.seen:
                self.tally.seen.add(key)
                self.tally.counts.update({reply.ended: 1, "rejected": reply.n_rejected})
                if self.chat.reader is not None and self.chat.reader(reply.text) is None:
                    self.tally.counts["unreadable"] += 1
                    self.tally.example = self.tally.example or reply.text
        return self.read([reply.text for reply in replies])


@dataclass(frozen=True, slots=True)
class ChatProbe(CallableProbe):
    """A chat model bound to a document. See `mase.models.base.Probe`."""

    model: ChatModel
    varies: bool | None = False  # as it was said, or seen when the document was bound; None if neither
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
        model = copy(model)
        model.tally = Tally()
        n, content, varies = model.chat.repeats, document.content, model.chat.varies
        scores = model.asked([content] * n, range(n))
        if varies is None and (scores != scores[0]).any():
            n, varies = _ONCE_SEEN, True
            scores = model.asked([content] * n, range(n))
        if isinstance(model, ChatAnswer) and model.answer.generated and n > 1:
            scores = scores[1:]  # the explained answer agrees with itself
        rewriter = Rewriter.of(binding.tokens, binding.coordinate_of_token)
        size = max(8, model.chat.concurrency)
        return cls(
            model, binding, rewriter, None, scores.mean(axis=0, keepdims=True), n, batch_size=size, varies=varies
        )

    @property
    def n_reserved(self) -> int:
        """Requests of an explanation that are not for its rows."""
        return self.n_setup + self.model.n_after

    @property
    def n_rejected(self) -> int:
        """Requests so far that were charged and brought no answer."""
        return self.model.tally.counts["rejected"]

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
        return self.model.proxy.scores(self._contents(self._kept(coordinates)))

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; a row that is asked again gets another answer."""
        del rows
        kept, repeats = self._kept(coordinates), list[int]()
        for row in kept:
            key = np.packbits(row).tobytes()
            repeats.append(self.n_asked[key] + (self.n_setup if row.all() else 0))
            self.n_asked[key] += 1
        return self.model.asked(self._contents(kept), repeats)

    def _kept(self, coordinates: Floats) -> Bools:
        return self.binding.kept_tokens(coordinates, "a chat model")

    def _contents(self, kept: Bools) -> list[Content]:
        return [self.rewriter.content(item) for item in self.rewriter.masked_rows(kept, None)]


class ChatAnswer(ChatModel):
    """The agreement of new answers with the one that is explained; a column for each measure, the first to explain."""

    returns_values = True
    links = ("value",)
    output = Output("values")

    def __init__(
        self, chat: Chat, conversation: Conversation, answer: str, measures: Mapping[str, Values], *, generated: bool
    ) -> None:
        super().__init__(chat)
        self.conversation, self.measures, self.labels = conversation, measures, tuple(measures)
        self.answer = Answer(answer, (Part(0, len(answer), self.labels[0]),), generated)

    @property
    def prompting(self) -> dict[str, Any]:
        """The parameters of the requests and what stands in the prompt."""
        return self.chat.settings | self.conversation.settings

    def messages(self, content: Content) -> Messages:
        """Return the conversation."""
        return self.conversation.messages(content, self.tally.counts)

    def read(self, answers: Sequence[str]) -> Floats:
        """Return the agreement `(n, k)` of n answers with the explained one."""
        return np.array([values(answers, self.answer.text) for values in self.measures.values()], dtype=np.float64).T


class ChatLabels(ChatModel):
    """A chat model as a classifier of texts: the probability of a label is the share of answers with that label."""

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
        return self.chat.settings | {"template": self.template.prompt}

    @property
    def description(self) -> Description:
        """What the model was taken for."""
        return Description("chat model that answers with text", "labels")

    def messages(self, content: Content) -> Messages:
        """Return the prompt for a text or a record; a text is a message of the user."""
        fields = {TEXT: content} if isinstance(content, str) else content
        return asked_with(Template.of(self.template, fields).filled(fields))

    def read(self, answers: Sequence[str]) -> Floats:
        """Return 1 for the label of each answer `(n, k)`; 0 for all labels if it has none."""
        read = [self._reader(answer) for answer in answers]
        return np.array([[label == name for name in self.labels] for label in read], dtype=np.float64)

    def bind(self, binding: Binding) -> ChatProbe:
        """Return the probe of one document, to which at least one answer has a label."""
        probe = super().bind(binding)
        if not probe.start.any():
            raise ModelError(
                f"{self.name} answered {probe.model.tally.example!r:.100} to the text itself, expected one of "
                f"{', '.join(self.labels)}; ask for the label alone in prompt, or pass read"
            )
        return probe

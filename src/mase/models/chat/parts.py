"""The parts of a conversation that are in or out, and what keeps it valid without some of them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

from mase.document import Document, Field, check_text
from mase.errors import InvalidTextError, OptionError
from mase.models.chat.chat import Messages, asked_with, conversation, text_parts
from mase.models.function import Content
from mase.models.language.answers import prompt_fields
from mase.models.language.prompts import Template

# What stays where an empty message cannot go.
PLACEHOLDER = "(left out)"
# The last message, if the user wrote it, and messages of these roles are never left out unless one says otherwise.
LAST = "last"
_SYSTEM = ("system", "developer")
FIXED = (*_SYSTEM, LAST)


@dataclass(frozen=True, slots=True)
class Filled:
    """A prompt with places for the texts and the query, which are the fields of a document."""

    document: Document
    template: Template

    @property
    def settings(self) -> dict[str, Any]:
        """What results record of it, as plain JSON types."""
        return {"template": self.template.prompt}

    def messages(self, content: Content, repairs: Counter[str] | None = None) -> Messages:
        """Return the messages for contents of the fields."""
        del repairs
        return asked_with(self.template.filled(prompt_fields(content)))


@dataclass(frozen=True, slots=True)
class Turns:
    """Messages, each of which is a field of a document; a message of several text parts is several fields.

    Fields are called by their number and role, as in "2 user", or by the "name" of a text part.
    """

    document: Document
    turns: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = field(hash=False)  # messages, and names of their fields

    @classmethod
    def of(cls, messages: Sequence[Mapping[str, Any]], fixed: Collection[str | int] = FIXED) -> Self:
        """Return messages with their parts; see `mase.cite`. Negative numbers of messages count from the end."""
        conversation(messages)
        if isinstance(fixed, str) or not isinstance(fixed, Collection):
            raise OptionError(
                f"fixed is {fixed!r:.60}, expected roles and numbers of messages, as in ['system', 'last']"
            )
        every = [name for number, message in enumerate(messages) for name in _names(message, number)]
        known = {
            LAST,
            *_SYSTEM,
            *(message["role"] for message in messages),
            *range(-len(messages), len(messages)),
            *every,
        }
        unfit = [item for item in fixed if item not in known]
        if unfit:
            raise OptionError(
                f"fixed has {unfit[0]!r:.60}, expected roles, numbers of the {len(messages)} messages from 0, or "
                f"names of their texts: {', '.join(every)!s:.200}"
            )
        fields, turns = list[Field](), []
        for number, message in enumerate(messages):
            role, names = str(message["role"]), _names(message, number)
            is_last = LAST in fixed and number == len(messages) - 1 and role == "user"
            stays = is_last or role in fixed or number in fixed or number - len(messages) in fixed
            for name, text in zip(names, text_parts(message), strict=True):
                fields.append(Field(name, check_text(text), fixed=stays or name in fixed or not text.strip()))
            turns.append((dict(message), names))
        if all(item.fixed for item in fields):
            raise OptionError(
                f"all {len(messages)} messages are fixed or empty, expected one that can be left out; pass fixed=[...] "
                "with the roles that stay, or context=..."
            )
        return cls(Document(tuple(fields)), tuple(turns))

    @property
    def settings(self) -> dict[str, Any]:
        """What results record of it, as plain JSON types."""
        return {"roles": [message["role"] for message, _ in self.turns]}

    def messages(self, content: Content, repairs: Counter[str] | None = None) -> Messages:
        """Return the messages with contents of the fields, and count in `repairs` what keeps them valid.

        A message without content is dropped together with the answer of the assistant after it, or the question before
        it, if that has none either; a system message is dropped alone. Any other one holds `PLACEHOLDER`, so that roles
        still alternate and a result of a tool still follows its call.
        """
        texts = content if isinstance(content, Mapping) else {self.document.fields[0].name: content}
        said = ["\n\n".join(filter(str.strip, (str(texts[name]) for name in names))) for _, names in self.turns]
        dropped = self._dropped(said)
        result: Messages = []
        for number, ((message, _), text) in enumerate(zip(self.turns, said, strict=True)):
            is_held = not text and any(map(str.strip, text_parts(message)))
            if number not in dropped:
                result.append({**message, "content": PLACEHOLDER if is_held else text})
            if repairs is not None:
                repairs["dropped"] += number in dropped
                repairs["held"] += is_held and number not in dropped
        return result or [{"role": "user", "content": PLACEHOLDER}]

    def _dropped(self, said: Sequence[str]) -> set[int]:
        """Return the numbers of the messages that go: empty pairs of user and assistant, and empty system messages."""
        roles = [message["role"] for message, _ in self.turns]
        dropped = {number for number, role in enumerate(roles) if role in _SYSTEM and not said[number]}
        for number, pair in enumerate(pairwise(roles)):
            calls = "tool_calls" in self.turns[number + 1][0]
            if pair == ("user", "assistant") and not (said[number] or said[number + 1] or calls):
                dropped |= {number, number + 1}
        return dropped


def _names(message: Mapping[str, Any], number: int) -> tuple[str, ...]:
    """Return the names of the fields of a message."""
    content, name = message.get("content"), f"{number + 1} {message['role']}"
    if not isinstance(content, list | tuple):
        return (name,)
    own = [part.get("name") if isinstance(part, Mapping) else None for part in content]
    if not all(isinstance(item, str | None) for item in own):
        raise InvalidTextError(f"parts of message {number} have the names {own!r:.80}, expected texts")
    return tuple(item or (name if len(own) == 1 else f"{name}, part {index}") for index, item in enumerate(own, 1))


Conversation = Filled | Turns

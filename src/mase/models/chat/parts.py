"""The parts of a conversation that are in or out, and what keeps it valid without some of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from mase.document import Document, Field, check_text
from mase.errors import InvalidTextError, OptionError
from mase.models.chat.chat import Messages, conversation, text_parts
from mase.models.function import Content
from mase.models.language.answers import prompt_fields
from mase.models.language.prompts import Template

# What stays where an empty message cannot go.
PLACEHOLDER = "(left out)"
# The last message, if the user wrote it, and messages of these roles are never left out unless one says otherwise.
LAST = "last"
FIXED = ("system", "developer", LAST)
_BETWEEN = "\n\n"


@dataclass(slots=True)
class Repairs:
    """How often an empty message was dropped with its pair, and how often one held the placeholder."""

    dropped: int = 0
    held: int = 0


class Conversation(Protocol):
    """What is asked, as a function of the contents of the fields of a document."""

    @property
    def document(self) -> Document:
        """The parts: fields with texts, some of them fixed."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What results record of it, as plain JSON types."""
        ...

    def messages(self, content: Content, repairs: Repairs | None = None) -> Messages:
        """Return the messages for contents of the fields."""
        ...


@dataclass(frozen=True, slots=True)
class Filled:
    """A prompt with places for the fields of a document; see `mase.models.language.prompts.Template`.

    Attributes
    ----------
    document
        The texts and the query.
    template
        Where they stand.
    """

    document: Document
    template: Template

    @property
    def settings(self) -> dict[str, Any]:
        """The template."""
        return {"template": self.template.prompt}

    def messages(self, content: Content, repairs: Repairs | None = None) -> Messages:
        """Return the messages for contents of the fields; a text is a message of the user."""
        del repairs
        prompt = self.template.filled(prompt_fields(content))
        return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else conversation(prompt)


@dataclass(frozen=True, slots=True)
class Turns:
    """Messages, each of which is a field of a document; a message of several text parts is several fields.

    Attributes
    ----------
    document
        The texts. Fields are called by their number and role, as in "2 user", or by the "name" of a text part.
    turns
        The messages, and for each the names of its fields.
    """

    document: Document
    turns: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = field(hash=False)

    @classmethod
    def of(cls, messages: Sequence[Mapping[str, Any]], fixed: Collection[str | int] = FIXED) -> Self:
        """Return messages with their parts.

        Parameters
        ----------
        messages
            Dicts with "role" and "content", which is a text or a list of text parts. A part may have a "name".
        fixed
            What is never left out: roles, numbers of messages from 0, and "last" for the last message if it is the
            user's.

        Raises
        ------
        InvalidTextError
            If they are no messages, or two parts have the same name.
        OptionError
            If nothing can be left out.
        """
        conversation(messages)
        if isinstance(fixed, str) or not isinstance(fixed, Collection):
            raise OptionError(
                f"fixed is {fixed!r:.60}, expected roles and numbers of messages, as in ['system', 'last']"
            )
        fields, turns = list[Field](), []
        for number, message in enumerate(messages):
            texts, role = text_parts(message), str(message["role"])
            is_last = LAST in fixed and number == len(messages) - 1 and role == "user"
            held = is_last or role in fixed or number in fixed or number - len(messages) in fixed
            names = _names(message, number, role, len(texts))
            for name, text in zip(names, texts, strict=True):
                fields.append(Field(name, check_text(text), fixed=held or not text.strip()))
            turns.append((dict(message), names))
        if all(one.fixed for one in fields):
            raise OptionError(
                f"all {len(messages)} messages are fixed or empty, expected one that can be left out; pass fixed=[...] "
                "with the roles that stay, or context=..."
            )
        return cls(Document(tuple(fields)), tuple(turns))

    @property
    def settings(self) -> dict[str, Any]:
        """The roles of the messages."""
        return {"roles": [message["role"] for message, _ in self.turns]}

    def messages(self, content: Content, repairs: Repairs | None = None) -> Messages:
        """Return the messages with contents of the fields.

        A message without content is dropped together with the answer of the assistant after it, or the question before
        it, if that has none either; a system message is dropped alone. Any other one holds `PLACEHOLDER`, so that roles
        still alternate and a result of a tool still follows its call.
        """
        texts = content if isinstance(content, Mapping) else {self.document.fields[0].name: content}
        said = [_BETWEEN.join(filter(str.strip, (str(texts[name]) for name in names))) for message, names in self.turns]
        dropped = self._dropped(said)
        repairs = repairs or Repairs()
        found: Messages = []
        for number, ((message, names), text) in enumerate(zip(self.turns, said, strict=True)):
            if number in dropped:
                repairs.dropped += 1
                continue
            was_empty = not any(one.text.strip() for one in self.document.fields if one.name in names)
            if not text.strip() and not was_empty:
                repairs.held += 1
                text = PLACEHOLDER
            found.append({**message, "content": text})
        return found or [{"role": "user", "content": PLACEHOLDER}]

    def _dropped(self, said: Sequence[str]) -> set[int]:
        """Return the numbers of the messages that go: empty pairs of user and assistant, and empty system messages."""
        dropped, number = set[int](), 0
        roles = [str(message["role"]) for message, _ in self.turns]

        def is_empty_answer(number: int) -> bool:
            return not said[number].strip() and "tool_calls" not in self.turns[number][0]

        while number < len(said):
            empty = not said[number].strip()
            if empty and roles[number] in ("system", "developer"):
                dropped.add(number)
            elif empty and roles[number : number + 2] == ["user", "assistant"] and is_empty_answer(number + 1):
                dropped |= {number, number + 1}
                number += 1
            number += 1
        return dropped


def _names(message: Mapping[str, Any], number: int, role: str, n: int) -> tuple[str, ...]:
    """Return the names of the fields of a message."""
    content, name = message.get("content"), f"{number + 1} {role}"
    if not isinstance(content, list | tuple):
        return (name,)
    own = [part.get("name") if isinstance(part, Mapping) else None for part in content]
    wrong = next((one for one in own if one is not None and not isinstance(one, str)), None)
    if wrong is not None:
        raise InvalidTextError(f"a part of message {number} has the name {wrong!r:.60}, expected a text")
    return tuple(one or (name if n == 1 else f"{name}, part {index}") for index, one in enumerate(own, 1))

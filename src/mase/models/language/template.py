"""Templates of prompts: a text or messages with the names of fields in braces."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from mase.errors import InvalidTextError, OptionError
from mase.models.language.protocol import Message, Prompt

__all__ = ["CONTEXT", "QUERY", "Template", "plain"]

CONTEXT, QUERY = "context", "query"
_BRACES = re.compile(r"\{.+\}")
_NAME = r"\w[\w .-]*"  # what is surely meant as the name of a field, also if there is none of that name
_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt in which `{name}` stands for the field of that name.

    `{context}` stands for all fields that the template does not name, separated by blank lines, unless there is a field
    of that name. Other braces are text, also those in the fields.

    Parameters
    ----------
    prompt
        The exact text, or messages with the keys "role" and "content".

    Raises
    ------
    OptionError
        If it is neither, has no placeholder, or a message has no role.

    Examples
    --------
    >>> Template("{context}\\nQ: {query}\\nA:").filled({"a": "Ann is 3.", "b": "Bob is 4.", "query": "How old?"})
    'Ann is 3.\\n\\nBob is 4.\\nQ: How old?\\nA:'
    """

    prompt: Prompt

    def __post_init__(self) -> None:
        for text in self._texts:
            if not isinstance(text, str):
                raise OptionError(f"template has {text!r:.80}, expected a str, or messages with 'role' and 'content'")
        if not all(isinstance(role, str) for role in self._roles):
            raise OptionError(
                f"template is {self.prompt!r:.80}, which has a message without a role, expected 'role' and 'content' "
                "in each; as in {'role': 'user', 'content': '{context}'}"
            )
        if not any(_BRACES.search(text) for text in self._texts):
            raise OptionError(
                f"template is {self.prompt!r:.80}, which names no field, expected for example '{{context}}' in it"
            )

    @classmethod
    def of(cls, template: "Prompt | Template | None", names: Collection[str]) -> Self:
        """Return the template that is given, or the default for documents with these fields.

        By default, there is one user message: the fields, after "Context:" and before "Query:" and the field `query`
        where there is one, as ContextCite asks.

        Raises
        ------
        OptionError
            If it is no template, or does not name the fields.
        """
        rest = [name for name in names if name != QUERY] if CONTEXT in names else [CONTEXT]
        content = _GAP.join(f"{{{name}}}" for name in rest)
        content = f"Context: {content}\n\nQuery: {{{QUERY}}}" if QUERY in names else content
        default: Prompt = [{"role": "user", "content": content}]
        given = default if template is None else template
        chosen = cls(given.prompt if isinstance(given, Template) else given)
        chosen.check(names)
        return chosen

    @property
    def _texts(self) -> list[Any]:
        if not isinstance(self.prompt, list | tuple):
            return [self.prompt]
        return [message.get("content") if isinstance(message, Mapping) else message for message in self.prompt]

    @property
    def _roles(self) -> list[Any]:
        messages = [] if isinstance(self.prompt, str) else self.prompt
        return [message.get("role") if isinstance(message, Mapping) else None for message in messages]

    def _used(self, names: Iterable[str]) -> list[str]:
        """Return the names in braces, of these fields or of none."""
        return [name for text in self._texts for name in _places(names).findall(text)]

    def check(self, names: Collection[str]) -> None:
        """Check that a document with these fields fills the template.

        Raises
        ------
        OptionError
            If a field that the template names is missing, or one has no place in it.
        """
        known = {*names, CONTEXT}
        used = self._used(known)
        missing = [name for name in used if name not in known]
        others = [name for name in names if name not in used]
        listed = ", ".join(map(repr, names))
        if missing:
            places = ", ".join(map(repr, dict.fromkeys([*names, CONTEXT])))
            raise OptionError(f"template names {missing[0]!r}, expected one of {places}")
        if others and (CONTEXT not in used or CONTEXT in names):
            places = " or ".join(f"'{{{name}}}'" for name in dict.fromkeys([others[0], CONTEXT]))
            raise OptionError(f"template has no place for {others[0]!r}, expected {places} in it")
        if not others and CONTEXT in used and CONTEXT not in names:
            raise OptionError(f"template names 'context', but no field is left for it, expected one beside {listed}")

    def filled(self, contents: Mapping[str, Any]) -> Prompt:
        """Return the prompt for the contents of the fields by name.

        Raises
        ------
        OptionError
            If a field is missing, or has no place.
        """
        self.check(contents)
        values = {name: str(value) for name, value in contents.items()}
        if CONTEXT not in values:
            used = self._used(values)
            rest = [text for name, text in values.items() if name not in used]
            values[CONTEXT] = _GAP.join(text for text in rest if text.strip())

        places = _places(values)

        def fill(text: str) -> str:
            return places.sub(lambda match: values[match[1]], text)

        if isinstance(self.prompt, str):
            return fill(self.prompt)
        return [_filled(message, fill(message["content"])) for message in self.prompt]


def _places(names: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of names in braces; those of fields may have any characters, as those of files do."""
    return re.compile(rf"\{{({'|'.join([*map(re.escape, names), _NAME])})\}}")


def _filled(message: Message, content: str) -> Message:
    return {**message, "content": content}


def plain(prompt: Prompt, owner: str) -> str:
    """Return a prompt as text for a model without chat template: a single message of the user is its content.

    Raises
    ------
    InvalidTextError
        If there are several messages.
    """
    if isinstance(prompt, str):
        return prompt
    if len(prompt) == 1 and prompt[0].get("role") == "user":
        return prompt[0]["content"]
    roles = ", ".join(str(message.get("role")) for message in prompt)
    raise InvalidTextError(
        f"the prompt has messages of {roles}, but {owner} has no chat template, expected a text; pass a str as template"
    )

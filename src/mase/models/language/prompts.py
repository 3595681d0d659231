"""Templates of prompts, and the token ids of prompts and answers."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

from mase.errors import EmptyTextError, InvalidTextError, MaseError, ModelError, OptionError
from mase.models.folder import whole_text
from mase.models.language.base import Continuation, Message, Prompt
from mase.models.tokens import literal_spans, slow_tokenizer_checksum, special_tokens, tokenizer_checksum
from mase.text import Span

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
        """Return the prompt for the contents of the fields by name."""
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
    """Return a prompt as text for a model without chat template: a single message of the user is its content."""
    if isinstance(prompt, str):
        return prompt
    if len(prompt) == 1 and prompt[0].get("role") == "user":
        return prompt[0]["content"]
    roles = ", ".join(str(message.get("role")) for message in prompt)
    raise InvalidTextError(
        f"the prompt has messages of {roles}, but {owner} has no chat template, expected a text; pass a str as template"
    )


def grown(text: str, beginnings: Sequence[str]) -> tuple[Span, ...]:
    """Return the span that each token adds to a text, where `beginnings` are the texts of the tokens up to it.

    The pieces of one character have the same span.
    """
    spans: list[Span] = []
    pending, start = 0, 0
    for beginning in beginnings:
        end = max(start, _shared(text, beginning))
        pending += 1
        if end > start:  # otherwise the token is a piece of a character, or adds none
            spans += [(start, end)] * pending
            start, pending = end, 0
    return (*spans, *[(start, len(text))] * pending)


def _shared(left: str, right: str) -> int:
    """Return the length of the common beginning."""
    n = min(len(left), len(right))
    return next((index for index in range(n) if left[index] != right[index]), n)


_MARK = "answer"


@dataclass(frozen=True, slots=True)
class PromptTokenizer:
    """A tokenizer of transformers, for one language model.

    Attributes
    ----------
    backend
        The tokenizer of transformers; a slow one will do.
    owner
        Name of the model, for messages.
    chat
        Whether messages go through the chat template. Otherwise a single message of the user is its text.
    targets
        Whether answers are encoded as targets, for models that translate.
    """

    backend: Any
    owner: str
    chat: bool
    targets: bool = False

    def prompt(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the ids of a prompt: of a text as the tokenizer encodes it, of messages up to where the
        answer begins.
        """
        if self.chat and not isinstance(prompt, str):
            ids = self._encoded(self.rendered(prompt, answering=True), special=False)
        else:
            ids = self._encoded(plain(prompt, self.owner), special=True)
        if not ids:
            raise EmptyTextError(
                f"the prompt {prompt!r:.60} has no token of {self.owner}, expected at least one, also where all "
                "parts of the text are left out; put words around it with template="
            )
        return ids

    def reads(self) -> dict[str, Any]:
        """Return checksums of the tokenizer and, with `chat`, of the chat template, and what begins a target."""
        if getattr(self.backend, "is_fast", False):
            with self._whole_text():
                checksum = tokenizer_checksum(self.backend.backend_tokenizer)
        else:
            checksum = slow_tokenizer_checksum(self.backend)
        template = json.dumps(self.backend.chat_template, sort_keys=True).encode() if self.chat else None
        chat = None if template is None else hashlib.sha256(template).hexdigest()
        targets = {"before_target": list(self.before_target())} if self.targets else {}
        return {"tokenizer_sha256": checksum, "chat_template_sha256": chat, **targets}

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer, without special tokens of the tokenizer."""
        ids = self._answered(answer)
        if not ids:
            raise EmptyTextError(f"answer {answer!r:.60} has no token of {self.owner}, expected at least one")
        return Continuation(answer, ids, self._spans(answer, ids))

    def special_spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of a text that become special tokens."""
        known, ids = special_tokens(self.backend), self._encoded(text, special=False)
        return literal_spans(text, {known[token] for token in ids if token in known})

    def before_target(self) -> tuple[int, ...]:
        """Return the special tokens that the tokenizer puts before a target."""
        whole, inner = self._answered(_MARK, special=True), self._answered(_MARK)
        starts = (start for start in range(len(whole)) if whole[start : start + len(inner)] == inner)
        return whole[: next(starts, 0)]

    def generated(self, ids: Sequence[int]) -> Continuation:
        """Return the answer that consists of these ids."""
        text = self.decoded(ids)
        return Continuation(text, tuple(ids), self._spans(text, tuple(ids)))

    def stops(self) -> frozenset[int]:
        """Return the ids that end an answer: that of the end of a text, and that which ends a turn of a chat."""
        end = self.backend.eos_token_id
        return frozenset(() if end is None else (end,)) | self._turn_end()

    def _turn_end(self) -> frozenset[int]:
        """Return the special token that the chat template writes after an answer."""
        if not self.chat:
            return frozenset()
        messages = [{"role": "user", "content": "question"}, {"role": "assistant", "content": _MARK}]
        try:
            after = self.rendered(messages, answering=False).rpartition(_MARK)[2].strip()
        except InvalidTextError:
            return frozenset()
        first = self._encoded(after, special=False)[:1]
        known = self.backend.added_tokens_decoder
        return frozenset(token for token in first if token in known and known[token].special)

    def rendered(self, messages: Any, *, answering: bool) -> str:
        """Return messages as text by the chat template, up to where the answer begins if it is to come."""
        if not isinstance(messages, list | tuple) or not all(isinstance(item, Mapping) for item in messages):
            raise InvalidTextError(
                f"the prompt is {messages!r:.60}, expected a str, or a list of messages with 'role' and 'content'"
            )
        try:
            return str(
                self.backend.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=answering)
            )
        except Exception as error:
            roles = ", ".join(str(message.get("role")) for message in messages)
            raise InvalidTextError(
                f"the chat template of {self.owner} refuses messages of {roles} ({error}), expected turns that it "
                "knows; pass a str, or another template"
            ) from error

    def _encoded(self, text: str, *, special: bool) -> tuple[int, ...]:
        with self._whole_text(), _reported(text):
            return tuple(self.backend(text, add_special_tokens=special, verbose=False)["input_ids"])

    def _answered(self, text: str, *, special: bool = False) -> tuple[int, ...]:
        if not self.targets:
            return self._encoded(text, special=special)
        with self._whole_text(), _reported(text):
            return tuple(self.backend(text_target=text, add_special_tokens=special, verbose=False)["input_ids"])

    def decoded(self, ids: Sequence[int]) -> str:
        """Return the text of ids, also of special ones."""
        return str(self.backend.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _whole_text(self) -> AbstractContextManager[None]:
        return whole_text(self.backend) if getattr(self.backend, "is_fast", False) else nullcontext()

    def _spans(self, text: str, ids: tuple[int, ...]) -> tuple[Span, ...]:
        """Return the span of each token in `text`; the pieces of one character have the same span.

        They are the tokenizer's own if it gives spans and encodes the text so, and otherwise what each token adds to
        the text of those before it.
        """
        if getattr(self.backend, "is_fast", False):
            with self._whole_text():
                result = self.backend(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            if tuple(result["input_ids"]) == ids:
                return tuple((start, end) for start, end in result["offset_mapping"])
        return grown(text, [self.decoded(ids[: count + 1]) for count in range(len(ids))])


@contextmanager
def _reported(text: str) -> Iterator[None]:
    """Convert errors of the tokenizer to ModelError."""
    try:
        yield
    except MaseError:
        raise
    except Exception as error:
        raise ModelError(f"the tokenizer raised {type(error).__name__} for {text!r:.60}: {error}") from error

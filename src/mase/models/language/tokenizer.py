"""From prompts and answers to token ids, by a tokenizer of transformers."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from mase.errors import EmptyTextError, InvalidTextError, MaseError, ModelError
from mase.models.language.protocol import Continuation, Prompt
from mase.models.language.spans import grown
from mase.models.language.template import plain
from mase.models.pretrained import whole_text
from mase.models.special_tokens import literal_spans, special_tokens
from mase.models.tokenizer_checksum import slow_tokenizer_checksum, tokenizer_checksum
from mase.text import Span

__all__ = ["PromptTokenizer"]

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
        """Return the ids of a prompt: of a text as the tokenizer encodes it, of messages up to where the answer begins.

        Raises
        ------
        InvalidTextError
            If it is neither a text nor messages, or the chat template refuses the messages.
        EmptyTextError
            If there is no token.
        """
        if self.chat and not isinstance(prompt, str):
            ids = self._encoded(self.rendered(prompt, answering=True), special=False)
        else:
            ids = self._encoded(plain(prompt, self.owner), special=True)
        if not ids:
            raise EmptyTextError(f"the prompt {prompt!r:.60} has no token of {self.owner}, expected at least one")
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
        """Return the tokens of a given answer, without special tokens of the tokenizer.

        Raises
        ------
        EmptyTextError
            If it has none.
        """
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
        """Return messages as text by the chat template, up to where the answer begins if it is to come.

        Raises
        ------
        InvalidTextError
            If they are no messages, or the chat template refuses them.
        """
        if not isinstance(messages, list | tuple) or not all(isinstance(one, Mapping) for one in messages):
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
                found = self.backend(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            if tuple(found["input_ids"]) == ids:
                return tuple((start, end) for start, end in found["offset_mapping"])
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

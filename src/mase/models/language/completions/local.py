"""A tokenizer on this machine, from transformers, for a model on a server."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mase.errors import OptionError
from mase.models.language.protocol import Continuation, Prompt
from mase.models.language.template import plain
from mase.models.language.tokenizer import PromptTokenizer

__all__ = ["LocalCoder"]


@dataclass(frozen=True, slots=True)
class LocalCoder:
    """A tokenizer of transformers. See `mase.models.language.completions.coder.Coder`."""

    tokenizer: PromptTokenizer

    @classmethod
    def of(cls, tokenizer: Any, owner: str) -> "LocalCoder":
        """Return the coder of a tokenizer.

        Raises
        ------
        OptionError
            If it is none.
        """
        transformers = sys.modules.get("transformers")
        if transformers is None or not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
            raise OptionError(
                f"tokenizer is of type {type(tokenizer).__name__}, expected one of transformers, as in "
                "tokenizer=AutoTokenizer.from_pretrained(...)"
            )
        return cls(PromptTokenizer(tokenizer, owner, getattr(tokenizer, "chat_template", None) is not None))

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...]]:
        """Return the ids of n prompts."""
        return [self.tokenizer.prompt(prompt) for prompt in prompts]

    def texts(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return n prompts as texts; messages without the special token that a server puts before every text."""
        first = getattr(self.tokenizer.backend, "bos_token", None) or ""
        return [
            plain(prompt, self.tokenizer.owner)
            if isinstance(prompt, str) or not self.tokenizer.chat
            else self.tokenizer.rendered(prompt, answering=True).removeprefix(first)
            for prompt in prompts
        ]

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of an answer."""
        return self.tokenizer.continuation(answer)

    def beginnings(self, ids: Sequence[int]) -> list[str]:
        """Return the text of the first token, of the first two, ..., of all."""
        return [self.tokenizer.decoded(ids[:end]) for end in range(1, len(ids) + 1)]

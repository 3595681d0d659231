"""From a text or a pair of texts to tokens, by a fast tokenizer of transformers."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mase.document import PAIR, Document
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError
from mase.models.pretrained import whole_text
from mase.models.special_tokens import padding_ids, special_tokens, unknown_id
from mase.models.tokenizing import longest_first
from mase.text import Side, Span, Tokens, Truncation

__all__ = ["Tokenizer", "check_fast"]


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A fast tokenizer of transformers, for one model.

    Attributes
    ----------
    backend
        The tokenizer of transformers.
    owner
        Name of the model, for messages.
    max_length, keep
        Longest input of the model in tokens, None if it has no limit, and which end of a longer text is read.
    typed
        Whether the model reads token types.
    only_first
        Whether only the first text of a pair is cut, as with ``truncation="only_first"`` of transformers. Otherwise the
        longer text loses tokens first, as with ``truncation="longest_first"``.
    """

    backend: Any
    owner: str
    max_length: int | None
    keep: Side
    typed: bool
    only_first: bool = False

    def tokens(self, document: Document) -> Tokens:
        """Return the tokens of a document of one or two texts, as `backend(*texts)` gives them.

        Special tokens are fixed, and padding that is written in the text.

        Raises
        ------
        InvalidTextError
            If the document has other fields.
        EmptyTextError
            If there are only special tokens.
        """
        fields = self._fields(document)
        texts = [document.fields[index].text for index in fields]
        with whole_text(self.backend):
            encoded = self.backend(
                *texts, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False, truncation=False
            )
        ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
        sources = [None if flag else source for flag, source in zip(special, encoded.sequence_ids(0), strict=True)]
        starts = [document.starts[index] for index in fields]
        spans: list[Span | None] = [
            None if source is None else (starts[source] + start, starts[source] + end)
            for source, (start, end) in zip(sources, encoded["offset_mapping"], strict=True)
        ]
        kept = self._kept(sources)
        padding = padding_ids(self.backend.pad_token_id, self.backend.unk_token_id)
        if all(sources[index] is None or ids[index] in padding for index in kept):
            raise EmptyTextError(
                f"text {document.text[:40]!r} has no word that the model can read, expected at least one"
            )
        types = self._types(encoded.get("token_type_ids"))
        special_ids = special_tokens(self.backend)
        return Tokens(
            document,
            tuple(ids[index] for index in kept),
            tuple(self.backend.convert_ids_to_tokens([ids[index] for index in kept])),
            tuple(spans[index] for index in kept),
            tuple(sources[index] is None or ids[index] in padding for index in kept),
            Truncation(len(kept), len(ids), self.keep) if len(kept) < len(ids) else None,
            None if types is None else tuple(types[index] for index in kept),
            tuple(span for index in kept if (span := spans[index]) is not None and ids[index] in special_ids),
            unknown_id(self.backend),
        )

    def _fields(self, document: Document) -> list[int]:
        """Return the indices of the first text and of the second; ``text`` is before ``text_pair`` in any order."""
        names = tuple(field.name for field in document.fields)
        if len(names) > 2 or any(field.value is not None for field in document.fields):
            raise InvalidTextError(
                f"text has the fields {', '.join(names)}, expected one text or a pair of texts for {self.owner}; join "
                "them, or explain a function of records (mase.models.Callable)"
            )
        return [1, 0] if names == PAIR[::-1] else list(range(len(names)))

    def _types(self, types: Sequence[int] | None) -> Sequence[int] | None:
        """Return the token types of the tokenizer; None if it gives none, or only 0 for a model that reads none.

        To some models, as to GPT-2, the type 0 is not the same as no type.
        """
        if not types or not (self.typed or any(types)):
            return None
        if not self.typed:
            raise CapabilityError(
                f"tokenizer {type(self.backend).__name__} gives token_type_ids other than 0, which {self.owner} does "
                "not read, expected the tokenizer of the model; if these types do not matter, remove 'token_type_ids' "
                "from its model_input_names"
            )
        return types

    def _kept(self, sources: Sequence[int | None]) -> list[int]:
        """Return the indices of the tokens that fit: all special tokens, and the end to keep of each text."""
        of_text = [[i for i, source in enumerate(sources) if source == number] for number in (0, 1)]
        if self.max_length is None or len(sources) <= self.max_length:
            return list(range(len(sources)))
        room, sizes = max(self.max_length - sources.count(None), 0), (len(of_text[0]), len(of_text[1]))
        first, second = (max(room - sizes[1], 0), sizes[1]) if self.only_first else longest_first(*sizes, room)
        dropped = {*self._dropped(of_text[0], first), *self._dropped(of_text[1], second)}
        return [index for index in range(len(sources)) if index not in dropped]

    def _dropped(self, indices: list[int], n_kept: int) -> list[int]:
        return indices[n_kept:] if self.keep == "start" else indices[: len(indices) - n_kept]


def check_fast(tokenizer: Any) -> None:
    """Check that a tokenizer is a fast one of transformers, which gives character spans.

    Raises
    ------
    CapabilityError
        If it is none.
    """
    tokenizers = sys.modules.get("tokenizers")
    if tokenizers is not None and isinstance(tokenizer, tokenizers.Tokenizer):
        raise CapabilityError(
            "the tokenizer is a tokenizers.Tokenizer, which does not name its special tokens, expected a fast "
            "tokenizer of transformers; wrap it, as in transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise CapabilityError(
            f"tokenizer {type(tokenizer).__name__} gives no character spans, expected a fast tokenizer; if "
            "there is none, pass a function from texts to probabilities (n, k)"
        )

"""The checksum of a tokenizer, by which a run that is continued knows it again."""

import hashlib
import json
from typing import Any

__all__ = ["slow_tokenizer_checksum", "tokenizer_checksum"]

_PROBE = (
    "The film wasn't GOOD; I'd say: 3.5/10, and “très” naïve... <br />\n\t'Straße' of İstanbul's e\u0301lite, re-re-"
    "released (1,999 x) on e-mail@host.example — 好看的电影 とても 영화 фильм مرحبا नमस्ते ☺️👍🏽 ﬁn Ⅷ½ ａ１ #x_y  end "
)


def tokenizer_checksum(tokenizer: Any) -> str:
    """Return the SHA-256 of the vocabulary of a `tokenizers.Tokenizer`, and of what it makes of a motley text.

    The tokenizer should neither cut nor pad. Its file would not do, because other versions write it in other ways.
    """
    added = [
        (number, token.content, token.single_word, token.lstrip, token.rstrip, token.normalized, token.special)
        for number, token in sorted(tokenizer.get_added_tokens_decoder().items())
    ]
    encoded = tokenizer.encode(_PROBE)
    return _checksum([sorted(tokenizer.get_vocab().items()), added, encoded.ids, encoded.type_ids, encoded.offsets])


def slow_tokenizer_checksum(tokenizer: Any) -> str:
    """Return the SHA-256 of the vocabulary of a tokenizer in Python, if it has one, and of the ids of the same text."""
    vocabulary = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    tokens = sorted((repr(token), number) for token, number in vocabulary.items())
    return _checksum([tokens, tokenizer(_PROBE, verbose=False)["input_ids"]])


def _checksum(found: list[Any]) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()

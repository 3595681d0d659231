"""The longest input of a model of transformers, from its tokenizer and its positions. No framework is imported."""

__all__ = ["longest_input"]

# Families whose position numbers start after the padding id, so that the positions before it cannot be used.
_OFFSET = (
    "roberta", "xlm-roberta", "camembert", "longformer", "xlm-roberta-xl", "data2vec-text", "mpnet",
    "roberta-prelayernorm", "xmod", "ibert", "luke", "esm", "markuplm",
)  # fmt: skip
_NO_LIMIT = 1_000_000  # transformers writes 10 ** 30 for a tokenizer without limit, and others 0 or -1


def longest_input(tokenizer: float | None, family: object, positions: int | None, pad_id: int | None) -> int | None:
    """Return the longest input in tokens that the tokenizer and the positions allow, None if neither has a limit.

    Parameters
    ----------
    tokenizer
        The `model_max_length` of the tokenizer.
    family, positions, pad_id
        `model_type`, `max_position_embeddings` and `pad_token_id` of the configuration.
    """
    limits = [] if tokenizer is None else [int(min(tokenizer, _NO_LIMIT))]
    if positions is not None:
        limits.append(positions - ((pad_id or 0) + 1 if family in _OFFSET else 0))
    return min((limit for limit in limits if 0 < limit < _NO_LIMIT), default=None)

"""Logits of a padded batch, without the work that a classifier of the first token throws away."""

from typing import Any

import torch
from torch import nn

__all__ = ["logits"]


def logits(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return logits `(b, k)` for ids `(b, t)`, of which those in `mask` `(b, t)` are real.

    Notes
    -----
    A BERT classifier reads the first token's last state only. Its last layer is therefore computed for that token alone,
    which saves about an eighth of the time and changes nothing but the order of sums.
    """
    if module.config.model_type == "bert" and not module.config.is_decoder:
        return _bert_logits(module, ids, mask)
    scores: torch.Tensor = module(input_ids=ids, attention_mask=mask.long()).logits
    return scores


def _bert_logits(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    keys = None if bool(mask.all()) else mask[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
    states = module.bert.embeddings(input_ids=ids)
    *layers, last = module.bert.encoder.layer
    for layer in layers:
        states = layer(states, keys)
    first = _first_token(last, states, None if keys is None else keys[:, :, :1])
    scores: torch.Tensor = module.classifier(module.dropout(module.bert.pooler(first)))
    return scores


def _first_token(layer: Any, states: torch.Tensor, keys: torch.Tensor | None) -> torch.Tensor:
    """Return what a layer makes of the first token `(b, 1, d)`."""
    attention = layer.attention.self
    n = len(states)
    query, key, value = (
        part(inputs).view(n, -1, attention.num_attention_heads, attention.attention_head_size).transpose(1, 2)
        for part, inputs in ((attention.query, states[:, :1]), (attention.key, states), (attention.value, states))
    )
    mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=keys)
    mixed = layer.attention.output(mixed.transpose(1, 2).reshape(n, 1, -1), states[:, :1])
    result: torch.Tensor = layer.feed_forward_chunk(mixed)
    return result

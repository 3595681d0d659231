"""Hugging Face classifiers built tiny in memory, with weights drawn at random and tokenizers made on the spot."""

import string
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

__all__ = ["ARCHITECTURES", "REFUSED", "bert", "byte_pairs", "classifier", "own_answer", "word_pieces"]

_V, _LONGEST = 300, 64
_BASIC = {
    "vocab_size": _V, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": _LONGEST, "pad_token_id": 0, "initializer_range": 0.4,
}  # fmt: skip
_DECODER = _BASIC | {"num_key_value_heads": 2, "head_dim": 8}
_GPT = {"vocab_size": _V, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": _LONGEST, "initializer_range": 0.4}
_XLM = {"vocab_size": _V, "emb_dim": 16, "n_layers": 1, "n_heads": 2, "max_position_embeddings": _LONGEST}
_ONE_GROUP = dict.fromkeys(
    ("q_groups", "k_groups", "v_groups", "post_attention_groups", "intermediate_groups", "output_groups"), 1
)

# Families that read pieces of words, with special tokens at both ends.
ENCODERS: dict[str, dict[str, Any]] = {
    "bert": _BASIC, "roberta": _BASIC, "xlm-roberta": _BASIC, "camembert": _BASIC, "mpnet": _BASIC, "ernie": _BASIC,
    "deberta": _BASIC, "deberta-v2": _BASIC, "megatron-bert": _BASIC, "yoso": _BASIC,
    "distilbert": {
        "vocab_size": _V, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": _LONGEST,
        "pad_token_id": 0, "initializer_range": 0.4,
    },
    "albert": _BASIC | {"embedding_size": 16}, "electra": _BASIC | {"embedding_size": 16},
    "roformer": _BASIC | {"embedding_size": 16},
    "mobilebert": _BASIC | {"embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    "convbert": _BASIC | {"embedding_size": 16, "conv_kernel_size": 3, "head_ratio": 1, "num_groups": 1},
    "big_bird": _BASIC | {"attention_type": "original_full"},
    "rembert": _BASIC | {"input_embedding_size": 16, "output_embedding_size": 16},
    "squeezebert": _BASIC | {"embedding_size": 16} | _ONE_GROUP,
    "fnet": _BASIC | {"tpu_short_seq_length": _LONGEST},
    "funnel": {"vocab_size": _V, "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24, "block_sizes": [1]},
    "modernbert": _BASIC | {"cls_token_id": 2, "sep_token_id": 3, "global_attn_every_n_layers": 1},
    "xlm": _XLM, "flaubert": _XLM,
}  # fmt: skip
# Families that read bytes, without special tokens.
DECODERS: dict[str, dict[str, Any]] = {
    "gpt2": _GPT, "gptj": _GPT | {"rotary_dim": 4},
    "gpt_neo": {
        "vocab_size": _V, "hidden_size": 16, "num_layers": 1, "num_heads": 2, "attention_types": [[["global"], 1]],
        "max_position_embeddings": _LONGEST, "initializer_range": 0.4,
    },
    "gpt_neox": _BASIC, "llama": _DECODER, "mistral": _DECODER, "qwen2": _DECODER, "qwen3": _DECODER, "gemma": _DECODER,
    "phi": _DECODER, "falcon": _BASIC, "opt": _BASIC | {"ffn_dim": 24, "word_embed_proj_dim": 16, "init_std": 0.4},
    "bloom": {"vocab_size": _V, "hidden_size": 16, "n_head": 2, "n_layer": 1, "pad_token_id": 0,
        "initializer_range": 0.4},
}  # fmt: skip
# Families that embed the words time first, padded to a window, or twice.
OTHERS: dict[str, dict[str, Any]] = {
    "xlnet": {"vocab_size": _V, "d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 24},
    "longformer": _BASIC | {"attention_window": 4},
    "t5": {"vocab_size": _V, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2,
        "eos_token_id": 3, "decoder_start_token_id": 0},
    "bart": {
        "vocab_size": _V, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": _LONGEST,
        "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3, "forced_eos_token_id": 3,
    },
}  # fmt: skip
ARCHITECTURES = ENCODERS | DECODERS | OTHERS
# Families that cannot be entered, and must say so by a typed error: no floats or no words.
REFUSED: dict[str, dict[str, Any]] = {
    "ibert": _BASIC,
    "canine": _BASIC,
    "nystromformer": _BASIC | {"segment_means_seq_len": _LONGEST, "num_landmarks": 8},
}  # fmt: skip


def word_pieces() -> Any:
    """Return a fast tokenizer as BERT's: a few words, single letters and what goes on with them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = string.ascii_letters + string.digits + string.punctuation
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *("##" + c for c in letters),
        "film",
        "good",
        "the",
    ]
    raw = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, model_max_length=_LONGEST - 4,
        unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip


def byte_pairs() -> Any:
    """Return a fast tokenizer as GPT-2's, with bytes and no merges: no text is unknown to it."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = ["<pad>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    raw = Tokenizer(models.BPE({piece: number for number, piece in enumerate(alphabet)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", model_max_length=_LONGEST - 4)


def classifier(name: str) -> tuple[Any, Any]:
    """Return a classifier of a family, in evaluation mode, and its tokenizer."""
    import torch
    import transformers

    settings = (ARCHITECTURES | REFUSED)[name]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, num_labels=3, **settings)
    module = transformers.AutoModelForSequenceClassification.from_config(config)
    return module.eval(), byte_pairs() if name in DECODERS else word_pieces()


def bert() -> tuple[Any, Any]:
    """Return the plainest of the classifiers."""
    return classifier("bert")


def own_answer(module: Any, tokenizer: Any) -> Callable[[str], Any]:
    """Return the function from a text to the module's own class probabilities, the library not being asked."""
    return partial(_asked, module, tokenizer)


def _asked(module: Any, tokenizer: Any, text: str) -> np.ndarray:
    import torch

    ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"]
    config, before = module.config, module.config.pad_token_id
    try:
        if config.model_type != "longformer":  # which pads by itself
            config.pad_token_id = -1  # nothing is padded: models that look for the last real token read them all
        with torch.no_grad():
            return module(input_ids=ids).logits.softmax(-1)[0].numpy()
    finally:
        config.pad_token_id = before

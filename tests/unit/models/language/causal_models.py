"""Tiny causal language models with random weights, a tokenizer of bytes, and log-probabilities one row at a time."""

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|user|>", "<|assistant|>", "<|end|>", "<|eos|>"]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = [("i", "s"), ("Ġ", "is"), ("e", "d"), ("r", "ed"), ("Ġ", "red")]
TOKENS = [*BYTES, *map("".join, MERGES)]
SIZE = len(TOKENS) + len(SPECIAL)

_PLAIN = {"vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_LLAMA = _PLAIN | {"intermediate_size": 16, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 96}
FAMILIES = {
    "Llama": _LLAMA,
    "GPT2": {"vocab_size": SIZE, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 96},
    "Qwen3": _LLAMA,
    "Gemma2": _LLAMA | {"sliding_window": 8, "query_pre_attn_scalar": 8, "final_logit_softcapping": 3.0},
    "Mistral": _LLAMA | {"sliding_window": 8},
    "OPT": _PLAIN | {"ffn_dim": 16, "max_position_embeddings": 96, "word_embed_proj_dim": 16},
    "Bloom": _PLAIN,
    "Mamba": {"vocab_size": SIZE, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4},
}


def causal_model(family="Llama", **settings):
    """Return a model whose weights are large enough that every token and position matters."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family] | {"eos_token_id": SIZE - 1} | settings)
    module = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weights in module.parameters():
            if weights.ndim > 1:
                weights.normal_(0, 0.4)
    return module


def byte_tokenizer(**settings):
    """Return a fast tokenizer of bytes, of " is" and of " red", with a chat template; it has no padding."""
    backend = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(TOKENS)}, merges=MERGES))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(SPECIAL)
    settings = {"eos_token": "<|eos|>", "chat_template": CHAT} | settings
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **settings)


def one_by_one(module, prompt, answer):
    """Return the log-probabilities `(t,)` of the ids of an answer, from the logits of one whole row in float32."""
    with torch.no_grad():
        logits = module(torch.tensor([[*prompt, *answer]]), use_cache=False).logits[0].float()
    after = logits[len(prompt) - 1 : -1].log_softmax(dim=-1)
    return after.gather(1, torch.tensor([list(answer)]).T)[:, 0].numpy()

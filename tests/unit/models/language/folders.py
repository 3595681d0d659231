"""Folders of language models of one narrow layer with random weights, and a tokenizer of whole words."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
TEXT = "the cat sat on a mat dog ran in park who where is it and . ? : Context Query"
WORDS = [*SPECIAL.values(), *TEXT.split()]
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
TEMPLATE = "{% for message in messages %}<s> {{ message.content }} </s> {% endfor %}"


def tokenizer(**settings):
    """Return a fast tokenizer that splits at spaces and punctuation; spaces come back between the words."""
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **SPECIAL | settings)


def causal_folder(folder, seed=0, **settings):
    """Save a Llama, and return the folder."""
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS), bos_token_id=1, eos_token_id=2, pad_token_id=3, num_key_value_heads=2,
        max_position_embeddings=128, **SIZES | settings
    )  # fmt: skip
    return saved(transformers.AutoModelForCausalLM.from_config(config), folder, seed)


def seq2seq_folder(folder):
    """Save a T5, and return the folder."""
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    config = transformers.T5Config(
        vocab_size=len(WORDS), eos_token_id=2, pad_token_id=3, decoder_start_token_id=3, **sizes
    )
    return saved(transformers.AutoModelForSeq2SeqLM.from_config(config), folder)


def saved(module, folder, seed=0):
    """Save a model with weights that are large enough that every word matters, and the tokenizer."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for weights in module.parameters():
            weights.normal_(0, 0.4)
    module.save_pretrained(folder)
    tokenizer(chat_template=TEMPLATE).save_pretrained(folder)
    return folder

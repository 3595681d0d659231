"""Hugging Face classifiers with one narrow layer and random weights, and tokenizers of the words w0 to w9."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
WORDS = [*SPECIAL.values(), *(f"w{i}" for i in range(10))]
PLAIN = {"vocab_size": len(WORDS), "pad_token_id": 0}
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_T5 = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2} | PLAIN
_T5 |= {"eos_token_id": 3, "decoder_start_token_id": 0}
_BART = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16} | PLAIN
_BART |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64}
_BART |= {"bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3, "forced_eos_token_id": 3}

# The configuration of each family, and how its tokenizer puts a text and a pair together.
_BERT = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
_ROBERTA = ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]")
FAMILIES = {
    "bert": ("BertConfig", SIZES | PLAIN, _BERT),
    "albert": ("AlbertConfig", SIZES | PLAIN | {"embedding_size": 8}, _BERT),
    "roberta": ("RobertaConfig", SIZES | PLAIN | {"max_position_embeddings": 66}, _ROBERTA),
    "xlnet": (
        "XLNetConfig",
        {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 16} | PLAIN,
        ("$A [SEP] [CLS]:2", "$A [SEP] $B:1 [SEP]:1 [CLS]:2"),
    ),
    "longformer": (
        "LongformerConfig",
        SIZES | PLAIN | {"max_position_embeddings": 66, "attention_window": 4},
        _ROBERTA,
    ),
    "t5": ("T5Config", _T5, ("$A [SEP]", "$A [SEP] $B [SEP]")),
    "umt5": ("UMT5Config", _T5, ("$A [SEP]", "$A [SEP] $B [SEP]")),
    "bart": ("BartConfig", _BART | {"scale_embedding": True}, _ROBERTA),
    "mbart": ("MBartConfig", _BART, _ROBERTA),
}


def word_tokenizer(layout=_BERT, **settings):
    """Return a fast tokenizer that puts a text and a pair together as `layout` says; types 0 only are not returned."""
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    single, pair = layout
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ["input_ids", *(["token_type_ids"] if ":" in pair else []), "attention_mask"]
    settings = {"model_max_length": 30, "model_input_names": names} | SPECIAL | settings
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **settings)


def family(name, **settings):
    """Return a classifier of three classes of a family, and its tokenizer."""
    config, sizes, layout = FAMILIES[name]
    module = classifier(getattr(transformers, config)(**sizes | {"num_labels": 3} | settings))
    return module, word_tokenizer(layout)


def classifier(config):
    """Return a classifier whose weights are large enough that every word matters."""
    torch.manual_seed(0)
    module = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for weights in module.parameters():
            weights.normal_(0, 0.4)
    return module

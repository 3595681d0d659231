"""Small pretrained encoders, and training runs on them."""

import copy

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from mase.models.bundled.bert import classifier
from mase_paper.training.lora import attach, trainable

FILLER = [f"word{index}" for index in range(20)]


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


VOCABULARY = {word: index for index, word in enumerate([*SPECIAL, *FILLER, "awful", "lovely"])}


FAMILIES = {
    "bert": transformers.BertConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2),
    "distilbert": transformers.DistilBertConfig(dim=16, hidden_dim=24, n_layers=2, n_heads=2),
    "roberta": transformers.RobertaConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2
    ),
    "mpnet": transformers.MPNetConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2),
}


def write_base(folder, family):
    """Write a random encoder of two or three layers and a tokenizer of whole words to a folder, and return it."""
    backend = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(token, VOCABULARY[token]) for token in ("[CLS]", "[SEP]")]
    )
    roles = {
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)
    config = copy.deepcopy(FAMILIES[family])
    config.vocab_size, config.pad_token_id = len(VOCABULARY), 0
    torch.manual_seed(1)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    return folder


def adapted_module(base, seed=0):
    """Return a classifier with adapters that do something, and what they are said to store."""
    torch.manual_seed(seed)
    module = classifier(base, ["neg", "pos"])
    attach(module, module.base_model_prefix, 3, 2.0)
    with torch.no_grad():
        for parameter in trainable(module).values():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return module.eval()

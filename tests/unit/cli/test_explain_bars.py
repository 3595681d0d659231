"""Tests of progress bars of `mase explain`."""

import os

from tests.unit.cli.commands import command

GOOD, BAD = "a good film", "a dull film"


def test_no_bars_of_others_where_standard_error_is_no_terminal(tmp_path):
    write_classifier(tmp_path)
    found = command(
        "explain", GOOD, "-m", tmp_path, "-q", "--n-samples", "32", env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert (found.returncode, found.stderr) == (0, "")


def write_classifier(folder):
    """Write a random Hugging Face classifier of one layer and a tokenizer of whole words to a folder."""
    import tokenizers
    import transformers

    words = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[MASK]", "good", "film", "a"))}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    roles = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)

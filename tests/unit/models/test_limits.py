"""Tests of `mase.models.limits`."""

import json
import os
import struct
from pathlib import Path

import pytest
import torch
import transformers
from click.testing import CliRunner
from tests.model_folders import CONTENTS, edit

from mase.cli import main
from mase.errors import DataError
from mase.models import load

TEXT = "a good film"


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "tokenizer.json"])
@pytest.mark.slow
def test_files_that_are_no_good_json_are_refused(name, content, folder):
    (folder / name).write_bytes(content)
    with pytest.raises(DataError):
        load(folder)
    if name == "config.json":
        found = CliRunner().invoke(main, ["models", str(folder)])
        assert (found.exit_code, found.stdout) == (1, "")
        assert isinstance(found.exception, SystemExit)
        assert found.stderr.count("mase: error:") == 1


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt", "added_tokens.json"]
)
def test_files_beyond_the_limits_are_refused(name, folder):
    with (folder / name).open("wb") as file:
        file.truncate(1 << 30)  # a hole
    with pytest.raises(DataError, match=rf"{name} has (more than )?[\d,]+ bytes"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "nowhere"])
def test_files_of_other_kinds_are_refused(name, kind, folder):
    path = folder / name
    path.unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)
    making = {
        "pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": Path.mkdir,
        "loop": lambda path: path.symlink_to(path), "nowhere": lambda path: path.symlink_to("nowhere"),
    }  # fmt: skip
    making[kind](path)
    with pytest.raises(DataError):
        load(folder)


def test_links_to_weights_are_followed(good, folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(good / "model.safetensors")
    assert load(folder).predict([TEXT]).tolist() == load(good).predict([TEXT]).tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 10**7}, {"num_hidden_layers": -1}, {"num_hidden_layers": 1.5},
        {"num_hidden_layers": True},
        {"hidden_size": 10**12}, {"hidden_size": "x"}, {"hidden_size": 0}, {"hidden_size": [8, 10**12]},
        {"intermediate_size": 10**12}, {"vocab_size": 10**12}, {"vocab_size": "many"}, {"num_attention_heads": 0},
        {"num_attention_heads": -2}, {"num_attention_heads": 10**6}, {"max_position_embeddings": 10**9},
        {"num_labels": 10**9}, {"num_labels": -1}, {"num_experts": 10**9}, {"seed": 10**30},
        {"layer_norm_eps": float("inf")},
        {"text_config": {"num_hidden_layers": 10**7}},
    ],
)  # fmt: skip
def test_numbers_beyond_the_limits_are_refused_by_name(changes, folder):
    name, value = next(iter(changes.items()))
    name = next(iter(value)) if isinstance(value, dict) else name
    edit(folder, **changes)
    with pytest.raises(DataError, match=rf"config\.json has {name} .*expected"):
        load(folder)


LARGE = {
    "Llama 7B": transformers.LlamaConfig(),
    "Llama 3.1 405B": transformers.LlamaConfig(
        hidden_size=16_384, intermediate_size=53_248, num_hidden_layers=126, num_attention_heads=128,
        num_key_value_heads=8,
        vocab_size=128_256, max_position_embeddings=131_072,
    ),
    "XLM-V": transformers.XLMRobertaConfig(vocab_size=901_629),
    "GPT-2 XL": transformers.GPT2Config(n_embd=1_600, n_layer=48, n_head=25, pad_token_id=0),
    "DeBERTa v3": transformers.DebertaV2Config(vocab_size=128_100, type_vocab_size=0, max_relative_positions=-1),
    "ALBERT": transformers.AlbertConfig(),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_models_are_within_the_limits(name, folder):
    """The weights are a sparse file in which only the header is valid, so that loading stops there."""
    LARGE[name].save_pretrained(folder)
    with torch.device("meta"):
        state = transformers.AutoModelForSequenceClassification.from_config(LARGE[name]).state_dict()
    place, header = 0, {}
    for tensor in state:
        size = state[tensor].numel() * 2
        header[tensor] = {"dtype": "BF16", "shape": list(state[tensor].shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
    with pytest.raises(DataError, match=rf"describes {place:,} bytes, expected 0"):
        load(folder)

"""Models and model folders that tests of several rooms share."""

import shutil
from pathlib import Path

import pytest

from mase.models import load


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder with a BERT of one layer and its fast tokenizer."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("good")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film", "a"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=len(words), **sizes)).save_pretrained(
        folder
    )
    return folder


@pytest.fixture
def folder(good, tmp_path):
    """A copy of that folder, to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "model"))


@pytest.fixture(scope="module")
def lstm():
    pytest.importorskip("torch")
    return load("lstm-imdb")

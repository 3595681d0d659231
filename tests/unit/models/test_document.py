"""Tests of `mase.models.document`."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.model_folders import CONTENTS

from mase.cli import main
from mase.errors import DataError
from mase.models import load

TEXT = "a good film"


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "tokenizer.json"])
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

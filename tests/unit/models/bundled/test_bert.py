"""Tests of `mase.models.bundled.bert`."""

import shutil
from pathlib import Path

import pytest
import torch

from mase.errors import DataError
from mase.models import bundled, load


def test_low_rank_changes_that_do_not_fit_are_refused_before_they_are_multiplied(tmp_path, minilm_folder):
    from safetensors.torch import load_file, save_file

    place = Path(shutil.copytree(bundled.folder("bert-imdb"), tmp_path / "own"))
    stored = load_file(place / "model.safetensors")
    name = next(name for name in stored if name.endswith("_up")).removesuffix("_up")
    stored[f"{name}_up"], stored[f"{name}_down"] = torch.zeros(3_000_000, 1), torch.zeros(1, 3_000_000)  # 33 TB
    save_file(stored, place / "model.safetensors")
    with pytest.raises(DataError, match="3000000"):
        load(place)

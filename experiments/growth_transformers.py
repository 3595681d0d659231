"""Train the transformers of `growth.py`: the first layers of the pretrained MiniLM, fine-tuned on Reuters."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from growth_family import Family
from safetensors.torch import load_file, save_file

from mase.datasets import load, split_off
from mase.files import write_text
from mase.models import bundled
from mase.models.bundled.minilm import base_folder
from mase.models.transformers import HuggingFace
from mase_paper.training import train
from mase_paper.training.bert_recipe import BERT_REUTERS

__all__ = ["BUNDLED", "TRANSFORMERS"]

SIZES = {2: "2 layers", 4: "4 layers", 6: "6 layers"}
TOKENIZER = ("special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


@dataclass(frozen=True, slots=True)
class GrownTransformer:
    """One training: the number of layers, and the seed; that with all layers is the bundled model."""

    size: int
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of the model and of its folder."""
        return f"layers-{self.size}-seed-{self.seed}"

    def trained(self, models: Path, data_dir: str) -> dict[str, Any]:
        """Return what the training came to; train first if the folder lacks it."""
        if not (Path(self.folder(models)) / "model.safetensors").is_file() and self != BUNDLED:
            base = shortened(self.size, models / f"base-{self.size}")
            train(BERT_REUTERS.name, data_dir, self.folder(models), self.seed, base=base)
        told = json.loads((bundled.folder(self.folder(models)) / "config.json").read_text(encoding="utf-8"))["training"]
        held_in, _ = split_off(len(load(BERT_REUTERS.dataset, "train", data_dir)), BERT_REUTERS.validation_share)
        parameters = sum(one.numel() for one in self.at(told["best_epoch"], models).module.parameters())
        return {**told, "n_training": len(held_in), "parameters": parameters}

    def at(self, epoch: int, models: Path) -> HuggingFace:
        """Return the model as it was after its best epoch; no other is kept."""
        return bundled.load_adapted(self.folder(models))

    def folder(self, models: Path) -> str | Path:
        """Return the folder of the model, or the name of the bundled one."""
        return BERT_REUTERS.name if self == BUNDLED else models / self.name


def shortened(layers: int, folder: Path) -> Path:
    """Return `folder` after writing the pretrained MiniLM there with its first layers only."""
    whole = base_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name in TOKENIZER:
        shutil.copyfile(whole / name, folder / name)
    config = json.loads((whole / "config.json").read_text(encoding="utf-8")) | {"num_hidden_layers": layers}
    write_text(folder / "config.json", json.dumps(config, indent=2) + "\n")
    weights = load_file(whole / "model.safetensors")
    kept = {name: one for name, one in weights.items() if _layer(name) < layers}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _layer(name: str) -> int:
    """Return the layer that a weight belongs to, from 0; -1 if it belongs to none."""
    found = re.search(r"encoder\.layer\.(\d+)\.", name)
    return -1 if found is None else int(found[1])


BUNDLED = GrownTransformer(6)
TRANSFORMERS = Family("transformers", tuple(map(GrownTransformer, SIZES)), SIZES, BUNDLED.size, "bfloat16", 12)

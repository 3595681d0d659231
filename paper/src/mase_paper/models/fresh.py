"""The four models of the confirmation: families and tasks with which no setting of a method was chosen.

A folder of `mase train` holds `config.json` (the labels, the command and the accuracies), `vocabulary.txt` and
`model.safetensors`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors.numpy
import safetensors.torch
import torch

from mase.errors import DataError, OptionError
from mase.models.base import Model
from mase.models.bundled.files import PAD_ID, UNKNOWN_ID, Vocabulary
from mase.models.function import Callable as Function
from mase.models.torch.engine import moved
from mase.models.torch.module import TorchModule
from mase_paper.models import tfidf
from mase_paper.models.cnn import TextCNN
from mase_paper.models.tasks import N_WORDS, TASKS, Task

__all__ = ["FRESH", "Fresh", "read"]
_FILES = ("config.json", "vocabulary.txt", "model.safetensors")


@dataclass(frozen=True, slots=True)
class Fresh:
    """A model of the confirmation: its task, and whether it is a CNN, or else TF-IDF with logistic regression."""

    name: str
    task: Task
    is_cnn: bool


FRESH: Mapping[str, Fresh] = {
    fresh.name: fresh
    for task in TASKS.values()
    for fresh in (Fresh(f"cnn-{task.name}", task, is_cnn=True), Fresh(f"tfidf-{task.name}", task, is_cnn=False))
}


def read(folder: Path, device: str | None = None) -> Model:
    """Return the model in a folder that `run` wrote."""
    missing = [file for file in _FILES if not (folder / file).is_file()]
    if missing:
        raise DataError(
            f"{str(folder)!r} has no {', '.join(missing)}, expected a model of the confirmation; run: "
            f"mase train {folder.name} --output {str(folder)!r}"
        )
    weights = (folder / "model.safetensors").read_bytes()
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if hashlib.sha256(weights).hexdigest() != config["training"]["weights_sha256"]:
            raise ValueError("model.safetensors has another checksum than config.json says")
        return _opened(FRESH[config["name"]], config["labels"], folder / "vocabulary.txt", weights, device)
    except OptionError:  # of the device; the files may be all right
        raise
    except (LookupError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{str(folder)!r} is no model of the confirmation, or is damaged ({error}); run: "
            f"mase train {folder.name} --overwrite --output {str(folder)!r}"
        ) from error


def _opened(fresh: Fresh, labels: list[str], terms: Path, weights: bytes, device: str | None) -> Model:
    if fresh.is_cnn:
        return _opened_cnn(fresh, labels, Vocabulary.read(terms), weights, device)
    result = safetensors.numpy.load(weights)
    pipeline = tfidf.restored(terms.read_text(encoding="utf-8").splitlines(), result, labels)
    # A function has no checksum of its own, and records of other weights must not be mixed.
    named = f"{fresh.name} {hashlib.sha256(weights).hexdigest()[:12]}"
    return Function(pipeline.predict_proba, labels, mask_token=tfidf.MASK_TOKEN, name=named)


def _opened_cnn(
    fresh: Fresh, labels: list[str], vocabulary: Vocabulary, weights: bytes, device: str | None
) -> TorchModule:
    module = TextCNN(len(vocabulary), len(labels))
    state = {name: tensor.to(torch.float32) for name, tensor in safetensors.torch.load(weights).items()}
    module.load_state_dict(state)
    return TorchModule(
        moved(module.requires_grad_(requires_grad=False).eval(), device),
        tokenize=vocabulary.encode,
        labels=labels,
        embedding="embedding",
        pad_id=PAD_ID,
        unk_id=UNKNOWN_ID,
        max_length=N_WORDS,
        keep=fresh.task.keep,
        outputs="logits",
        name=fresh.name,
    )

"""The configuration and the model card of an adapted model, which are written next to the weights."""

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from mase_paper.training.bert_recipe import AdapterRecipe

__all__ = ["AdapterReport", "Base", "card", "configuration"]


@dataclass(frozen=True, slots=True)
class Base:
    """The pretrained model: its name or folder, the checksum of its weights, its type and its number of parameters."""

    name: str
    sha256: str
    model_type: str
    n_parameters: int


@dataclass(frozen=True, slots=True)
class AdapterReport:
    """The training and the accuracy of an adapted model; accuracies are those of the stored weights."""

    recipe: AdapterRecipe
    base: Base
    default_base: bool
    labels: Sequence[str]
    seed: int
    default_epochs: bool
    best_epoch: int
    n_stored: int
    n_training: int
    n_validation: int
    n_test: int
    validation_accuracy: float
    test_accuracy: float
    data_file: str
    data_sha256: str
    seconds: float

    @property
    def command(self) -> str:
        """The command that makes the same weights; DIR is the folder of the table."""
        base = "" if self.default_base else f" --base {self.base.name}"
        epochs = "" if self.default_epochs else f" --epochs {self.recipe.epochs}"
        seed = "" if self.seed == 0 else f" --seed {self.seed}"
        return f"mase train {self.recipe.name} --data-dir DIR{base}{seed}{epochs}"


def configuration(report: AdapterReport) -> str:
    """Return `config.json`: the values for loading, then the record of the training."""
    recipe = report.recipe
    content = {
        "name": recipe.name,
        "labels": list(report.labels),
        "max_length": recipe.max_length,
        "keep": recipe.keep,
        "rank": recipe.rank,
        "alpha": recipe.alpha,
        "base": {"name": report.base.name, "sha256": report.base.sha256},
        "training": {
            "command": report.command,
            "seed": report.seed,
            "epochs": recipe.epochs,
            "best_epoch": report.best_epoch,
            "data_file": report.data_file,
            "data_sha256": report.data_sha256,
            "versions": _versions(),
            "validation_accuracy": report.validation_accuracy,
            "n_validation": report.n_validation,
            "test_accuracy": report.test_accuracy,
            "n_test": report.n_test,
            "seconds": round(report.seconds),
        },
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def card(report: AdapterReport) -> str:
    """Return the model card, in Markdown."""
    return f"{_head(report)}\n{_training(report)}\n{_loading(report)}\n{_bounds(report)}"


def _head(report: AdapterReport) -> str:
    recipe, base = report.recipe, report.base
    return f"""# {recipe.name}

A fine-tuned transformer that {recipe.task}.

| | accuracy | texts |
|---|---|---|
| test, complete | {_share(report.test_accuracy, report.n_test)} | {report.n_test:,} |
| validation | {_share(report.validation_accuracy, report.n_validation)} | {report.n_validation:,} |

Both are of the weights in this folder (float16, added to the pretrained ones in float32); "±" is the standard error \
of a
share. The epoch was chosen on {min(recipe.validation_texts, report.n_validation):,} of the validation texts; the \
test split
was read once, at the end.

The pretrained model is {base.name} ({base.model_type}, {base.n_parameters:,} parameters; sha256 of its weights
`{base.sha256}`). This folder holds what was trained:
{report.n_stored:,} numbers.
"""


def _training(report: AdapterReport) -> str:
    recipe = report.recipe
    versions = ", ".join(f"{name} {number}" for name, number in _versions().items())
    return f"""## Training

```
{report.command}
```

`mase train` comes with the package mase-xai-paper. DIR is the folder of `{report.data_file}` (sha256
`{report.data_sha256}`).

- Seed {report.seed}, {recipe.epochs} epochs on {report.n_training:,} texts; epoch {report.best_epoch} kept.
- Input: the raw text, its {"first" if recipe.keep == "start" else "last"} {recipe.max_length} tokens, special \
tokens included.
- Adapters of rank {recipe.rank}, factor {recipe.scale:g}, on every linear layer of the encoder; LayerNorms, pooler \
and head
  in full.
- AdamW, learning rate {recipe.learning_rate:g} (pooler and head {recipe.head_learning_rate:g}), up over the first
  {100 * recipe.warmup:g} % of the steps, then down to 0.
- Batches of {recipe.batch_size}, float32. The other numbers are in `mase_paper.training.bert_recipe`.
- {versions}.
- {platform.system()} {platform.machine()}, CPU, one thread, {report.seconds:.0f} s.

The command takes the same steps; a resumed run gives the weights of an uninterrupted one (tested on a small model).
These weights were not made twice to compare, and on other versions or processors they may differ.
"""


def _loading(report: AdapterReport) -> str:
    return f"""## Loading

`mase.models.load({report.recipe.name!r})` finds the pretrained model, verifies its checksum and adds the stored \
changes to
it. What comes out is a plain Hugging Face classifier, as fast as the pretrained model.
"""


def _bounds(report: AdapterReport) -> str:
    recipe = report.recipe
    return f"""## Use and limits

For demonstrations, tests and experiments on explanation methods. Not for decisions about people or money.

{recipe.limits}

## Licence

Weights in this folder and code: Apache-2.0. The pretrained model has its own (all-MiniLM-L6-v2: Apache-2.0). \
{recipe.licence}
"""


def _share(value: float, n: int) -> str:
    return f"{100 * value:.2f} % ± {100 * math.sqrt(value * (1 - value) / n):.2f}"


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("mase-xai", "torch", "transformers", "numpy", "safetensors")}
    return {"Python": platform.python_version(), **packages}

"""What is written beside the weights of an adapted model: the configuration that loads them and the model card."""

import json
import math
import platform
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from mase_paper.training.bert_recipe import AdapterRecipe

__all__ = ["AdapterReport", "Base", "card", "configuration"]


@dataclass(frozen=True, slots=True)
class Base:
    """The pretrained model: its name or folder, checksum of its weights, type and number of parameters."""

    name: str
    sha256: str
    model_type: str
    n_parameters: int


@dataclass(frozen=True, slots=True)
class AdapterReport:
    """How an adapted model came about and how well it does; accuracies are of the stored weights."""

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
        """The command that gives the same weights; DIR holds the table."""
        base = "" if self.default_base else f" --base {self.base.name}"
        epochs = "" if self.default_epochs else f" --epochs {self.recipe.epochs}"
        seed = "" if self.seed == 0 else f" --seed {self.seed}"
        return f"mase train {self.recipe.name} --data-dir DIR{base}{seed}{epochs}"


def configuration(report: AdapterReport) -> str:
    """Return `config.json`: what loading needs, then the record of the training."""
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

{_paragraph(f"A fine-tuned transformer that {recipe.task}.")}

| | accuracy | texts |
|---|---|---|
| test, complete | {_share(report.test_accuracy, report.n_test)} | {report.n_test:,} |
| validation | {_share(report.validation_accuracy, report.n_validation)} | {report.n_validation:,} |

Both accuracies are those of the weights in this folder (float16, added to the pretrained ones in float32), with
standard errors after "±". The epoch was chosen on
{min(recipe.validation_texts, report.n_validation):,} of the validation texts. The test split was read once, at the end.

The pretrained model is {base.name} ({base.model_type}, {base.n_parameters:,} parameters; sha256 of its weights
`{base.sha256}`). This folder holds only the
trained changes: {report.n_stored:,} numbers.
"""


def _training(report: AdapterReport) -> str:
    recipe = report.recipe
    versions = ", ".join(f"{name} {number}" for name, number in _versions().items())
    return f"""## Training

```
{report.command}
```

The package mase-xai-paper provides `mase train`. DIR is the folder of `{report.data_file}` (sha256
`{report.data_sha256}`).

- Seed {report.seed}, {recipe.epochs} epochs on {report.n_training:,} texts; the weights of
  epoch {report.best_epoch} were kept.
- Input: the raw text, its {"first" if recipe.keep == "start" else "last"} {recipe.max_length} tokens, including
  special tokens.
- Adapters of rank {recipe.rank} and factor {recipe.scale:g} on every linear layer of the encoder. LayerNorms, pooler
  and head are trained in full.
- AdamW, learning rate {recipe.learning_rate:g} (pooler and head {recipe.head_learning_rate:g}), rising over the first
  {100 * recipe.warmup:g} % of the steps, then falling to 0.
- Batches of {recipe.batch_size}, float32. The other numbers are in `mase_paper.training.bert_recipe`.
- {versions}.
- {platform.system()} {platform.machine()}, CPU, one thread, {report.seconds:.0f} s.

The command repeats this training. A resumed run gives the same weights as an uninterrupted one (tested on a small
model). The training was not run twice to compare the weights. With other versions or processors they may differ.
"""


def _loading(report: AdapterReport) -> str:
    return f"""## Loading

`mase.models.load({report.recipe.name!r})` finds the pretrained model, verifies its checksum and adds the stored
changes to it. The result is a plain Hugging Face classifier, as fast as the pretrained model.
"""


def _bounds(report: AdapterReport) -> str:
    recipe = report.recipe
    licence = (
        "Weights in this folder and code: Apache-2.0. The pretrained model has its own licence (all-MiniLM-L6-v2: "
        f"Apache-2.0). {recipe.licence}"
    )
    return f"""## Use and limits

This model is for demonstrations, tests and experiments on explanation methods. Do not use it for decisions about people
or money.

{_paragraph(recipe.limits)}

## Licence

{_paragraph(licence)}
"""


def _paragraph(text: str) -> str:
    """Return a text in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_on_hyphens=False)


def _share(value: float, n: int) -> str:
    return f"{100 * value:.2f} % ± {100 * math.sqrt(value * (1 - value) / n):.2f}"


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("mase-xai", "torch", "transformers", "numpy", "safetensors")}
    return {"Python": platform.python_version(), **packages}

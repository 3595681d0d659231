"""What is written beside the weights: the configuration that loads them and the model card for people."""

import json
import math
import platform
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from mase_paper.training.recipe import Recipe

__all__ = ["Report", "card", "configuration"]


@dataclass(frozen=True, slots=True)
class Report:
    """How a model came about and how well it does; accuracies are of the stored weights."""

    recipe: Recipe
    labels: Sequence[str]
    seed: int
    default_epochs: bool
    best_epoch: int
    n_words: int
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
        epochs = "" if self.default_epochs else f" --epochs {self.recipe.epochs}"
        seed = "" if self.seed == 0 else f" --seed {self.seed}"
        return f"mase train {self.recipe.name} --data-dir DIR{seed}{epochs}"


def configuration(report: Report) -> str:
    """Return `config.json`: what loading needs, then the record of the training."""
    recipe = report.recipe
    content = {
        "name": recipe.name,
        "labels": list(report.labels),
        "max_length": recipe.max_length,
        "keep": recipe.keep,
        "embedding_width": recipe.embedding_width,
        "hidden_width": recipe.hidden_width,
        "pool": recipe.pool,
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
        },
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def card(report: Report) -> str:
    """Return the model card, in Markdown."""
    return f"{_head(report)}\n{_training(report)}\n{_bounds(report.recipe)}"


def _head(report: Report) -> str:
    recipe = report.recipe
    return f"""# {recipe.name}

{_paragraph(f"A small LSTM that {recipe.task}.")}

| | accuracy | texts |
|---|---|---|
| test, complete | {_share(report.test_accuracy, report.n_test)} | {report.n_test:,} |
| validation | {_share(report.validation_accuracy, report.n_validation)} | {report.n_validation:,} |

Both accuracies are those of the weights in this folder (float16, computed in float32), with standard errors after "±".
The epoch was chosen on the validation part, which makes the validation accuracy slightly too high. The test split was
read once, at the end of this training. The hyper-parameters were chosen on validation parts too; a few earlier trials
had also been evaluated on the test split.
"""


def _training(report: Report) -> str:
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
- Embedding of width {recipe.embedding_width}, one LSTM layer of {recipe.hidden_width} units, pooling "{recipe.pool}".
- {report.n_words:,} words; Adam, learning rate {recipe.learning_rate} falling to 0, batches of {recipe.batch_size}.
- The other numbers are in `mase_paper.training.recipe`.
- {versions}.
- {platform.system()} {platform.machine()}, CPU, one thread, {report.seconds:.0f} s.

The command gives the same weights again with the same versions on the same kind of processor. With other versions or
processors they may differ.
"""


def _bounds(recipe: Recipe) -> str:
    return f"""## Use and limits

This model is for demonstrations, tests and experiments on explanation methods. Do not use it for decisions about people
or money.

{_paragraph(recipe.limits)}

## Licence

{_paragraph(f"Weights and code: Apache-2.0. {recipe.licence}")}
"""


def _paragraph(text: str) -> str:
    """Return a text in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_on_hyphens=False)


def _share(value: float, n: int) -> str:
    return f"{100 * value:.2f} % ± {100 * math.sqrt(value * (1 - value) / n):.2f}"


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("mase-xai", "torch", "numpy", "safetensors")}
    return {"Python": platform.python_version(), **packages}

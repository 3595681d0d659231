"""The record of a training, which the configuration and the model card of every architecture have in common."""

import math
import platform
import textwrap
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mase.statistics import wilson

__all__ = ["Record", "command", "limits", "paragraph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """How a training went, and how well the model does; accuracies are of the stored weights.

    Attributes
    ----------
    command
        The command that gives the same weights; DIR holds the table.
    seed, epochs, best_epoch
        Its seed, the epochs that were run, and the one whose weights were kept.
    n_training, n_validation, n_test
        Texts of each part.
    validation_accuracy, test_accuracy
        Shares of right predictions.
    data_file, data_sha256
        Name of the table and its checksum.
    seconds
        Time that the training took.
    packages
        Packages whose versions decide the weights.
    n_test_split
        Texts of the test split, if `n_test` were drawn from it at random; None if all were used.
    """

    command: str
    seed: int
    epochs: int
    best_epoch: int
    n_training: int
    n_validation: int
    n_test: int
    validation_accuracy: float
    test_accuracy: float
    data_file: str
    data_sha256: str
    seconds: float
    packages: tuple[str, ...]
    n_test_split: int | None = None

    def plain(self) -> dict[str, Any]:
        """Return what the configuration says of it, as plain JSON types."""
        return {
            "command": self.command,
            "seed": self.seed,
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "data_file": self.data_file,
            "data_sha256": self.data_sha256,
            "versions": self._versions(),
            "validation_accuracy": self.validation_accuracy,
            "n_validation": self.n_validation,
            "test_accuracy": self.test_accuracy,
            "n_test": self.n_test,
        }

    def accuracies(self) -> str:
        """Return the table of the accuracies with their standard errors, in Markdown."""
        return f"""\
| | accuracy | texts |
|---|---|---|
| {self._test()} | {_share(self.test_accuracy, self.n_test)} | {self.n_test:,} |
| validation | {_share(self.validation_accuracy, self.n_validation)} | {self.n_validation:,} |"""

    def _test(self) -> str:
        if self.n_test_split in (None, self.n_test):
            return "test, complete"
        low, high = wilson(round(self.test_accuracy * self.n_test), self.n_test)
        return (
            f"test, drawn at random from {self.n_test_split:,} (95 % Wilson interval {100 * low:.2f} to "
            f"{100 * high:.2f} %)"
        )

    def section(self, settings: str, repeatable: str) -> str:
        """Return the section of a model card on the training: `settings` are lines of its list, in Markdown."""
        return f"""## Training

```
{self.command}
```

The package mase-xai-paper provides `mase train`. DIR is the folder of `{self.data_file}` (sha256
`{self.data_sha256}`).

- Seed {self.seed}, {self.epochs} epochs on {self.n_training:,} texts; the weights of
  epoch {self.best_epoch} were kept.
{settings}
- {", ".join(f"{name} {number}" for name, number in self._versions().items())}.
- {platform.system()} {platform.machine()}, CPU, one thread, {self.seconds:.0f} s.

{repeatable}
"""

    def _versions(self) -> dict[str, str]:
        return {"Python": platform.python_version(), **{name: version(name) for name in self.packages}}


def command(name: str, *, seed: int, epochs: int | None, base: str | None = None) -> str:
    """Return the command of a training; None stands for the default of the recipe."""
    told = "" if base is None else f" --base {base}"
    told += "" if seed == 0 else f" --seed {seed}"
    told += "" if epochs is None else f" --epochs {epochs}"
    return f"mase train {name} --data-dir DIR{told}"


def limits(text: str, licence: str) -> str:
    """Return the last sections of a model card: the limits of a model, and its licence."""
    return f"""## Use and limits

This model is for demonstrations, tests and experiments on explanation methods. Do not use it for decisions about people
or money.

{paragraph(text)}

## Licence

{paragraph(licence)}
"""


def paragraph(text: str) -> str:
    """Return a text in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_on_hyphens=False)


def _share(value: float, n: int) -> str:
    return f"{100 * value:.2f} % ± {100 * math.sqrt(value * (1 - value) / n):.2f}"

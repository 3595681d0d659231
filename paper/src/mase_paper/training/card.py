"""What is written beside the weights: the configuration that loads them and the model card for people."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from mase_paper.training.recipe import Recipe
from mase_paper.training.record import Record, limits, paragraph

__all__ = ["PACKAGES", "Report", "card", "configuration"]
PACKAGES = ("mase-xai", "torch", "numpy", "safetensors")


@dataclass(frozen=True, slots=True)
class Report:
    """How a model came about."""

    recipe: Recipe
    labels: Sequence[str]
    n_words: int
    record: Record


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
        "training": report.record.plain(),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def card(report: Report) -> str:
    """Return the model card, in Markdown."""
    licence = f"Weights and code: Apache-2.0. {report.recipe.licence}"
    return f"{_head(report)}\n{_training(report)}\n{limits(report.recipe.limits, licence)}"


def _head(report: Report) -> str:
    return f"""# {report.recipe.name}

{paragraph(f"A small LSTM that {report.recipe.task}.")}

{report.record.accuracies()}

Both accuracies are those of the weights in this folder (float16, computed in float32), with standard errors after "±".
The epoch was chosen on the validation part, which makes the validation accuracy slightly too high. The test split was
read once, at the end of this training. The hyper-parameters were chosen on validation parts too; a few earlier trials
had also been evaluated on the test split.
"""


def _training(report: Report) -> str:
    recipe = report.recipe
    settings = f"""\
- Embedding of width {recipe.embedding_width}, one LSTM layer of {recipe.hidden_width} units, pooling "{recipe.pool}".
- {report.n_words:,} words; Adam, learning rate {recipe.learning_rate} falling to 0, batches of {recipe.batch_size}.
- The other numbers are in `mase_paper.training.recipe`."""
    repeatable = """\
The command gives the same weights again with the same versions on the same kind of processor. With other versions or
processors they may differ."""
    return report.record.section(settings, repeatable)

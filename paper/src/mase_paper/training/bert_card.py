"""What is written beside the weights of an adapted model: the configuration that loads them and the model card."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from mase_paper.training.bert_recipe import AdapterRecipe
from mase_paper.training.record import Record, limits, paragraph

__all__ = ["PACKAGES", "AdapterReport", "Base", "card", "configuration"]
PACKAGES = ("mase-xai", "torch", "transformers", "numpy", "safetensors")


@dataclass(frozen=True, slots=True)
class Base:
    """The pretrained model: its name or folder, checksum of its weights, type and number of parameters."""

    name: str
    sha256: str
    model_type: str
    n_parameters: int


@dataclass(frozen=True, slots=True)
class AdapterReport:
    """How an adapted model came about."""

    recipe: AdapterRecipe
    base: Base
    labels: Sequence[str]
    n_stored: int
    record: Record


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
        "training": report.record.plain() | {"seconds": round(report.record.seconds)},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def card(report: AdapterReport) -> str:
    """Return the model card, in Markdown."""
    licence = (
        "Weights in this folder and code: Apache-2.0. The pretrained model has its own licence (all-MiniLM-L6-v2 and "
        f"all-mpnet-base-v2: Apache-2.0). {report.recipe.licence}"
    )
    return f"{_head(report)}\n{_training(report)}\n{_loading(report)}\n{limits(report.recipe.limits, licence)}"


def _head(report: AdapterReport) -> str:
    recipe, base, record = report.recipe, report.base, report.record
    return f"""# {recipe.name}

{paragraph(f"A fine-tuned transformer that {recipe.task}.")}

{record.accuracies()}

Both accuracies are those of the weights in this folder (float16, added to the pretrained ones in float32), with
standard errors after "±". The epoch was chosen on
{min(recipe.validation_texts, record.n_validation):,} of the validation texts. The test split was read once, at the end.

The pretrained model is {base.name} ({base.model_type}, {base.n_parameters:,} parameters; sha256 of its weights
`{base.sha256}`). This folder holds only the
trained changes: {report.n_stored:,} numbers.
"""


def _training(report: AdapterReport) -> str:
    recipe = report.recipe
    settings = f"""\
- Input: the raw text, its {"first" if recipe.keep == "start" else "last"} {recipe.max_length} tokens, including
  special tokens.
- Adapters of rank {recipe.rank} and factor {recipe.scale:g} on every linear layer of {_trained(recipe)}.
- AdamW, learning rate {recipe.learning_rate:g} (pooler and head {recipe.head_learning_rate:g}), rising over the first
  {100 * recipe.warmup:g} % of the steps, then falling to 0.
- Batches of {recipe.batch_size}, float32. The other numbers are in `mase_paper.training.bert_recipe` and
  `mase_paper.training.mpnet_recipe`."""
    repeatable = """\
The command repeats this training. A resumed run gives the same weights as an uninterrupted one (tested on a small
model). The training was not run twice to compare the weights. With other versions or processors they may differ."""
    return report.record.section(settings, repeatable)


def _trained(recipe: AdapterRecipe) -> str:
    if recipe.frozen_layers:
        return (
            f"the layers above the first {recipe.frozen_layers}.\n  Their LayerNorms and the head are trained in full. "
            f"The first {recipe.frozen_layers} layers are frozen: they read each text once, and\n  their outputs were "
            "kept in float16"
        )
    return "the encoder. LayerNorms, pooler\n  and head are trained in full"


def _loading(report: AdapterReport) -> str:
    return f"""## Loading

`mase.models.load({report.recipe.name!r})` finds the pretrained model, verifies its checksum and adds the stored
changes to it. The result is a plain Hugging Face classifier, as fast as the pretrained model.
"""

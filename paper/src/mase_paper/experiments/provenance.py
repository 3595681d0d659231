"""Provenance of records: every setting of the method, weights, data, versions and machine."""

import platform
from collections.abc import Mapping
from shlex import quote
from typing import Any

from mase.methods import Configuration
from mase.models.base import Model
from mase.models.origin import identity_in_run
from mase.platforms import processor_name
from mase.provenance import environment, installed
from mase_paper.datasets import Split
from mase_paper.experiments.records import COLUMNS, DEPTH, PROBABILITY_KS
from mase_paper.experiments.testbeds import Target
from mase_paper.experiments.trial import Trial

__all__ = ["SCHEMA", "hardware", "header", "made_with", "origin"]
SCHEMA = "mase.records/1"


def header(
    trial: Trial, target: Target, configuration: Configuration, split: Split, text_seed: int, device: str | None
) -> dict[str, Any]:
    """Return the header of the records of one configuration on one target.

    Its command, with `--n-texts`, repeats the records.
    """
    split_option = "" if split.split == "test" else f" --split {split.split}"
    return {
        "schema": SCHEMA,
        "command": (
            f"mase reproduce table1 --data-dir DIR --targets {target.name} --methods {quote(str(configuration))} "
            f"--text-seed {text_seed} --precision {trial.precision}{split_option}"
        ),
        "target": target.name,
        "spec": str(configuration),
        "seed": configuration.seed,
        "method": trial.describe(configuration),
        "model": {"name": trial.model.name, "sha256": trial.model.sha256},
        "data": {"name": split.name, "split": split.split, "sha256": split.sha256},
        "text_seed": text_seed,
        "precision": trial.precision,
        "operators": list(trial.operators),
        "columns": list(COLUMNS),
        "flips_ks": [1, DEPTH],
        "chance_ks": list(PROBABILITY_KS),
        "versions": dict(installed()),
        "hardware": hardware(device),
    }


def made_with(model: Model, split: Split, precision: str = "float32") -> dict[str, str]:
    """Return the weights, the data and the precision that records of scripts are made with."""
    return {"model": model.sha256 or model.name, "data": split.sha256, "precision": precision}


def origin(model: Model) -> dict[str, Any]:
    """Return what the answers of a model depend on besides the text: weights, tokenizer, versions and machine."""
    return {"model": identity_in_run(model), "made_with": environment(model)}


def hardware(device: str | None) -> Mapping[str, Any]:
    """Return the processor, the models' device, whether it multiplies bfloat16 natively, and the number of threads.

    A GPU has its name, too.
    """
    from mase.models.torch.engine import (
        gpu_name,
        multiplies_bfloat16,  # needs torch, which reports do without
    )

    where = device or "cpu"
    gpu = gpu_name(where)
    return ({} if gpu is None else {"gpu": gpu}) | {
        "processor": processor_name(),
        "system": platform.system(),
        "device": where,
        "multiplies_bfloat16": multiplies_bfloat16(where),
        "threads": 1,
    }

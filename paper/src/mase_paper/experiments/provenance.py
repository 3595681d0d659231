"""Where records come from: the method in every setting, weights, data, versions and machine."""

import platform
from collections.abc import Mapping
from shlex import quote
from typing import Any

from mase.datasets import Split
from mase.platforms import processor_name
from mase.provenance import installed
from mase_paper.experiments.records import CHANCE_KS, COLUMNS, DEPTH
from mase_paper.experiments.specs import Spec
from mase_paper.experiments.testbeds import Target
from mase_paper.experiments.trial import Bench

__all__ = ["SCHEMA", "hardware", "header"]

SCHEMA = "mase.records/1"


def header(
    bench: Bench, target: Target, spec: Spec, split: Split, text_seed: int, device: str | None
) -> dict[str, Any]:
    """Return what stands above the records of one spec on one target; the command repeats them, with `--n-texts`."""
    return {
        "schema": SCHEMA,
        "command": (
            f"mase reproduce table1 --data-dir DIR --targets {target.name} --methods {quote(str(spec))} "
            f"--text-seed {text_seed} --precision {bench.precision}{'' if split.split == 'test' else f' --split {split.split}'}"
        ),
        "target": target.name,
        "spec": str(spec),
        "seed": spec.seed,
        "method": bench.describe(spec),
        "model": {"name": bench.model.name, "sha256": bench.model.sha256},
        "data": {"name": split.name, "split": split.split, "sha256": split.sha256},
        "text_seed": text_seed,
        "precision": bench.precision,
        "operators": list(bench.operators),
        "columns": list(COLUMNS),
        "flips_ks": [1, DEPTH],
        "chance_ks": list(CHANCE_KS),
        "versions": dict(installed()),
        "hardware": hardware(device),
    }


def hardware(device: str | None) -> Mapping[str, Any]:
    """Return the processor, the device that models run on and whether it multiplies bfloat16, and the threads."""
    from mase.models.devices import multiplies_bfloat16  # reports need no torch, runs do

    where = device or "cpu"
    return {
        "processor": processor_name(),
        "system": platform.system(),
        "device": where,
        "multiplies_bfloat16": multiplies_bfloat16(where),
        "threads": 1,
    }

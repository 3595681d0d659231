"""Interleaved timing and provenance, shared by the benchmarks."""

import json
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

__all__ = ["Case", "interleaved", "provenance", "relative", "spread", "write"]

Case = Callable[[], object]
BEGAN = time.perf_counter()
PACKAGES = (
    "mase-xai",
    "torch",
    "transformers",
    "numpy",
    "scipy",
    "captum",
    "shap",
    "lime",
    "interpreto",
    "context-cite",
    "pyarrow",
    "ray",
)


def interleaved(
    cases: Mapping[str, Case], rounds: int, clock: Callable[[], float] = time.perf_counter, *, warm: bool = True
) -> dict[str, list[float]]:
    """Return seconds per case and round, by a clock.

    The cases take turns in a different order each round, because a case affects caches and clock for the next one. A
    first round, which is to `warm` up, is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(0 if warm else 1, rounds + 1):
        for name in random.Random(number).sample(list(cases), len(cases)):
            began = clock()
            cases[name]()
            if number:
                seconds[name].append(clock() - began)
    return seconds


def relative(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    """Return the time of bare forwards and explanations, relative to the best bare forwards.

    Times are divided by the mean of the bare forwards of their round, since the speed of a shared machine drifts. The
    result is the median over rounds.
    """
    bare = [values for name, values in seconds.items() if name.startswith("bare")]
    units = [statistics.mean(values) for values in zip(*bare, strict=True)]
    ratios = {
        name: statistics.median(one / unit for one, unit in zip(values, units, strict=True))
        for name, values in seconds.items()
        if name.startswith(("bare", "explanation"))
    }
    best = min(value for name, value in ratios.items() if name.startswith("bare"))
    return {name: value / best for name, value in ratios.items()}


def spread(values: list[float]) -> dict[str, float]:
    """Return median, minimum and maximum."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def provenance(command: str, rounds: int | Mapping[str, int]) -> dict[str, Any]:
    """Return what a reader needs to repeat a measurement."""
    return {
        "command": command,
        "rounds": rounds,
        "threads": torch.get_num_threads(),
        "hardware": {"machine": platform.machine(), "processor": _processor()},
        "versions": {"python": platform.python_version()} | {name: v for name in PACKAGES if (v := _version(name))},
    }


def write(name: str, result: Mapping[str, Any], table: str) -> None:
    """Write benchmarks/results/NAME.json and NAME.md, with hardware and total time, and print the table."""
    result = {"wall_seconds": round(time.perf_counter() - BEGAN), **result}
    threads = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    hardware = f"{result['hardware']['processor']}, {threads} per process"
    table += f"\nMeasured on {hardware}; more in the JSON file.\n"
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(table, encoding="utf-8")
    print(table)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )

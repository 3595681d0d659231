"""Cost of the core: an explanation against the bare forward passes that it asks for, and the linear program of Eq. lp.

Run by `make bench`: everything in one process on one thread, interleaved, so that a busy machine disturbs all alike.
Writes benchmarks/results/core.json and a table on stdout.
"""

import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

import mase
from mase.estimators.dantzig import minimum_l1

TEXT = (
    "I went in expecting very little and for the first half hour that is exactly what I got the jokes are tired the plot is borrowed "
    "and the leads look bored but then something odd happens the film slows down stops trying to be clever and turns into a tender and "
    "surprisingly honest story about two brothers who cannot talk to each other and the last scene is so good that I would "
    "gladly sit through the beginning again"
)
ROUNDS = 15


def bare(module: torch.nn.Module, ids: list[int], batch_size: int, n: int = 1000) -> None:
    """Ask the module n times, no more."""
    rows = torch.tensor([ids]).expand(batch_size, -1).contiguous()
    with torch.inference_mode():
        for start in range(0, n, batch_size):
            module(rows[: min(batch_size, n - start)])


def program() -> Callable[[], object]:
    """Return the linear program of 512 correlated coordinates, moments with the noise of 1,000 samples."""
    rng, p = np.random.default_rng(2), 512
    matrix = 0.01 * 0.7 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    z = rng.standard_normal((1000, p)) @ np.linalg.cholesky(matrix).T
    truth = np.where(rng.random(p) < 0.06, rng.standard_normal(p), 0)
    b = (z * (z @ truth)[:, None]).mean(axis=0)
    return lambda: minimum_l1(matrix, b, 0.1 * float(np.abs(b).max()))


def timed(cases: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return seconds per case and round, the cases interleaved; a first round warms up and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for round_number in range(ROUNDS + 1):
        for name, call in cases.items():
            began = time.perf_counter()
            call()
            if round_number:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def main() -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    model = mase.models.load("lstm-imdb")
    ids = list(model.encode(TEXT).ids)
    cases: dict[str, Callable[[], object]] = {
        f"bare forwards, batch {b}": lambda b=b: bare(model.module, ids, b) for b in (16, 32, 64, 128, 256)
    }
    for method in ("mase", "mase-paper", "mase-sparse"):
        cases[f"explanation, {method}"] = lambda e=mase.Explainer(model, method=method): e(TEXT)
    cases["Eq. lp, p = 512, correlated"] = program()
    seconds = timed(cases)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    best = min(value for name, value in medians.items() if name.startswith("bare"))
    result = {
        "command": "make bench",
        "n_words": len(ids),
        "n_samples": 1000,
        "threads": torch.get_num_threads(),
        "rounds": ROUNDS,
        "hardware": {"machine": platform.machine(), "processor": processor()},
        "versions": {name: version(name) for name in ("mase-xai", "torch", "numpy", "scipy")} | {"python": platform.python_version()},
        "seconds": {name: {"median": medians[name], "min": min(values), "max": max(values)} for name, values in seconds.items()},
        "ratio to best bare": {name: value / best for name, value in medians.items() if not name.startswith("Eq.")},
    }
    place = Path(__file__).parent / "results" / "core.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"lstm-imdb, {len(ids)} words, N = 1000, one thread, medians of {ROUNDS} interleaved rounds\n")
    print("| case | seconds | ratio to the best bare forwards |\n|---|---|---|")
    for name, value in medians.items():
        ratio = f"{value / best:.2f}" if not name.startswith("Eq.") else ""
        print(f"| {name} | {value:.4f} | {ratio} |")


def processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()

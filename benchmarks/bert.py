"""Cost on a BERT in float32 and half precision, compared with forward passes alone; effect of half precision on scores.

`make bench` runs it in one process with one thread. All cases take turns. On a GPU, `python benchmarks/bert.py --device
cuda` also times estimators that cost less than the default, and writes a page of its own.
"""

import argparse
import statistics
from typing import Any

import torch
from scipy.stats import spearmanr

import mase
from core import TEXT, bare
from mase.models.base import Model
from timing import Case, interleaved, provenance, relative, spread, write

NAME, N = "bert-imdb", 1000
METHODS = ("mase", "mase-nlgp")
PRECISIONS = ("float32", "bfloat16")
ROUNDS = 5
# Sizes of the batches of bare forward passes.
BATCHES = {"cpu": (8, 16, 32), "cuda": (128, 256, 512, 1000)}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=list(BATCHES), default="cpu")
    device = parser.parse_args().device
    torch.set_num_threads(1)
    model = mase.models.load(NAME, device=device)
    seconds = interleaved(_cases(model, device), ROUNDS)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = relative(seconds)
    speedup = ratios["explanation, float32"] / ratios["explanation, bfloat16"]
    agreement = {method: _agreement(model, method) for method in METHODS}
    on_gpu = device != "cpu"
    command = f"python benchmarks/bert.py --device {device}" if on_gpu else "make bench"
    n_tokens = len(model.encode(TEXT).ids)
    result = provenance(command, ROUNDS) | {
        "model": NAME,
        "n_tokens": n_tokens,
        "n_samples": N,
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratio to best bare": ratios,
        "half precision": {"times faster": speedup, "Spearman": agreement},
    }
    where = "one thread"
    if on_gpu:
        result["hardware"]["gpu"] = torch.cuda.get_device_name(device)
        where = f"on {result['hardware']['gpu']}, one process with one thread"
    lines = [
        f"{NAME}, {n_tokens} tokens, N = {N}, {where}, {ROUNDS} interleaved rounds: median seconds, median ratio.",
        "",
    ]
    lines += ["| case | seconds | ratio to the best bare forwards |", "|---|---|---|"]
    lines += [f"| {name} | {value:.{3 if on_gpu else 2}f} | {ratios[name]:.2f} |" for name, value in medians.items()]
    lines += ["", "| half precision | measured | goal |", "|---|---|---|"]
    lines += [f"| times faster | {speedup:.2f} | {'' if on_gpu else '>= 1.8'} |"]
    lines += [
        f"| Spearman to float32, `{method}`, {kind} | {value:.4f} | {'>= 0.99' if kind == 'same seed' else ''} |"
        for method, found in agreement.items()
        for kind, value in found.items()
    ]
    write("bert-gpu" if on_gpu else "bert", result, "\n".join(lines) + "\n")


def _cases(model: Any, device: str) -> dict[str, Case]:
    """Return the bare forward passes, and the explanations."""
    ids = list(model.encode(TEXT).ids)
    cases: dict[str, Case] = {
        f"bare forwards, batch {b}": lambda b=b: bare(model.module, ids, b, N, device) for b in BATCHES[device]
    }
    explainers = {one: mase.Explainer(model, n_samples=N, precision=one, evidence=0) for one in PRECISIONS}
    if device != "cpu":
        method = "mase+estimator=least-squares"
        explainers["float32, least squares"] = mase.Explainer(model, n_samples=N, method=method, evidence=0)
        explainers["float32, mase-nlgp"] = mase.Explainer(model, method="mase-nlgp", n_samples=N, evidence=0)
    return cases | {f"explanation, {name}": lambda e=one: e(TEXT) for name, one in explainers.items()}


def _agreement(model: Model, method: str) -> dict[str, float]:
    """Return the rank correlation of scores in half precision and float32, and of two seeds in float32."""
    exact, half, other = (
        mase.Explainer(model, method=method, n_samples=N, precision=precision, seed=seed, evidence=0)(TEXT).scores
        for precision, seed in (("float32", 0), ("bfloat16", 0), ("float32", 1))
    )
    return {
        "same seed": float(spearmanr(exact, half).statistic),
        "two seeds of float32": float(spearmanr(exact, other).statistic),
    }


if __name__ == "__main__":
    main()

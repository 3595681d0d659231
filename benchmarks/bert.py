"""Cost on a BERT in float32 and half precision, compared with forward passes alone; effect of half precision on scores.

`make bench` runs it in one process with one thread. All cases take turns.
"""

import statistics

import torch
from scipy.stats import spearmanr

import mase
from core import TEXT, bare
from mase.models.protocol import Model
from timing import Case, interleaved, provenance, relative, spread, write

NAME, N, ROUNDS = "bert-imdb", 1000, 5
METHODS = ("mase", "mase-nlgp")


def main() -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    model = mase.models.load(NAME)
    ids = list(model.encode(TEXT).ids)
    explainers = {
        precision: mase.Explainer(model, n_samples=N, precision=precision) for precision in ("float32", "bfloat16")
    }
    cases: dict[str, Case] = {
        f"bare forwards, batch {b}": lambda b=b: bare(model.module, ids, b, N) for b in (8, 16, 32)
    }
    cases |= {f"explanation, {precision}": lambda e=one: e(TEXT) for precision, one in explainers.items()}
    seconds = interleaved(cases, ROUNDS)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = relative(seconds)
    speedup = ratios["explanation, float32"] / ratios["explanation, bfloat16"]
    agreement = {method: _agreement(model, method) for method in METHODS}
    result = provenance("make bench", ROUNDS) | {
        "model": NAME,
        "n_tokens": len(ids),
        "n_samples": N,
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratio to best bare": ratios,
        "half precision": {"times faster": speedup, "Spearman": agreement},
    }
    lines = [
        f"{NAME}, {len(ids)} tokens, N = {N}, one thread, {ROUNDS} interleaved rounds: median seconds, median ratio.",
        "",
    ]
    lines += ["| case | seconds | ratio to the best bare forwards |", "|---|---|---|"]
    lines += [f"| {name} | {value:.2f} | {ratios[name]:.2f} |" for name, value in medians.items()]
    lines += ["", "| half precision | measured | goal |", "|---|---|---|", f"| times faster | {speedup:.2f} | >= 1.8 |"]
    lines += [
        f"| Spearman to float32, `{method}`, {kind} | {value:.4f} | {'>= 0.99' if kind == 'same seed' else ''} |"
        for method, found in agreement.items()
        for kind, value in found.items()
    ]
    write("bert", result, "\n".join(lines) + "\n")


def _agreement(model: Model, method: str) -> dict[str, float]:
    """Return the rank correlation of scores in half precision and float32, and of two seeds in float32."""
    exact, half, other = (
        mase.Explainer(model, method=method, n_samples=N, precision=precision, seed=seed)(TEXT).scores
        for precision, seed in (("float32", 0), ("bfloat16", 0), ("float32", 1))
    )
    return {
        "same seed": float(spearmanr(exact, half).statistic),
        "two seeds of float32": float(spearmanr(exact, other).statistic),
    }


if __name__ == "__main__":
    main()

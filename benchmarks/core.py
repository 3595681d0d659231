"""Cost of the core: an explanation compared with its forward passes alone, and the linear programs of Eq. lp.

`make bench` runs it in one process with one thread. All cases take turns, so that other load affects them equally.
"""

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mase
from mase.estimators.sparse import minimum_l1
from mase.pipeline import measure
from mase.testing import linear
from timing import Case, interleaved, provenance, relative, spread, write

# 79 words, our own; the bundled LSTM reads at most 80.
TEXT = (
    "I went in expecting very little and for the first half hour that is exactly what I got the jokes are tired the "
    "plot is borrowed and the leads look bored but then something odd happens the film slows down stops trying to be "
    "clever and "
    "turns into a tender and surprisingly honest story about two brothers who cannot talk to each other and the last "
    "scene is so good that I would gladly sit through the beginning again"
)
ROUNDS = 21
N = 1000


def bare(module: torch.nn.Module, ids: list[int], batch_size: int, n: int = N, device: str = "cpu") -> None:
    """Run n forward passes and nothing else."""
    rows = torch.tensor([ids], device=device).expand(batch_size, -1).contiguous()
    with torch.inference_mode():
        for start in range(0, n, batch_size):
            module(rows[: min(batch_size, n - start)])
    if device != "cpu":
        torch.cuda.synchronize(device)  # a GPU is still busy when the call returns


def program(correlation: float | None) -> Callable[[], object]:
    """Return the linear program of 512 coordinates, moments with the noise of 1,000 samples and tol = 0.1 max |b|.

    Neighbours are correlated as given, further ones by its powers; None is a dense (Wishart) covariance.
    """
    rng, p = np.random.default_rng(2), 512
    rows = rng.standard_normal((2 * p, p))
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    matrix = 0.01 * (rows.T @ rows / (2 * p) if correlation is None else correlation**distance)
    z = rng.standard_normal((1000, p)) @ np.linalg.cholesky(matrix).T
    truth = np.where(rng.random(p) < 0.06, rng.standard_normal(p), 0)
    b = (z * (z @ truth)[:, None]).mean(axis=0)
    return lambda: minimum_l1(matrix, b, 0.1 * float(np.abs(b).max()))


def free_model() -> Callable[[], object]:
    """Return an explanation of 64 coordinates, N = 1000, of a model without cost, which measures our own overhead."""
    probe, method = linear(np.linspace(-1, 1, 64)), mase.METHODS["mase"]
    return lambda: measure(probe, method, 0, np.random.default_rng(0))


def main() -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    model: Any = mase.models.load("lstm-imdb")
    ids = list(model.encode(TEXT).ids)
    cases: dict[str, Case] = {
        f"bare forwards, batch {b}": lambda b=b: bare(model.module, ids, b) for b in (16, 32, 64, 128, 256)
    }
    for method in ("mase", "mase-paper", "mase-sparse"):
        explainer = mase.Explainer(model, method=method, n_samples=N, evidence=0)
        cases[f"explanation, {method}"] = lambda e=explainer: e(TEXT)
    default = mase.Explainer(model, evidence=0)
    n_auto = default(TEXT).fit.n_queries
    cases["default: forwards alone"] = lambda: bare(model.module, ids, 64, n_auto)
    cases["default: explanation"] = lambda: default(TEXT)
    cases["free model, 64 coordinates"] = free_model()
    for correlation in (0.5, 0.9, None):
        kind = "dense" if correlation is None else f"correlation {correlation}"
        cases[f"Eq. lp, p = 512, {kind}"] = program(correlation)
    seconds = interleaved(cases, ROUNDS)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = relative(seconds)
    of_default = zip(seconds["default: explanation"], seconds["default: forwards alone"], strict=True)
    own = statistics.median(one / other for one, other in of_default)
    result = provenance("make bench", ROUNDS) | {
        "model": "lstm-imdb",
        "n_words": len(ids),
        "n_samples": N,
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratio to best bare": ratios,
        "default": {"n_queries": n_auto, "ratio to its forwards": own},
    }
    lines = [
        f"lstm-imdb, {len(ids)} words, N = {N}, one thread, {ROUNDS} interleaved rounds: median seconds, median ratio.",
        "",
    ]
    lines += ["| case | seconds | ratio to the best bare forwards |", "|---|---|---|"]
    lines += [
        f"| {name} | {value:.4f} | {f'{ratios[name]:.2f}' if name in ratios else ''} |"
        for name, value in medians.items()
    ]
    lines += ["", f"By default an explanation of this text takes {n_auto} rows, and {own:.2f} times their forwards."]
    write("core", result, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

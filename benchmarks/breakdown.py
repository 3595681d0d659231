"""Time of each part of an explanation, compared with the forward passes alone of the same run.

`make bench` runs it. The parts are timed by wrapping them. Time in a nested part counts in both. One of them is the
least that a kernel ridge regression of all rows takes: one kernel, factored once.
"""

import operator
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import mase
import mase.models.torch.module as modules
import mase.models.torch.probe as probes
import mase.solve.oracle as oracles
import mase.solve.regression as designed
from core import TEXT, N
from mase.estimators.kernel_ridge import KernelRidge, _Fit
from mase.estimators.linear import Moment
from timing import provenance, write

ROUNDS, WARMING = 25, 2
METHODS = ("mase", "mase-paper")
# The functions to time, and what they do.
PARTS = {
    (modules.TorchModule, "bind"): "forward passes of the text and its reference",
    (oracles, "ask"): "asking: all batches, with what readies the module",
    (probes.TorchProbe, "_apply"): "inside it: placing the perturbed vectors",
    (designed, "planned"): "solving between the rounds",
    (KernelRidge, "fit"): "solving with standard errors",
    (Moment, "fit"): "solving with standard errors",
    (designed, "split_half"): "agreement of halves",
    (designed, "condition"): "condition number",
}
# The function whose longest call is that of all rows.
ONCE = ((_Fit, "of"), "inside solving: the kernel of all rows and its factor, once")


class Stopwatch:
    """Seconds in wrapped functions, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def wrap(
        self, owner: Any, attribute: str, name: str, joined: Callable[[float, float], float] = operator.add
    ) -> None:
        """Time every call of a function; `joined` says what the calls come to."""
        original: Callable[..., Any] = getattr(owner, attribute)

        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return original(*args, **options)
            finally:
                self.seconds[name] = joined(self.seconds.get(name, 0.0), time.perf_counter() - began)

        setattr(owner, attribute, timed)


def main() -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    model: Any = mase.models.load("lstm-imdb")
    watch = Stopwatch()
    for (owner, attribute), name in PARTS.items():
        watch.wrap(owner, attribute, name)
    watch.wrap(*ONCE[0], ONCE[1], max)
    watch.wrap(model.module.lstm, "forward", "inside it: the LSTM layer")
    ids = torch.tensor([model.encode(TEXT).ids]).repeat(64, 1)
    explainers = {method: mase.Explainer(model, method=method, n_samples=N, evidence=0) for method in METHODS}
    rounds: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    bare: list[float] = []
    for _ in range(WARMING + ROUNDS):
        began = time.perf_counter()
        with torch.inference_mode():
            for start in range(0, N, 64):
                model.module(ids[: min(64, N - start)])
        whole = time.perf_counter() - began
        for method, explainer in explainers.items():
            watch.seconds.clear()
            began = time.perf_counter()
            explainer(TEXT)
            rounds[method].append({"the whole explanation": time.perf_counter() - began} | watch.seconds)
        bare.append(whole)
    medians = {
        method: {name: statistics.median(one.get(name, 0.0) for one in found[WARMING:]) for name in found[0]}
        for method, found in rounds.items()
    }
    best = statistics.median(bare[WARMING:])
    lines = [f"lstm-imdb, {ids.shape[1]} words, N = {N}, one thread, medians of {ROUNDS} rounds, milliseconds.", ""]
    lines += ["| part | " + " | ".join(f"`{method}`" for method in METHODS) + " |", "|---|" + "---:|" * len(METHODS)]
    lines += [f"| {N:,} bare forward passes, batch 64 | {1e3 * best:.1f} | {1e3 * best:.1f} |"]
    for name in dict.fromkeys(["the whole explanation", "inside it: the LSTM layer", *PARTS.values(), ONCE[1]]):
        lines += [
            f"| {name} | " + " | ".join(f"{1e3 * medians[method].get(name, 0.0):.1f}" for method in METHODS) + " |"
        ]
    write("breakdown", provenance("make bench", ROUNDS) | {"bare": best, "seconds": medians}, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

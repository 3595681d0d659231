"""An explanation with the threads of NumPy and SciPy as they choose, and with one thread of both.

`make bench` runs it without a limit of the environment, on the machine as it is and with a busy process on every core.
"""

import os
import subprocess
import sys
from contextlib import ExitStack

from threadpoolctl import threadpool_limits

import mase
from core import TEXT
from timing import interleaved, provenance, spread, write

ROUNDS = 7
BUSY = "while True: pass"


def main() -> None:
    """Measure, print and write."""
    explainer = mase.Explainer("lstm-imdb", evidence=0)

    def limited() -> None:
        with threadpool_limits(1, user_api="blas"):
            explainer(TEXT)

    cases = {"as they choose": lambda: explainer(TEXT), "one": limited}
    result, rows = provenance("make bench", ROUNDS) | {"cores": os.cpu_count()}, []
    for load in ("nothing else runs", "every core is busy"):
        with ExitStack() as stack:
            for _ in range(os.cpu_count() or 1 if load == "every core is busy" else 0):
                process = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
                stack.callback(process.kill)
            seconds = interleaved(cases, ROUNDS)
        ratios = [free / one for free, one in zip(*seconds.values(), strict=True)]
        result[load] = {name: spread(some) for name, some in seconds.items()} | {"ratio": spread(ratios)}
        found = result[load]
        cells = [load, *(f"{found[name]['median']:.2f}" for name in cases), f"{found['ratio']['median']:.2f}"]
        rows.append(f"| {' | '.join(cells)} |")
    head = ["| the machine | as they choose, s | one, s | ratio |", "|---|---:|---:|---:|"]
    about = (
        f"One explanation of {len(TEXT.split())} words by `lstm-imdb` with the default settings, by the number of "
        f"threads of NumPy and SciPy outside of it: medians of {ROUNDS} interleaved rounds on {os.cpu_count()} cores."
    )
    write("threads", result, "\n".join([about, "", *head, *rows]) + "\n")


if __name__ == "__main__":
    main()

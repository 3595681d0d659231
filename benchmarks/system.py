"""Cost of an explanation besides the model: memory, start-up, other processes, mixed lengths and batch sizes.

`make bench` runs it. Every figure is a ratio within one run, or bytes.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

import mase
from mase.testing import smooth
from timing import Case, interleaved, provenance, write

ROOT = Path(__file__).parent.parent
REVIEWS = (ROOT / "examples" / "reviews.txt").read_text(encoding="utf-8").splitlines()
ROUNDS = 7
WORDS = " ".join(REVIEWS).replace(".", " ").replace(",", " ").split()
MEBIBYTE = 1 << 20


class Transformer(torch.nn.Module):
    """One layer of the width of BERT-base, enough to hold 512 tokens of width 768 at work."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(1000, 768)
        self.layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
        self.head = torch.nn.Linear(768, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.words(ids)).mean(dim=1))


def peak() -> float:
    """Return the peak resident memory of this process so far, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory() -> dict[str, float]:
    """Return MiB above the model alone at the same batch size, and the growth of a new process over 2,000 texts."""
    torch.manual_seed(0)
    module = Transformer().eval()
    model = mase.models.TorchModule(module, tokenize=lambda text: [ord(word[0]) for word in text.split()])
    text = " ".join(WORDS[i % len(WORDS)] for i in range(512))
    explainer = mase.Explainer(model, n_samples=1000, evidence=0)
    batch = 8
    ids = torch.randint(0, 1000, (batch, 512))
    with torch.no_grad():
        module(ids)
    bare = peak()
    explainer = mase.Explainer(model, n_samples=1000, batch_size=batch, evidence=0)
    # One forward pass of this layer takes a second: the coordinates and answers of N = 1000 are there from the start.
    explainer(text)
    once = peak()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        grown = fresh.submit(growth).result()
    return {"extra MiB, N = 1000, 512 x 768": once - bare, "growth MiB over 2,000 texts": grown}


def growth() -> float:
    """Return how much the peak memory of this process grows over 2,000 texts, in MiB."""
    torch.set_num_threads(1)
    explainer = mase.Explainer("lstm-imdb", n_samples=16, evidence=0)
    for number in range(2200):
        if number == 200:
            before = peak()
        explainer(f"a quiet and beautifully acted film number {number}")
    return peak() - before


def cold_start() -> dict[str, float]:
    """Return the wall time of `mase explain`, whole process, over that of importing torch and loading the model."""
    loading = "import torch, mase; mase.models.load('lstm-imdb')"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    commands = {
        "loading": [sys.executable, "-c", loading],
        "mase explain": [sys.executable, "-m", "mase", "explain", REVIEWS[0]],
        "import mase": [sys.executable, "-c", "import mase"],
        "mase --help": [sys.executable, "-m", "mase", "--help"],
    }

    def case(command: Sequence[str]) -> Case:
        return lambda: subprocess.run(command, check=True, capture_output=True, env=environment)

    medians = {
        name: statistics.median(v) for name, v in interleaved({n: case(c) for n, c in commands.items()}, ROUNDS).items()
    }
    return {
        "mase explain / loading torch and the model": medians["mase explain"] / medians["loading"],
        "import mase, seconds": medians["import mase"],
        "mase --help, seconds": medians["mase --help"],
    }


def two_processes() -> dict[str, float]:
    """Return the throughput of two processes over that of one, one thread each."""
    code = (
        "import torch, time, mase; torch.set_num_threads(1); e = mase.Explainer('lstm-imdb');"
        "t = ' '.join({!r}.split()[:70]);"
        "e(t); print('ready', flush=True); input(); b = time.perf_counter(); [e(t) for _ in range(24)];"
        "print(time.perf_counter() - b)"
    ).format(" ".join(WORDS))

    def rate(n: int) -> float:
        command, pipe = [sys.executable, "-c", code], subprocess.PIPE
        running = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(n)]
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return sum(1 / float(process.communicate()[0]) for process in running)

    ratios = []
    for number in range(4):
        rates = {n: rate(n) for n in ((1, 2), (2, 1))[number % 2]}
        ratios.append(rates[2] / rates[1])
    return {"two processes / one": statistics.median(ratios)}


def mixed_lengths() -> dict[str, float]:
    """Return the throughput on texts of 10 to 80 words in shuffled order, relative to that in order of length."""
    explainer = mase.Explainer("lstm-imdb", n_samples=400, evidence=0)
    texts = {length: [" ".join(WORDS[s : s + length]) for s in range(6)] for length in (10, 20, 40, 80)}
    ordered = [text for group in texts.values() for text in group]
    shuffled = ordered[::4] + ordered[1::4] + ordered[2::4] + ordered[3::4]
    seconds = interleaved({"ordered": lambda: explainer(ordered), "shuffled": lambda: explainer(shuffled)}, ROUNDS)
    return {
        "mixed lengths / single lengths, throughput": statistics.median(seconds["ordered"])
        / statistics.median(seconds["shuffled"])
    }


def batch_sizes() -> dict[str, float]:
    """Return the time at the batch size that is chosen over the best of a grid, for short and full texts."""
    found = {}
    for length in (20, 80):
        text = " ".join(WORDS[:length])
        cases: dict[str, Case] = {}
        for size in ("auto", 16, 32, 64, 128, 256):
            explainer = mase.Explainer("lstm-imdb", batch_size=size, evidence=0)
            cases[str(size)] = lambda e=explainer, t=text: e(t)
        seconds = interleaved(cases, 3 * ROUNDS)
        units = [statistics.mean(values) for values in zip(*seconds.values(), strict=True)]
        medians = {
            n: statistics.median(one / unit for one, unit in zip(v, units, strict=True)) for n, v in seconds.items()
        }
        found[f"auto batch / best of grid, {length} words"] = medians["auto"] / min(medians.values())
    return found


def overhead() -> dict[str, float]:
    """Return microseconds per sample with a model that costs next to nothing, 64 coordinates, N = 1000."""
    import numpy as np

    from mase.pipeline import measure

    probe, method, seconds = smooth(64), mase.METHODS["mase"], []
    for _ in range(60):
        began = time.perf_counter()
        measure(probe, method, 0, np.random.default_rng(0))
        seconds.append(time.perf_counter() - began)
    return {"overhead, microseconds per sample": statistics.median(seconds) * 1e3}


GOALS = {
    "extra MiB, N = 1000, 512 x 768": "<= 300",
    "growth MiB over 2,000 texts": "about 0",
    "mase explain / loading torch and the model": "<= 1.5",
    "import mase, seconds": "<= 0.5",
    "mase --help, seconds": "<= 0.5",
    "two processes / one": ">= 1.8",
    "mixed lengths / single lengths, throughput": ">= 0.95",
    "auto batch / best of grid, 20 words": "<= 1.05",
    "auto batch / best of grid, 80 words": "<= 1.05",
    "overhead, microseconds per sample": "<= 5",
}


def main() -> None:
    """Measure, print and write. If parts are named in the command, only these are measured again."""
    torch.set_num_threads(1)
    parts = {part.__name__: part for part in (memory, overhead, mixed_lengths, batch_sizes, cold_start, two_processes)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(parts)}; without a name, all")
    named = parser.parse_args().parts
    if wrong := [name for name in named if name not in parts]:
        parser.error(f"got {', '.join(wrong)}, expected some of {', '.join(parts)}")
    known: dict[str, Any] = {"figures": {}}
    if named:
        known = json.loads((Path(__file__).parent / "results" / "system.json").read_text(encoding="utf-8"))
    figures: dict[str, float] = known["figures"]
    for name in named or parts:
        figures |= parts[name]()
        print(name, "done", file=sys.stderr)
    lines = ["One thread per process, medians.", "", "| what | measured | goal |", "|---|---|---|"]
    lines += [f"| {name} | {value:.3g} | {GOALS[name]} |" for name, value in figures.items()]
    took = {"wall_seconds": known["wall_seconds"]} if named else {}
    made = provenance(" ".join(["make bench", *(f"and python benchmarks/system.py {name}" for name in named)]), ROUNDS)
    write("system", made | took | {"figures": figures, "goals": GOALS}, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

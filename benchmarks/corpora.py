"""What `mase run` costs beside the explanations: workers, Ray, driver, storage, memory; and what 10 million texts take.

    python benchmarks/corpora.py [PART ...] [--million N]

A part that is named is measured again, the other figures are kept. All parts take about an hour on two cores, of which
the run of a million texts takes most. It also writes the tables of `docs/corpora.md`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import torch

import mase
from corpora_page import Figures, update
from mase.errors import DataError
from mase_paper import datasets
from timing import provenance, write

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "corpora.json"
MEBIBYTE = 1 << 20
N_SAMPLES, N_TEXTS, PART_SIZE, ROUNDS = 200, 1_600, 32, 3
# 160 words in two reviews, of which a text here takes 40: half of what the bundled LSTM reads.
WORDS = " ".join((ROOT / "examples" / "reviews.txt").read_text(encoding="utf-8").split()).split()
FREE_MODEL = "def probabilities(texts):\n    return [[0.4, 0.6] for _ in texts]\n"


def save_texts(folder: Path, n: int, words: int = 40) -> Path:
    """Write n different texts, one per line."""
    path = folder / f"texts-{n}-{words}.txt"
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            begin = number * 7
            file.write(" ".join(WORDS[(begin + i) % len(WORDS)] for i in range(words - 1)) + f" {number}\n")
    return path


def free_model(folder: Path) -> tuple[str, ...]:
    """Write a model without cost; return the options that explain it with as few evaluations as there are words."""
    path = folder / "free.py"
    path.write_text(FREE_MODEL, encoding="utf-8")
    return ("--model", f"{path}:probabilities", "--method", "occlusion")


def command(source: Path, run: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "mase", "run", str(source), "--output", str(run), "--quiet", *options]


def rate(source: Path, folder: Path, *options: str) -> float:
    """Return texts per second of `mase run`, from when a tenth of the parts is finished to the end.

    So the start of the command, which matters for a short run only, is left out.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        run = Path(place) / "run"
        subprocess.run(
            [*command(source, run, *options), "--part-size", str(PART_SIZE)], check=True, stderr=subprocess.DEVNULL
        )
        moments = sorted(path.stat().st_mtime for path in (run / "texts").iterdir())
    first = len(moments) // 10
    return PART_SIZE * (len(moments) - 1 - first) / (moments[-1] - moments[first])


def compared(cases: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Return texts per second of cases that take turns."""
    rates: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(ROUNDS):
        for name in list(cases)[:: 1 if number % 2 else -1]:
            rates[name].append(cases[name]())
    return rates


def ratio(rates: Mapping[str, Sequence[float]], above: str, below: str) -> float:
    """Return the median over rounds of the ratio of two cases."""
    return statistics.median(a / b for a, b in zip(rates[above], rates[below], strict=True))


LSTM = ("--model", "lstm-imdb", "--n-samples", str(N_SAMPLES))


def workers(folder: Path) -> Figures:
    """Return the throughput of two workers over that of one, lstm-imdb."""
    source = save_texts(folder, N_TEXTS)
    rates = compared({jobs: (lambda jobs=jobs: rate(source, folder, *LSTM, "--jobs", jobs)) for jobs in ("1", "2")})
    return {
        "two workers / one": ratio(rates, "2", "1"),
        "seconds per text and worker, lstm-imdb": 1 / statistics.median(rates["1"]),
    }


def ray(folder: Path) -> Figures:
    """Return the throughput of two actors of Ray over that of two local workers, lstm-imdb."""
    source = save_texts(folder, N_TEXTS)
    with cluster() as address:
        engines = {"local": (), "ray": ("--engine", "ray", "--address", address)}
        rates = compared(
            {
                name: (lambda options=options: rate(source, folder, *LSTM, "--jobs", "2", *options))
                for name, options in engines.items()
            }
        )
    return {"two Ray actors / two local workers": ratio(rates, "ray", "local")}


@contextmanager
def cluster() -> Iterator[str]:
    """Start Ray with two processors, and return its address."""
    import ray

    context = ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        yield context.address_info["address"]
    finally:
        ray.shutdown()


class Timed(mase.Explainer):
    """An explainer that adds up the processor time of its explanations."""

    processor_time = 0.0

    def __call__(self, texts: Any, *, target: str | int | None = None) -> Any:
        began = time.thread_time()
        found = super().__call__(texts, target=target)
        self.processor_time += time.thread_time() - began
        return found


def reviews(n: int) -> list[str]:
    """Return the first n test reviews of IMDB; none if the data set is not there."""
    try:
        return list(datasets.load("imdb", "test").texts[:n])
    except DataError as error:
        print(f"without reviews: {error}", file=sys.stderr)
        return []


def driver(folder: Path) -> Figures:
    """Return what driver and storage take of a run in this process: all but the time of the explanations.

    Parts are written while the next texts are explained. The processor time has both.
    """
    torch.set_num_threads(1)
    free: dict[str, Any] = {}
    exec(FREE_MODEL, free)
    lstm = {"model": "lstm-imdb", "n_samples": N_SAMPLES}
    cases: dict[str, tuple[dict[str, Any], Any, int]] = {
        "lstm-imdb": (lstm, save_texts(folder, 600), 600),
        "lstm-imdb, all that it reads": (lstm, save_texts(folder, 300, 80), 300),
        "lstm-imdb, reviews of IMDB": (lstm, texts := reviews(400), len(texts)),
        "free": ({"model": free["probabilities"], "method": "occlusion"}, save_texts(folder, 10_000, 8), 10_000),
    }
    found = {}
    for name, (options, source, n) in cases.items():
        if n:
            found |= {f"{what}, {name}": value for what, value in beside(folder, Timed(**options), source, n).items()}
    return found


def beside(folder: Path, explainer: Timed, source: Any, n: int) -> Figures:
    """Return what a run of n texts takes beside the explanations."""
    with tempfile.TemporaryDirectory(dir=folder) as place:  # imports
        mase.run(source, Path(place) / "run", model=explainer, engine="here", limit=2)
    explainer.processor_time = 0.0
    with tempfile.TemporaryDirectory(dir=folder) as place:
        began, processor_began = time.perf_counter(), time.process_time()
        run = mase.run(source, Path(place) / "run", model=explainer, engine="here")
        wall, processor = time.perf_counter() - began, time.process_time() - processor_began
        size = sum(path.stat().st_size for path in (Path(place) / "run").rglob("*.parquet"))
        explaining = sum(run.timings()["seconds"].to_pylist())
    return {
        "driver and storage, share of the time": 1 - explaining / wall,
        "driver and storage, share of the processor time": 1 - explainer.processor_time / processor,
        "driver and storage, ms per text": (wall - explaining) / n * 1e3,
        "driver and storage, ms of the processor per text": (processor - explainer.processor_time) / n * 1e3,
        "bytes per text": size / n,
    }


def million(folder: Path, n: int) -> Figures:
    """Return the memory of the driver of a long run, and the time that the command takes once all is done."""
    source, run = save_texts(folder, n, 8), folder / "million"
    words = command(source, run, *free_model(folder), "--jobs", "2")
    began = time.perf_counter()
    process = subprocess.Popen(words)
    memory = []
    while process.poll() is None:
        memory.append((time.perf_counter() - began, _resident(process.pid)))
        time.sleep(1)
    wall = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"the run of {n:,} texts ended with {process.returncode}")
    settled = [size for moment, size in memory if moment >= wall / 20 and size]
    began = time.perf_counter()
    subprocess.run(words, check=True)
    return {
        "texts of the long run": n,
        "texts per second, free model, two workers": n / wall,
        "memory of the driver, MiB": max(settled) / MEBIBYTE,
        "its growth after the first twentieth, MiB": (max(settled) - settled[0]) / MEBIBYTE,
        "the same command after the end, seconds": time.perf_counter() - began,
    }


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


GOALS = {
    "two workers / one": ">= 1.8",
    "two Ray actors / two local workers": ">= 0.9",
    "driver and storage, share of the time, lstm-imdb": "<= 0.03",
    "driver and storage, share of the processor time, lstm-imdb": "<= 0.03",
    "driver and storage, share of the time, lstm-imdb, reviews of IMDB": "<= 0.03",
    "driver and storage, share of the processor time, lstm-imdb, reviews of IMDB": "<= 0.03",
    "driver and storage, ms per text, free": "<= 1",
    "driver and storage, ms of the processor per text, free": "<= 1",
    "its growth after the first twentieth, MiB": "<= 50",
    "the same command after the end, seconds": "<= 10",
}


def main() -> None:
    """Measure all parts or those that are named, keep the rest of the figures, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="workers, ray, driver or million; default: all")
    parser.add_argument("--million", type=int, default=1_000_000, metavar="N", help="texts of the long run")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="mase-corpora-") as place:
        folder = Path(place)
        parts: dict[str, Callable[[], Figures]] = {
            "workers": lambda: workers(folder),
            "ray": lambda: ray(folder),
            "driver": lambda: driver(folder),
            "million": lambda: million(folder, chosen.million),
        }
        known = json.loads(RESULTS.read_text(encoding="utf-8")) if chosen.parts and RESULTS.is_file() else {}
        figures: Figures = known.get("figures", {})
        for name in chosen.parts or parts:
            figures |= parts[name]()
            print(name, "done", file=sys.stderr)
    lines = ["One thread per worker.", "", "| what | measured | goal |", "|---|---|---|"]
    lines += [f"| {name} | {value:,.4g} | {GOALS.get(name, '')} |" for name, value in figures.items()]
    made = provenance("python benchmarks/corpora.py", ROUNDS)
    write("corpora", made | {"figures": figures, "goals": GOALS}, "\n".join(lines) + "\n")
    update(figures, N_SAMPLES)


if __name__ == "__main__":
    main()

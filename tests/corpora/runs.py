"""Runs for the tests: texts, what an engine makes of tasks, and the files that no two runs may differ in."""

import io
import time
from pathlib import Path

import pyarrow.parquet as pq
from tests.corpora.classifiers import judge
from tests.runs import COMPARED

import mase
from mase_corpora.engines import ENGINES, Died, Done, Resources

TEXTS = [f"a {word} film number {number}" for number, word in enumerate(("good", "dull", "superb", "plain") * 5)]


# Of a method and an estimator that take no time.
FAST = {"method": "mase-mask+estimator=least-squares", "n_samples": 8}


def run(folder, texts=TEXTS, **options):
    """Run with small parts in this process, unless the options say otherwise."""
    return mase.run(texts, folder, **{"model": judge, "engine": "here", "part_size": 4} | FAST | options)


def opened():
    """Return an explainer of a worker with a timeout, which has imported whatever the first text needs."""
    explainer = mase.Explainer(judge, n_samples=8)
    explainer(TEXTS[0])
    return explainer


def files(folder):
    """Return the bytes of all files of tables that runs have in common, by name."""
    found = [path for table in COMPARED for path in sorted((Path(folder) / table).iterdir())]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def tables(contents):
    """Return the tables in files, which another run may also have that was asked of another model."""
    return {name: pq.read_table(io.BytesIO(content)) for name, content in contents.items()}


def explained(engine, recipe, tasks, act=lambda event: None):
    """Return everything that one worker of an engine reports until all tasks are over; `act` is told at once."""
    workers, waiting, found, deadline = ENGINES[engine](Resources(1)), list(tasks), [], time.monotonic() + 240
    try:
        workers.start(recipe)
        while sum(isinstance(event, Done | Died) for event in found) < len(tasks) and time.monotonic() < deadline:
            while waiting and workers.free > 0:
                workers.submit(waiting.pop(0))
            for event in workers.events(1.0):
                act(event)
                found.append(event)
    finally:
        workers.close()
    return found

"""The report of 50,000 made-up texts of 200 words: seconds to write it and to open it in a browser.

    pip install playwright
    python benchmarks/report.py [CHROMIUM]

It needs Chromium and five minutes, so `make bench` leaves it out. It writes results/report.json and report.md.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from playwright.sync_api import Page, sync_playwright

from mase_corpora.folder import Folder
from mase_corpora.plan import Asked, Manifest, Plan, automatic_part_size
from mase_corpora.read import Run, open_run
from mase_corpora.schema import schema
from mase_corpora.storage import storage_of
from mase_corpora.summary import summarise
from timing import provenance, write

N_TEXTS, N_WORDS, N_VOCABULARY = 50_000, 200, 4_000
LABELS = ("neg", "pos")
KEPT = ("label",)


def made_up_run(place: Path, n_texts: int) -> Run:
    """Return a run in which each word of a vocabulary has one effect, with noise."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = np.array(sorted({"".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(N_VOCABULARY)}))
    frequency = 1 / np.arange(3, len(vocabulary) + 3)
    effects = rng.normal(0, 0.3, len(vocabulary))
    plan = Plan(n_texts, automatic_part_size(n_texts))
    asked = Asked(
        model={"name": "made up"}, method={"name": "mase"}, seed=0, target=None, input={}, n_texts=n_texts,
        part_size=plan.part_size, kept=KEPT,
    )  # fmt: skip
    folder = Folder(storage_of(place))
    folder.create(Manifest(asked=asked, made_with={}, labels=LABELS, created="2026-11-22"))
    for part in plan.parts:
        rows: dict[str, list[dict[str, Any]]] = {"texts": [], "responses": [], "units": [], "timings": []}
        for row in plan.rows(part):
            words = rng.choice(len(vocabulary), N_WORDS, p=frequency / frequency.sum())
            add_text(rows, row, vocabulary[words].tolist(), effects[words] + rng.normal(0, 0.03, N_WORDS), rng)
        tables = {
            name: pa.Table.from_pylist(found, schema=schema(name, KEPT if name == "texts" else ()))
            for name, found in rows.items()
        }
        folder.write(part, tables, {})
    return open_run(place)


def add_text(rows: Any, row: int, words: list[str], scores: Any, rng: np.random.Generator) -> None:
    """Add the rows of one text."""
    key = {"id": f"text-{row}", "row": row}
    prediction = LABELS[int(scores.sum() > 0)]
    label = prediction if rng.random() < 0.9 else LABELS[1 - LABELS.index(prediction)]
    document = json.dumps([{"name": "text", "text": " ".join(words), "fixed": False}])
    rows["texts"].append(
        key | {"document": document, "label": label, "prediction": prediction, "probability": rng.uniform(0.5, 1),
               "n_queries": 200, "split_half": rng.beta(9, 1), "notes": []}
    )  # fmt: skip
    response = {"response": prediction, "link": "margin", "value": 1.0, "intercept": 0.0, "r2": rng.beta(12, 1)}
    rows["responses"].append(key | response | {"exact": False})
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    ranks = np.empty(len(words), int)
    ranks[np.argsort(-scores)] = np.arange(1, len(words) + 1)
    for position, (word, end, score, rank) in enumerate(zip(words, ends, scores, ranks, strict=True)):
        rows["units"].append(
            key | {"response": prediction, "position": position, "field": "text", "start": int(end) - len(word),
                   "end": int(end), "text": word, "score": score, "standard_error": 0.02, "rank": int(rank)}
        )  # fmt: skip


def until(page: Page, said: str) -> None:
    while said not in page.inner_text("#found"):
        time.sleep(0.01)


def opened(report: Path, chromium: str, word: str) -> dict[str, float]:
    """Return the seconds until the page is painted, until its list is there, and that a search of all texts takes."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(report.as_uri())
        until(page, "texts")
        listed = time.perf_counter() - start
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000")
        start = time.perf_counter()
        page.fill("#q", word)
        until(page, " with ")
        return {"first paint": painted, "list": listed, "search": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chromium", nargs="?", default="/usr/bin/chromium")
    chromium = parser.parse_args().chromium
    with tempfile.TemporaryDirectory() as scratch:
        run = made_up_run(Path(scratch) / "run", N_TEXTS)
        start = time.perf_counter()
        summary = summarise(run, label_column="label")
        summarised = time.perf_counter() - start
        start = time.perf_counter()
        page = summary.to_html(Path(scratch) / "report")
        written = time.perf_counter() - start
        size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
        seconds = {"summarise": summarised, "write the report": written} | opened(page, chromium, summary.words[0].word)
        result: dict[str, Any] = {
            "texts": N_TEXTS,
            "words per text": N_WORDS,
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
            "megabytes": {
                "the page": round(page.stat().st_size / 1e6, 2),
                "the whole report": round(size / 1e6),
            },
        }
        rows = [f"| {name} | {value} s |" for name, value in result["seconds"].items()]
        rows += [f"| {name} | {value} MB |" for name, value in result["megabytes"].items()]
        table = f"# The report of {N_TEXTS:,} texts of {N_WORDS} words\n\n| | |\n|---|---:|\n" + "\n".join(rows) + "\n"
        write("report", provenance("python benchmarks/report.py", 1) | result, table)


if __name__ == "__main__":
    main()

"""What `mase serve` costs beside an explanation: from the request to the last event, against the bare call.

    python benchmarks/serve.py [--rounds N]

Request and call alternate over the texts of `examples/reviews.txt`, each in a process with one thread. With Chromium
and playwright it also measures the time from the last key to the explanation on the page.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import torch

import mase
from timing import provenance, write

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "serve.json"
TEXTS = [line for line in (ROOT / "examples" / "reviews.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
MODEL, EVIDENCE = "lstm-imdb", 5
CHROMIUM = Path("/usr/bin/chromium")
KEYS = "A dull start, but the last hour is wonderful"


@contextmanager
def served() -> Iterator[str]:
    """Yield the first address of a server."""
    command = [sys.executable, "-m", "mase", "serve", "-m", MODEL, "--threads", "1", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def client_of(address: str) -> httpx.Client:
    """Return a client with the token, once the model is ready."""
    own, _, token = address.partition("/?token=")
    client = httpx.Client(base_url=own, headers={"Origin": own, "Authorization": f"Bearer {token}"}, timeout=60)
    while client.get("/api/models").json()["models"][0]["state"] != "ready":
        time.sleep(0.1)
    return client


def request(client: httpx.Client, text: str) -> float:
    """Return the seconds from the request to the last event."""
    begun = time.perf_counter()
    body = {"model": MODEL, "text": text, "settings": {"evidence": EVIDENCE}}
    name = client.post("/api/explanations", json=body).json()["id"]
    with client.stream("GET", f"/api/explanations/{name}/events") as answer:
        for line in answer.iter_lines():
            if line == "event: failed":
                raise RuntimeError("the explanation failed")
    return time.perf_counter() - begun


def call(explainer: mase.Explainer, text: str) -> float:
    begun = time.perf_counter()
    explainer(text)
    return time.perf_counter() - begun


def against_calls(client: httpx.Client, rounds: int) -> Mapping[str, Any]:
    """Return the seconds of requests and calls, and their ratio."""
    explainer = mase.Explainer(MODEL, evidence=EVIDENCE)
    pairs = []
    for number in range(rounds + 1):
        for text in TEXTS:
            plain = call(explainer, text) if number % 2 else None
            through = request(client, text)
            pair = (through, call(explainer, text) if plain is None else plain)
            if number:  # the first round warms up
                pairs.append(pair)
    return {
        "request": statistics.median(served for served, _ in pairs),
        "call": statistics.median(plain for _, plain in pairs),
        "ratio": statistics.median(served / plain for served, plain in pairs),
        "pairs": len(pairs),
    }


def after_keys(address: str, rounds: int) -> Mapping[str, Any]:
    """Return the seconds from the last key to the explanation on the page; nothing without a browser."""
    if find_spec("playwright") is None or not CHROMIUM.exists():
        return {}
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        box = page.locator("#a-text")
        copies = page.locator("[data-side=a] [data-part=copies]")  # shown beside an explanation only
        for number in range(rounds + 1):
            box.fill("")
            copies.wait_for(state="hidden")
            box.press_sequentially(f"{KEYS}{'!' * number}", delay=20)
            begun = time.perf_counter()
            copies.wait_for(state="visible")
            if number:  # the first round warms up
                seconds.append(time.perf_counter() - begun)
        browser.close()
    return {"key": statistics.median(seconds), "key_slowest": max(seconds)}


def table(found: Mapping[str, Any]) -> str:
    """Return the figures in Markdown."""
    rows = [
        ("request to last event, seconds", found["request"], ""),
        ("bare call, seconds", found["call"], ""),
        ("request / call, median of pairs", found["ratio"], "<= 1.2"),
    ]
    if "key" in found:
        rows.append(("last key to explanation in Chromium, seconds", found["key"], "< 1"))
        rows.append(("the slowest, seconds", found["key_slowest"], ""))
    lines = [f"| {what} | {value:.3g} | {goal} |" for what, value, goal in rows]
    head = f"{MODEL}, the texts of `examples/reviews.txt`, evidence = {EVIDENCE}, request and call in turns: medians."
    return "\n".join([head, "", "| what | measured | goal |", "|---|---:|---|", *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what `mase serve` costs beside an explanation.")
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    with served() as address:
        figures = dict(against_calls(client_of(address), rounds)) | dict(after_keys(address, 10))
    write("serve", provenance("python benchmarks/serve.py", rounds) | {"figures": figures}, table(figures))


if __name__ == "__main__":
    main()

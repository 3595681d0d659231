"""What `mase serve` costs beside an explanation: from the request to the last event, against the bare call.

    python benchmarks/serve.py [--rounds N]

Request and call alternate over the texts of `examples/reviews.txt`, each in a process with one thread. With Chromium
and playwright it also measures the time from the last key to the explanation on the page.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import mase
from timing import provenance, write

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "serve.json"
TEXTS = [line for line in (ROOT / "examples" / "reviews.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
MODEL, EVIDENCE = "lstm-imdb", 5
CHROMIUM = Path("/usr/bin/chromium")
# A page waits so long after the last key, in seconds.
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
    """Return a client with the cookie, once the model is ready."""
    own = address.partition("/?")[0]
    client = httpx.Client(base_url=own, headers={"Origin": own}, timeout=60)
    client.get(address)
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
            pair = (request(client, text), call(explainer, text)) if number % 2 else ()
            pair = pair or tuple(reversed((call(explainer, text), request(client, text))))
            if number:  # the first round warms up
                pairs.append(pair)
    return {
        "request, seconds": statistics.median(served for served, _ in pairs),
        "call, seconds": statistics.median(plain for _, plain in pairs),
        "request / call": statistics.median(served / plain for served, plain in pairs),
        "pairs": len(pairs),
    }


def after_keys(address: str, rounds: int) -> Mapping[str, Any]:
    """Return the seconds from the last key to the explanation on the page; nothing without a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    if not CHROMIUM.exists():
        return {}
    seconds = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        box = page.locator("#a-text")
        for number in range(rounds + 1):
            box.fill("")
            page.locator("[data-side=a] [data-part=status]", has_text="Explained.").wait_for(state="detached")
            box.press_sequentially(f"{KEYS}{'!' * number}", delay=20)
            begun = time.perf_counter()
            page.locator("[data-side=a] [data-part=status]", has_text="Explained.").wait_for(state="attached")
            if number:
                seconds.append(time.perf_counter() - begun)
        browser.close()
    return {
        "last key to explanation, seconds": statistics.median(seconds),
        "the slowest, seconds": max(seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with served() as address:
        client = client_of(address)
        figures = against_calls(client, rounds) | after_keys(address, 10)
    print(figures, provenance, write)


if __name__ == "__main__":
    main()

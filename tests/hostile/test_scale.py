"""Much of everything: words, samples, rows, classes; and other seeds of hashes."""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.hostile import boxes, process
from tests.hostile.corpora import save_box, sentences
from tests.hostile.process import Limits
from tests.hostile.right import faults

LIMITS = Limits(seconds=300, memory=4 << 30)
MB = 1 << 20


def cheap(texts):
    """Answer at once, whatever the length."""
    p = np.array([0.2 + 0.6 * (len(text) % 97) / 96 for text in texts])
    return np.stack([1 - p, p], axis=1)


def long_text(n_words, n_samples, seconds, megabytes):
    """Judge a text of many words: CPU time, and memory beyond what the process has."""
    from mase import Explainer

    text, before = " ".join(f"w{i}" for i in range(n_words)), resource.getrusage(resource.RUSAGE_SELF)
    found = Explainer(cheap, n_samples=n_samples)(text)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent, grown = (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        (after.ru_maxrss - before.ru_maxrss) / 1024,
    )
    if len(found.words) != n_words or not np.isfinite(found.scores).all():
        return f"{len(found.words)} words"
    return f"{spent:.1f} s of CPU time and {grown:.0f} MB" if spent > seconds or grown > megabytes else None


@pytest.mark.hostile
@pytest.mark.parametrize("n_words", [3000, 6000, 20_000])
def test_more_words_than_samples(n_words, judge):
    """The limit that the project set itself: 20,000 words with 200 samples in 10 s and 500 MB."""
    judge([(n_words, process.call(long_text, n_words, 200, 10, 500, limits=LIMITS))])


def many_samples(n):
    """Judge an explanation of many samples."""
    from mase import Explainer

    text = "a good film with a very dull end"
    found = Explainer(boxes.table, n_samples=n)(text)
    return faults(found, text) or (None if found.fit.n_queries <= 2 * n else f"{found.fit.n_queries} evaluations")


@pytest.mark.hostile
def test_many_samples(judge):
    judge(process.each(many_samples, [(2,), (3,), (10_000,), (100_000,)], LIMITS))


def many_classes(k):
    """Judge a function of many classes."""
    from mase import Explainer

    def box(texts):
        raw = np.array([[np.sin(len(text) * (i + 1)) for i in range(k)] for text in texts])
        return np.exp(raw) / np.exp(raw).sum(1, keepdims=True)

    text = "a good film with a very dull end"
    return faults(Explainer(box, n_samples=32)(text), text) or None


@pytest.mark.hostile
def test_many_classes(judge):
    judge(process.each(many_classes, [(2,), (100,), (3000,)], LIMITS))


@pytest.mark.hostile
def test_a_hundred_thousand_rows(tmp_path, judge):
    """All rows come out, in order, and memory does not grow with their number."""
    n, texts = 100_000, [text.split()[0] for text in sentences(1000)]
    source, output, box = tmp_path / "in.csv", tmp_path / "out.jsonl", save_box(tmp_path / "box.py", 0)
    source.write_text("text,number\n" + "".join(f"{texts[i % 1000]} {i},{i}\n" for i in range(n)), encoding="utf-8")
    arguments = ["explain", "-i", source, "-o", output, "-q", "-m", box, "--n-samples", "4"]
    ran = process.mase(*arguments, scratch=tmp_path / "streams", limits=Limits(seconds=1500, memory=2 << 30))
    verdicts = {"its end": None if ran.code == 0 else f"exit code {ran.code}: {ran.err[-300:]}"}
    with output.open(encoding="utf-8") as lines:
        wrong = [
            i for i, line in enumerate(lines) if json.loads(line)["document"][0]["text"] != f"{texts[i % 1000]} {i}"
        ]
    verdicts["its rows"] = f"row {wrong[0]} is another" if wrong else None
    with output.open("rb") as lines:
        count = sum(1 for _ in lines)
    verdicts["their number"] = None if count == n else f"{count} rows"
    judge(verdicts.items())


def explained(seed, method, tmp_path):
    """Return what the command says under a seed of hashes."""
    text = "The cast is superb, but the plot is dull and far too long."
    command = [sys.executable, "-m", "mase", "explain", text, "--json", "--n-samples", "100", "--method", method]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    found = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path, timeout=200
    )
    document = json.loads(found.stdout)
    del document["fit"]["seconds"]
    return document


@pytest.mark.hostile
@pytest.mark.parametrize("method", ["mase", "mase-paper", "lime"])
def test_other_seeds_of_hashes(method, tmp_path, judge):
    """Real processes, as a user starts them: a fork would share the seed."""
    first = explained("0", method, tmp_path)
    judge(
        (seed, None if explained(seed, method, tmp_path) == first else "other scores") for seed in ("1", "2", "random")
    )


@pytest.mark.hostile
def test_ctrl_c_during_a_long_text(tmp_path, judge):
    """A text of 20,000 words does not keep Ctrl-C waiting."""
    import signal

    source, box = tmp_path / "in.txt", save_box(tmp_path / "box.py", 0)
    source.write_text(" ".join(f"w{i}" for i in range(20_000)) + "\n", encoding="utf-8")
    verdicts = []
    for delay in (1.0, 2.0, 3.0, 4.0):
        running = process.start(
            "explain", "-i", source, "-m", box, "-q", "--n-samples", "500", scratch=tmp_path / "streams"
        )
        time.sleep(delay)
        alive = running.process.exitcode is None
        os.kill(running.process.pid, signal.SIGINT)
        began, ran = time.monotonic(), running.ended(30)
        waited = time.monotonic() - began
        wrong = ran.code not in (0, 130) or "Traceback" in ran.err or waited > 5
        verdicts.append(
            (delay, f"exit code {ran.code} after {waited:.1f} s: {ran.err[-300:]}" if wrong and alive else None)
        )
    judge(verdicts)

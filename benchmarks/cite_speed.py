"""Cost of the rows of `mase.cite` against bare forward passes of the same prompts, and against context-cite.

    python benchmarks/cite_speed.py MODEL_FOLDER [--stories 2] [--rounds 3]

in an environment with context-cite (`pip install --no-deps context-cite`, with nltk, spacy and datasets). MODEL_FOLDER
holds a causal language model with its tokenizer; the committed page is of SmolLM2-135M-Instruct. The prompts are those
of context-cite: stories of Reuters, of which fair coins take out sentences, with its own random numbers. Ratios are of
seconds of the processor in one thread, since the machine may be shared. Memory is the peak of a process of its own.
"""

import argparse
import gc
import multiprocessing
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cite_stories import CITE_SIZES, N_ROWS, N_TRIED, Story, best, opened, rows_of_cite, stories
from mase.models.language.torch import CausalLM
from timing import Case, interleaved, provenance, spread, write

BARE_SIZES = (1, 2, 4, 8, 16)
BARE, KEPT, OURS, CITE = (
    "bare forward passes",
    "bare, logits of the answer only",
    "rows of mase",
    "rows of context-cite",
)
HALF = f"{OURS}, half precision"


def bare(model: CausalLM, rows: Sequence[Sequence[int]], size: int, keep: int) -> None:
    """Run the model over rows of ids in order of length, padded on the left, with the last `keep` logits, 0 for all."""
    ordered = sorted(rows, key=len)
    with torch.no_grad():
        for start in range(0, len(rows), size):
            batch = ordered[start : start + size]
            width = max(map(len, batch))
            ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in batch])
            mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in batch])
            model.module(input_ids=ids, attention_mask=mask, logits_to_keep=keep)


def bare_rows(model: CausalLM, story: Story) -> tuple[list[Sequence[int]], int]:
    """Return the ids of all rows, and the length of the answer."""
    answer = model.continuation(story.answer).ids
    return [model.tokenizer.prompt(one) + answer for one in story.prompts], len(answer)


def rows_of_mase(model: CausalLM, story: Story) -> np.ndarray:
    return model.log_probabilities(story.prompts, [model.continuation(story.answer)])[0].sum(axis=1)


def timed(folder: str, precision: str, n_stories: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of all cases in a precision, with their best batch sizes."""
    model = opened(folder, precision)
    half = model.half() or model
    found = stories(model, n_stories)
    first = [bare_rows(model, story) for story in found]
    rows, length = first[0][0][:N_TRIED], first[0][1]
    sizes = {
        BARE: best({size: lambda size=size: bare(model, rows, size, 0) for size in BARE_SIZES}),
        KEPT: best({size: lambda size=size: bare(model, rows, size, length + 1) for size in BARE_SIZES}),
        CITE: best({size: lambda size=size: rows_of_cite(found[0], size, N_TRIED) for size in CITE_SIZES}),
    }
    answers: dict[str, Any] = {}

    def kept(name: str, index: int, answer: Any) -> None:
        answers[f"{name} {index}"] = answer

    each: dict[str, Any] = {
        BARE: lambda index: bare(model, first[index][0], sizes[BARE], 0),
        KEPT: lambda index: bare(model, first[index][0], sizes[KEPT], first[index][1] + 1),
        OURS: lambda index: kept(OURS, index, rows_of_mase(model, found[index])),
        HALF: lambda index: rows_of_mase(half, found[index]),
        CITE: lambda index: kept(CITE, index, rows_of_cite(found[index], sizes[CITE])),
    }
    if precision != "float32":
        del each[HALF]
    cases: dict[str, Case] = {
        name: lambda run=run: [run(index) for index in range(len(found))] for name, run in each.items()
    }
    seconds = interleaved(cases, rounds, time.process_time, warm=False)
    return {
        "seconds": seconds,
        "batch sizes": sizes,
        "rows": [
            {
                "tokens": sum(map(len, rows)),
                "distinct rows": len(set(rows)),
                "tokens of the answer": length,
                "sentences": story.citer.num_sources,
                "largest difference of log-probabilities of an answer": float(
                    np.abs(answers[f"{OURS} {index}"] - answers[f"{CITE} {index}"]).max()
                ),
            }
            for index, (story, (rows, length)) in enumerate(zip(found, first, strict=True))
        ],
    }


def memory(folder: str, case: str, size: int) -> float:
    """Return by how much the rows of a story raise the peak memory of this new process, in MiB."""
    model = opened(folder, "float32")
    (story,) = stories(model, 1)
    rows, length = bare_rows(model, story)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # loading may take more memory than the rows
    before = _peak()
    if case == OURS:
        rows_of_mase(model, story)
    elif case == CITE:
        rows_of_cite(story, size)
    else:
        bare(model, rows, size, length + 1 if case == KEPT else 0)
    return _peak() - before


def _peak() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def grown(folder: str, sizes: Mapping[str, int]) -> dict[str, float]:
    """Return the growth of the peak memory in float32, each case in a process of its own."""
    found = {}
    for case in (BARE, KEPT, OURS, CITE):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
            found[case] = fresh.submit(memory, folder, case, sizes.get(case, 0)).result()
    return found


def table(precision: str, found: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of one precision."""
    units = found["seconds"][KEPT]
    lines = [
        f"## {precision}",
        "",
        "| case | batch size | seconds | ratio to the bare passes | MiB |",
        "|---|---|---|---|---|",
    ]
    for name, seconds in found["seconds"].items():
        ratio = statistics.median(one / unit for one, unit in zip(seconds, units, strict=True))
        size = found["batch sizes"].get(name, "")
        extra = f"{found['memory'][name]:.0f}" if name in found["memory"] else ""
        lines.append(f"| {name} | {size} | {statistics.median(seconds):.1f} | {ratio:.2f} | {extra} |")
    return [*lines, ""]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", help="the folder of a causal language model")
    parser.add_argument("--stories", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    results, lines = {}, []
    for precision in ("float32", "bfloat16"):
        found = timed(given.folder, precision, given.stories, given.rounds)
        found["memory"] = grown(given.folder, found["batch sizes"]) if precision == "float32" else {}
        results[precision] = found
        lines += table(precision, found)
        print(*table(precision, found), sep="\n", file=sys.stderr)
    rows = results["float32"]["rows"]
    distinct = ", ".join(str(one["distinct rows"]) for one in rows)
    head = (
        f"{N_ROWS} rows of each of {given.stories} stories of Reuters, of which fair coins leave out sentences, in one "
        f"thread, {given.rounds} interleaved rounds: median seconds of the processor, median ratios. {distinct} of the "
        f"rows are distinct. Bare passes are at their best batch size of {BARE_SIZES} on {N_TRIED} rows, context-cite "
        f"at its best of {CITE_SIZES}. MiB is what the rows of one story add to the memory of a process at most."
    )
    command = f"python benchmarks/cite_speed.py MODEL_FOLDER --stories {given.stories} --rounds {given.rounds}"
    made = provenance(command, given.rounds) | {"model": "SmolLM2-135M-Instruct"}
    timings = {
        name: {case: spread(seconds) for case, seconds in found["seconds"].items()} for name, found in results.items()
    }
    kept = {name: {key: value for key, value in found.items() if key != "seconds"} for name, found in results.items()}
    write("cite_speed", made | {"seconds": timings, "found": kept}, "\n".join([head, "", *lines]))


if __name__ == "__main__":
    main()

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
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

os.environ |= {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}

import nltk
import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import mase
from mase.datasets import load
from mase.models.language.causal import CausalLM
from mase.text import Span
from mase.units import splitter
from timing import Case, interleaved, provenance, spread, write

nltk.download = lambda *_: True  # context-cite downloads a splitter of sentences when it is imported
from context_cite import ContextCiter  # noqa: E402
from context_cite.context_partitioner import BaseContextPartitioner  # noqa: E402
from context_cite.utils import _create_mask, get_masks_and_logit_probs  # noqa: E402

N_ROWS, N_TRIED, ANSWER_TOKENS = 32, 8, 40
QUERY = "What is this story about? Answer in one sentence."
LENGTHS, SENTENCES = range(180, 251), range(8, 16)
BARE_SIZES, CITE_SIZES = (1, 2, 4, 8, 16), (1, 4, 16)
BARE, KEPT, OURS, CITE = (
    "bare forward passes",
    "bare, logits of the answer only",
    "rows of mase",
    "rows of context-cite",
)
HALF = f"{OURS}, half precision"
WHOLE, CITE_WHOLE = "mase.cite", "context-cite"


class Sentences(BaseContextPartitioner):
    """The sentences that mase finds, for context-cite."""

    spans: Sequence[Span]

    def __init__(self, context: str) -> None:
        super().__init__(context)
        self.spans = splitter("sentence").split(context)

    @property
    def num_sources(self) -> int:
        return len(self.spans)

    def split_context(self) -> None:
        pass

    def get_source(self, index: int) -> str:
        return self.context[slice(*self.spans[index])]

    def get_context(self, mask: Any = None) -> str:
        kept = self.spans if mask is None else [span for span, keep in zip(self.spans, mask, strict=True) if keep]
        return " ".join(self.context[slice(*span)] for span in kept)


@dataclass(frozen=True)
class Story:
    """A story with its answer, the prompts of all rows, and context-cite's object for it."""

    text: str
    answer: str
    prompts: list[Any]
    citer: ContextCiter


def stories(model: CausalLM, count: int) -> list[Story]:
    """Return the first stories of the test split whose prompt and sentences have the lengths of the benchmark."""
    return list(islice(_stories(model), count))


def _stories(model: CausalLM) -> Iterator[Story]:
    for story in load("reuters", "test").texts:
        text = " ".join(story.split())
        sources = Sentences(text)
        if sources.num_sources not in SENTENCES or len(model.tokenizer.prompt(prompt(text))) not in LENGTHS:
            continue
        answer = model.generate(prompt(text), ANSWER_TOKENS).text
        backend = model.tokenizer.backend
        backend.padding_side = "left"  # which context-cite wants
        citer = ContextCiter(model.module, backend, text, QUERY, num_ablations=N_ROWS, partitioner=sources)
        whole = backend.apply_chat_template(prompt(text), tokenize=False, add_generation_prompt=True)
        citer._cache["output"] = whole + answer
        masks = [_create_mask(sources.num_sources, 0.5, seed) for seed in range(N_ROWS)]
        yield Story(text, answer, [prompt(sources.get_context(mask)) for mask in masks], citer)


def prompt(context: str) -> list[dict[str, str]]:
    """Return the messages that both packages send."""
    return [{"role": "user", "content": f"Context: {context}\n\nQuery: {QUERY}"}]


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


def rows_of_cite(story: Story, size: int, n: int = N_ROWS) -> np.ndarray:
    citer = story.citer
    _, logits = get_masks_and_logit_probs(
        citer.model, citer.tokenizer, n, citer.num_sources, citer._get_prompt_ids, citer._response_ids, 0.5, size
    )
    return -np.logaddexp(0, -logits.astype(np.float64)).sum(axis=1)


def whole_of_cite(story: Story, size: int) -> None:
    for name in ("reg_masks", "reg_logit_probs"):
        story.citer._cache.pop(name, None)
    story.citer.batch_size = size
    story.citer.get_attributions(verbose=False)


def opened(folder: str, precision: str) -> CausalLM:
    """Return the model in a precision."""
    torch.set_num_threads(1)
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, precision)).eval()
    return CausalLM(module, AutoTokenizer.from_pretrained(folder))


def best(cases: Mapping[int, Case]) -> int:
    """Return the batch size whose case takes the fewest seconds, each tried once."""
    seconds = {}
    for size, case in cases.items():
        began = time.process_time()
        case()
        seconds[size] = time.process_time() - began
    return min(seconds, key=lambda size: seconds[size])


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

    def cite(story: Story) -> mase.Attribution:
        return mase.cite(model, context=story.text, query=QUERY, answer=story.answer, n_samples=N_ROWS)

    each: dict[str, Any] = {
        BARE: lambda index: bare(model, first[index][0], sizes[BARE], 0),
        KEPT: lambda index: bare(model, first[index][0], sizes[KEPT], first[index][1] + 1),
        OURS: lambda index: kept(OURS, index, rows_of_mase(model, found[index])),
        HALF: lambda index: rows_of_mase(half, found[index]),
        CITE: lambda index: kept(CITE, index, rows_of_cite(found[index], sizes[CITE])),
        WHOLE: lambda index: kept(WHOLE, index, cite(found[index]).fit.n_queries),
        CITE_WHOLE: lambda index: whole_of_cite(found[index], sizes[CITE]),
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
                "evaluations of mase.cite": answers[f"{WHOLE} {index}"],
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
        size = found["batch sizes"].get(name, found["batch sizes"][CITE] if name == CITE_WHOLE else "")
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

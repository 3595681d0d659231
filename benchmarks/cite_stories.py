"""What the benchmarks of `mase.cite` share: stories, and context-cite's object for each.

It needs an environment with context-cite (`pip install --no-deps context-cite`, with nltk, spacy and datasets).
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

os.environ |= {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}

import nltk
import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mase.models.language.torch import CausalLM
from mase.text import Span
from mase.units import splitter
from mase_paper.datasets import load
from timing import Case

nltk.download = lambda *_: True  # context-cite downloads a splitter of sentences when it is imported
from context_cite import ContextCiter  # noqa: E402
from context_cite.context_partitioner import BaseContextPartitioner  # noqa: E402
from context_cite.utils import _create_mask, get_masks_and_logit_probs  # noqa: E402

__all__ = [
    "ANSWER_TOKENS",
    "CITE_SIZES",
    "N_ROWS",
    "N_TRIED",
    "QUERY",
    "Story",
    "best",
    "opened",
    "rows_of_cite",
    "stories",
]

N_ROWS, N_TRIED, ANSWER_TOKENS, CITE_SIZES = 32, 8, 40, (1, 4, 16)
QUERY = "What is this story about? Answer in one sentence."
LENGTHS, SENTENCES = range(180, 251), range(8, 16)


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
        citer = ContextCiter(
            model.module,
            backend,
            text,
            QUERY,
            generate_kwargs={"max_new_tokens": ANSWER_TOKENS, "do_sample": False},
            num_ablations=N_ROWS,
            partitioner=sources,
        )
        whole = backend.apply_chat_template(prompt(text), tokenize=False, add_generation_prompt=True)
        citer._cache["output"] = whole + answer
        masks = [_create_mask(sources.num_sources, 0.5, seed) for seed in range(N_ROWS)]
        yield Story(text, answer, [prompt(sources.get_context(mask)) for mask in masks], citer)


def prompt(context: str) -> list[dict[str, str]]:
    """Return the messages that both packages send."""
    return [{"role": "user", "content": f"Context: {context}\n\nQuery: {QUERY}"}]


def rows_of_cite(story: Story, size: int, n: int = N_ROWS) -> np.ndarray:
    """Return the log-probabilities `(n,)` of the answer that context-cite finds, in batches of a size."""
    citer = story.citer
    _, logits = get_masks_and_logit_probs(
        citer.model, citer.tokenizer, n, citer.num_sources, citer._get_prompt_ids, citer._response_ids, 0.5, size
    )
    return -np.logaddexp(0, -logits.astype(np.float64)).sum(axis=1)


def opened(folder: str, precision: str, kind: type[CausalLM] = CausalLM) -> CausalLM:
    """Return the model in a precision, in one thread."""
    torch.set_num_threads(1)
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, precision)).eval()
    return kind(module, AutoTokenizer.from_pretrained(folder))


def best(cases: Mapping[int, Case]) -> int:
    """Return the batch size whose case takes the fewest seconds, each tried once."""
    seconds = {}
    for size, case in cases.items():
        began = time.process_time()
        case()
        seconds[size] = time.process_time() - began
    return min(seconds, key=lambda size: seconds[size])

"""The two ways of one language model: new answers compared, and the log-probabilities of the answer.

    make cite-demo  # makes the folder of SmolLM2
    python benchmarks/chat.py --logprobs

SmolLM2-135M-Instruct answers the questions of chat_contexts.json. For each answer the sentence that comes first is
compared: `mase.models.Chat` with its default number of requests, for the measures label and overlap, and `mase.cite`
of the language model with 256 rows. It took an hour on a busy processor, goes on where it was stopped, and writes
results/chat_logprobs.json and chat_logprobs.md.
"""

import json
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

import mase
from mase.models import CausalLM, Chat
from mase_paper.datasets import cache_folder
from timing import provenance, write

SEED, N_ROWS, N_TOKENS = 0, 256, 16
NAME = "SmolLM2-135M-Instruct"
CONTEXTS = Path(__file__).with_name("chat_contexts.json")
ARCHIVE = "chat_logprobs.answers.jsonl"  # of the working directory; it may be removed afterwards
MEASURES = ("label", "overlap")


def _top(found: mase.Attribution) -> int | None:
    """Return the sentence that comes first; None if none changed the answer."""
    return int(found.order[0]) if found.scores.any() else None


def compared(language_model: CausalLM, question: dict[str, Any]) -> dict[str, Any]:
    """Return the sentence that comes first each way, for one question."""

    def answer(messages: Any) -> str:
        return language_model.generate(messages, N_TOKENS).text

    chat = Chat(answer, name=NAME, labels=question["labels"], varies=False, concurrency=1)
    asks = {"context": " ".join(question["context"]), "query": question["query"], "seed": SEED}
    found = mase.cite(chat, measure="overlap", archive=ARCHIVE, **asks)
    assert found.answer is not None
    assert chat.reader is not None
    by_logprobs = mase.cite(language_model, answer=found.answer.text, n_samples=N_ROWS, **asks)
    assert len(found.units) == len(by_logprobs.units) == len(question["context"])
    is_read = chat.reader(found.answer.text) is not None
    tops = {"overlap": _top(found), "label": _top(found.measured_by("label")) if is_read else None}
    return {
        "query": question["query"], "answer": found.answer.text, "sentences": len(found.units),
        "right": question["right"], "requests": found.fit.n_queries, "label_read": is_read,
        "answers": tops, "logprobs": _top(by_logprobs),
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    rows = result["contexts"]
    lines = [
        "# Answers compared, and log-probabilities",
        "",
        f"`{result['command']}`, seed {SEED}. {NAME} answers {len(rows)} questions. The sentence that comes first by "
        f"comparing its new answers ({min(row['requests'] for row in rows)} to "
        f"{max(row['requests'] for row in rows)} requests) and by the log-probability of the same answer ({N_ROWS} "
        "rows). Sentences count from 0; a dash: no sentence changed the measure, or the answer names no label.",
        "",
        "| answer | holds the fact | label | overlap | log-probability |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        tops = [*(row["answers"][name] for name in MEASURES), row["logprobs"]]
        cells = ["–" if top is None else str(top) for top in tops]
        lines.append(f"| {' '.join(row['answer'].split())} | {row['right']} | {' | '.join(cells)} |")
    lines += ["", "| | label | overlap | log-probability |", "|---|---|---|---|"]
    for name, of in result["agreement"].items():
        lines.append(f"| {name} | " + " | ".join(of) + " |")
    return "\n".join(lines) + "\n"


def _agreement(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return how often the first sentences agree, of the contexts in which there is one."""
    tops = [[row["answers"][name] for row in rows] for name in MEASURES] + [[row["logprobs"] for row in rows]]
    found = {}
    for name, other in {"as by log-probability": tops[-1], "holds the fact": [row["right"] for row in rows]}.items():
        pairs = [[(one, two) for one, two in zip(top, other, strict=True) if one is not None] for top in tops]
        found[name] = [f"{sum(one == two for one, two in of)} of {len(of)}" for of in pairs]
    found["as by log-probability"][-1] = ""
    return found


def run() -> None:
    folder = cache_folder() / NAME.lower()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    language_model = CausalLM(AutoModelForCausalLM.from_pretrained(folder), tokenizer, name=NAME)
    rows = []
    for question in json.loads(CONTEXTS.read_text("utf-8")):
        rows.append(compared(language_model, question))
        print(rows[-1], flush=True)
    found = provenance("python benchmarks/chat.py --logprobs", len(rows))
    result = {**found, "seed": SEED, "agreement": _agreement(rows), "contexts": rows}
    write("chat_logprobs", result, table(result))

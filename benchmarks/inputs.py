"""Pairs, sentences and long texts: which libraries can explain them, at what cost, and how faithfully.

`make bench-inputs` runs it in the environment of the peers. Every library explains the same units of the same inputs,
for the same class, at the same number of evaluations. Then the best units of each are masked with the model's own
reference. Texts are from test splits, on which no setting of mase was chosen.

What is done is kept in build/inputs/, and a second call goes on from there; `--fresh` begins again.
"""

import argparse
import hashlib
import json
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
import transformers

import mase
from inputs_attempts import Attempt, long_attempts, pair_attempts
from inputs_pairs import FOLDER, pairs, trained
from inputs_peers import BATCH, LIBRARIES, Input, Reading
from mase.arrays import Floats
from mase.document import Document
from mase.files import drop_cut_line
from mase.metrics.curves import flips
from mase.metrics.masking import masker, with_cache
from mase.models.bundled import folder
from mase.models.bundled.bert import base_folder, tokenizer
from mase.models.bundled.files import Vocabulary
from mase.statistics import paired_mean
from mase.units import splitter
from mase.units.splitters import group
from mase_paper.datasets import load
from timing import provenance, write

SEED, N_TEXTS = 0, 40
TASKS = {"pairs": "word", "sentences": "sentence", "long texts": "sentence"}
N = {"pairs": 128, "sentences": 64, "long texts": 64}
KS = {"pairs": tuple(range(1, 11)), "sentences": tuple(range(1, 6)), "long texts": tuple(range(1, 6))}
SENTENCES, TOKENS = (8, 25), (161, 400)  # of a review whose sentences are explained; of a long text for the LSTM
Case = tuple[Input, Callable[[Floats], list[bool]]]


class Counted:
    """Counts the rows that reach a module."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.rows = 0
        module.register_forward_pre_hook(self._count)

    def _count(self, _module: torch.nn.Module, args: tuple[Any, ...]) -> None:
        self.rows += len(args[0])


def best_first(scores: Floats) -> np.ndarray:
    """Return the units in descending order of their scores, ties by position."""
    return np.argsort(-scores, kind="stable")


def bound(reading: Reading, document: Document, task: str) -> Case:
    """Return what is explained, and the function that says for each k whether the best k units flip the prediction."""
    masked = with_cache(masker(reading.adapter, document, "auto", TASKS[task]))
    words = group(reading.adapter.encode(document), splitter(TASKS[task]))
    given = Input(reading, document, TASKS[task], words.spans, masked.target, N[task])
    return given, lambda scores: flips(masked, best_first(scores), masked.target, KS[task]).tolist()


def pair_cases(reading: Reading) -> Iterator[Case]:
    """Yield pairs of the test split that the model classifies correctly."""
    for pair in pairs("test"):
        given, flipped = bound(reading, Document.of((pair.first, pair.second)), "pairs")
        if given.target == int(pair.both):
            yield given, flipped


def reviews() -> Iterator[tuple[str, str]]:
    """Yield the reviews of the test split of IMDB with their labels, in a random order."""
    split = load("imdb", "test")
    for index in random.Random(SEED).sample(range(len(split)), len(split)):
        yield split.texts[index], str(split.labels[index])


def sentence_cases(reading: Reading) -> Iterator[Case]:
    """Yield reviews of several sentences that the model reads whole and classifies correctly."""
    for text, label in reviews():
        if len(text) > 700 or reading.adapter.encode(text).truncation is not None:
            continue
        if SENTENCES[0] <= len(splitter("sentence").split(text)) <= SENTENCES[1]:
            given, flipped = bound(reading, Document.of(text), "sentences")
            fits = SENTENCES[0] <= len(given.spans) <= SENTENCES[1]
            if fits and reading.adapter.labels[given.target] == label:
                yield given, flipped


def long_cases(reading: Reading) -> Iterator[Case]:
    """Yield reviews of which the LSTM reads half or less, and whose windows it classifies correctly."""
    explainer = mase.Explainer(reading.adapter, units="sentence", windows=True, n_samples=N["long texts"], evidence=0)
    for text, label in reviews():
        cut = reading.adapter.encode(text).truncation
        if cut is None or not TOKENS[0] <= cut.n_total <= TOKENS[1]:
            continue
        found = explainer(text)
        if found.prediction.label != label or len(found.units) < max(KS["long texts"]):
            continue

        def flipped(scores: Floats, found: Any = found) -> list[bool]:
            order = best_first(scores).tolist()
            return [explainer.predict_without(found, order[:k]).label != found.target for k in KS["long texts"]]

        target = list(reading.adapter.labels).index(found.target)
        spans = tuple((unit.start, unit.end) for unit in found.units)
        yield Input(reading, Document.of(text), "sentence", spans, target, N["long texts"], long=True), flipped


def bare(given: Input) -> float:
    """Return the processor seconds that a row of bare forward passes takes."""
    if given.long:
        assert given.reading.encode is not None
        rows = torch.tensor([given.reading.encode(given.document.text)[0]]).expand(BATCH, -1)
        call: Callable[[], Any] = lambda: given.reading.over_windows(rows)  # noqa: E731
        n = BATCH * given.reading.over_windows(rows).shape[1]
    else:
        tokens = given.reading.adapter.encode(given.document)
        batch = {"input_ids": tokens.ids, "token_type_ids": tokens.types or [0] * len(tokens)}
        inputs = {name: torch.tensor([ids]).expand(BATCH, -1).contiguous() for name, ids in batch.items()}
        call, n = lambda: given.reading.module(**inputs), BATCH
    repeats = max(1, given.n // n)
    with torch.inference_mode():
        began = time.process_time()
        for _ in range(repeats):
            call()
    return (time.process_time() - began) / (n * repeats)


def measured(task: str, number: int, case: Case, counted: Counted) -> dict[str, Any]:
    """Return what each library does with one input, in an order of its own for each input."""
    given, flipped = case
    result: dict[str, Any] = {}
    for name in random.Random(number).sample([*LIBRARIES[task], "bare"], len(LIBRARIES[task]) + 1):
        if name == "bare":
            result["bare"] = bare(given)
            continue
        counted.rows, began = 0, time.process_time()
        scores = LIBRARIES[task][name](given)
        result[name] = {"seconds": time.process_time() - began, "rows": counted.rows}
        result[name]["flips"] = flipped(np.asarray(scores, dtype=np.float64))
    return {"task": task, "units": len(given.spans), "results": result}


def key_of(task: str, given: Input) -> str:
    """Return what names an input among the records."""
    content = json.dumps([task, N[task], mase.__version__, given.document.key, *LIBRARIES[task]])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def summary(task: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of each library on one task."""
    own = next(iter(LIBRARIES[task]))
    flipped = {name: [statistics.mean(one["results"][name]["flips"]) for one in records] for name in LIBRARIES[task]}
    found: dict[str, Any] = {}
    for name in LIBRARIES[task]:
        results = [(one["results"][name], one["results"]["bare"]) for one in records]
        difference = None if name == own else paired_mean(flipped[own], flipped[name])
        found[name] = {
            "evaluations": statistics.mean(result["rows"] for result, _ in results),
            "ratio to bare": statistics.median(result["seconds"] / (result["rows"] * row) for result, row in results),
            "Delta Accuracy": statistics.mean(flipped[name]),
            "mase minus it": difference and [difference.mean, difference.low, difference.high],
        }
    units = [one["units"] for one in records]
    return {"texts": len(records), "units": [min(units), statistics.median(units), max(units)], "libraries": found}


def table(tasks: dict[str, Any], attempts: Sequence[Attempt], accuracy: float) -> str:
    """Return the figures in Markdown."""
    models = {"pairs": f"pair classifier, accuracy {accuracy:.3f}", "sentences": "bert-imdb", "long texts": "lstm-imdb"}
    lines = []
    for task, found in tasks.items():
        low, middle, high = found["units"]
        lines += [
            f"**{task.capitalize()}** ({models[task]}): {found['texts']} inputs of {low} to {high} units (median "
            f"{middle:g}), N = {N[task]}, k = 1 to {KS[task][-1]}",
            "",
            "| library | evaluations | time / bare | Delta Accuracy | mase minus it |",
            "|---|---:|---:|---:|---|",
        ]
        for name, one in found["libraries"].items():
            difference = one["mase minus it"]
            shown = "" if difference is None else "{:+.3f} ({:+.3f} to {:+.3f})".format(*difference)
            cells = [f"{one['evaluations']:.0f}", f"{one['ratio to bare']:.2f}", f"{one['Delta Accuracy']:.3f}", shown]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    lines += ["**What was tried**", "", "| input | library | call | outcome |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in attempt)} |" for attempt in attempts]
    return "\n".join(lines) + "\n"


def readings() -> tuple[dict[str, Reading], float]:
    """Return the model of each task, and the accuracy of the one of pairs."""
    models: Any = mase.models
    bert, lstm = models.load("bert-imdb"), models.load("lstm-imdb")
    pair, words, accuracy = trained()
    vocabulary = Vocabulary.read(folder("lstm-imdb") / "vocabulary.txt")
    return {
        "pairs": Reading(mase.models.HuggingFace(pair, words), pair, pair.classifier, words),
        "sentences": Reading(bert, bert.module, bert.module.classifier, tokenizer(base_folder())),
        "long texts": Reading(lstm, lstm.module, lstm.module.head, None, vocabulary.encode),
    }, accuracy


def attempted(models: dict[str, Reading]) -> list[Attempt]:
    """Return what was tried with the first pair, and the first review that is longer than a BERT reads."""
    pair, words = pairs("test")[0], models["sentences"].tokenizer
    text = next(text for text, _ in reviews() if len(words(text, verbose=False)["input_ids"]) > 600)
    return [
        *pair_attempts(models["pairs"], pair.first, pair.second),
        *long_attempts(models["sentences"], models["long texts"], text),
    ]


def collect(models: dict[str, Reading], options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return the records of each task, the tasks taking turns; known ones are read from the folder."""
    path, deadline = FOLDER / "records.jsonl", time.monotonic() + 60 * options.minutes
    if options.fresh:
        path.unlink(missing_ok=True)
    lines = drop_cut_line(path).splitlines() if path.is_file() else []
    known = {record["key"]: record for record in map(json.loads, lines)}
    found: dict[str, list[dict[str, Any]]] = {task: [] for task in TASKS}
    counted = {task: Counted(reading.head) for task, reading in models.items()}
    makers = {"pairs": pair_cases, "sentences": sentence_cases, "long texts": long_cases}
    cases = {task: islice(makers[task](models[task]), options.texts) for task in TASKS}
    for number in range(options.texts):
        for task in TASKS:
            case = next(cases[task], None)
            if case is None:
                continue
            key = key_of(task, case[0])
            if key not in known:
                if time.monotonic() > deadline:
                    return found
                if not found[task]:  # to warm up
                    measured(task, number, case, counted[task])
                known[key] = {"key": key, **measured(task, number, case, counted[task])}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[key]) + "\n")
            found[task].append(known[key])
        print(f"{number + 1} inputs of each", file=sys.stderr)
    return found


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=N_TEXTS, help=f"inputs of each task (default: {N_TEXTS})")
    parser.add_argument("--minutes", type=float, default=60, help="stop measuring after this time (default: 60)")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier call has measured")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    models, accuracy = readings()
    records = collect(models, options)
    attempts = attempted(models)
    tasks = {task: summary(task, found) for task, found in records.items() if len(found) > 1}
    result = provenance("make bench-inputs", 1)
    # The records may be of several calls, so that the time of this one means nothing.
    result |= {
        "wall_seconds": None,
        "seed": SEED,
        "n_samples": N,
        "ks": KS,
        "accuracy of the pair classifier": accuracy,
        "tasks": tasks,
    }
    shown = table(tasks, attempts, accuracy)
    write("inputs", result | {"attempts": attempts}, shown)
    print(json.dumps(result["versions"]), "seed", SEED)


if __name__ == "__main__":
    main()

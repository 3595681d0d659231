"""Chat models that only answer: requests until the right sentence comes first, coverage, and requests side by side.

    pip install llmSHAP==1.5.2
    python benchmarks/chat.py [--texts 60]

Without llmSHAP its rows are left out. It takes half an hour on a busy processor, and writes results/chat.json and
chat.md. With --logprobs it is another comparison, of chat_logprobs.py.
"""

import argparse
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from json import dumps, loads
from typing import Any
from zlib import crc32

import numpy as np

import chat_logprobs
import mase
from mase.models import CausalLM, Chat
from mase.models.chat.measures import overlap
from mase.options import Stopping
from mase.testing.models import FOLDER, NAMES, VERBS
from timing import provenance, write

SIZES = {8: 24, 16: 32, 24: 40, 32: 48}
MOST_OF_MODEL = 24  # sentences that the look-up model was trained on
MORE_NAMES = ("Abel", "Bea", "Carl", "Dora", "Emil", "Fay", "Gwen", "Hugo")
SECONDS, AT_ONCE, N_REQUESTS = 0.2, 16, 320
# How often the fact stands there, and how often an answer is something else.
CASES = {"once": (1, 0.0), "twice": (2, 0.0), "once, 15 % of answers something else": (1, 0.15)}
# What is tried, with more and more requests, until the right sentence comes first often enough.
RATE = 0.95
BUDGETS = (16, 24, 32, 40, 48, 64, 96, 128)
PER_SENTENCE = tuple(2**k for k in range(6))
WINDOWS = (2, 3, 4, 5, 6, 7, 8)
SEED = 0


@dataclass(frozen=True)
class Question:
    """Sentences, a question about one person, and the sentences that answer it."""

    sources: tuple[str, ...]
    query: str
    right: tuple[int, ...]


def questions(n: int, size: int, *, times: int = 1, seed: int = SEED) -> list[Question]:
    """Return n questions about so many sentences, whose answer stands there once or several times."""
    rng, found = np.random.default_rng([seed, size, times]), []
    people = (*NAMES, *MORE_NAMES)
    for _ in range(n):
        names = [people[i] for i in rng.permutation(len(NAMES) if size <= MOST_OF_MODEL else len(people))[:size]]
        sources = [f"{name} {VERBS[i]}." for name, i in zip(names, rng.integers(len(VERBS), size=size), strict=True)]
        right = rng.permutation(size)[:times].tolist()
        for other in right[1:]:
            sources[other] = sources[right[0]]
        found.append(Question(tuple(sources), f"What does {names[right[0]]} do?", tuple(right)))
    return found


def look_up(messages: Sequence[dict[str, str]]) -> str:
    """Answer from what the messages say; without it, make something up that depends on the rest."""
    text = " ".join(message["content"] for message in messages)
    who = re.findall(r"What does (\w+) do", text)[-1]
    said = re.search(rf"\b{who} (\w+)\.", text)
    return f"{who} {said[1] if said else VERBS[crc32(text.encode()) % len(VERBS)]}."


class Counted:
    """A chat model that counts its requests, and may answer something else with some probability."""

    def __init__(self, answer: Callable[[Any], str], wrong: float = 0.0, seed: int = 0) -> None:
        self.n, self.answer, self.wrong = 0, answer, wrong
        self.rng, self.lock = np.random.default_rng(seed), threading.Lock()

    def __call__(self, messages: Any) -> str:
        with self.lock:
            self.n += 1
            errs = self.rng.random() < self.wrong
        return "I am not sure about that." if errs else self.answer(messages)


def by_mase(question: Question, model: Counted, **options: Any) -> int:
    chat = Chat(model, name="look-up", varies=model.wrong > 0)
    context = " ".join(question.sources)
    answer = question.sources[question.right[0]]
    found = mase.cite(chat, context=context, query=question.query, answer=answer, evidence=0, **options)
    return int(found.order[0])


def by_llmshap(question: Question, model: Counted, sampler: Any) -> int:
    from llmSHAP import BasicPromptCodec, DataHandler, ShapleyAttribution, ValueFunction

    class Model:
        def generate(self, prompt: Any, tools: Any = None, images: Any = None) -> str:
            return model(prompt)

    class Overlap(ValueFunction):  # type: ignore[misc]
        def __call__(self, base_generation: Any, coalition_generation: Any) -> float:
            return overlap(coalition_generation.output, base_generation.output)

    data = {f"s{i}": source for i, source in enumerate(question.sources)} | {"query": question.query}
    found = ShapleyAttribution(
        Model(), DataHandler(data, permanent_keys={"query"}), BasicPromptCodec(), sampler=sampler, use_cache=True,
        verbose=False, value_function=Overlap(),
    ).attribution()  # fmt: skip
    scores = [found.attribution[f"s{i}"]["score"] for i in range(len(question.sources))]
    return int(np.argmax(scores))


def samplers(size: int) -> dict[str, Callable[[int], Any]]:
    try:
        from llmSHAP.attribution_methods.coalition_sampler import CounterfactualSampler, RandomSampler
    except ImportError:
        return {}
    few = {"llmSHAP, counterfactual": lambda seed: CounterfactualSampler()}
    # A ratio that leaves one coalition for each sentence, beside its pairs that are always asked.
    return few | {"llmSHAP, random": lambda seed: RandomSampler(0.5 / 2 ** (size - 1) if size > 8 else 0.02, seed=seed)}


def first(n: int) -> list[dict[str, Any]]:
    """Return how often the right sentence comes first, and after how many requests."""
    rows = []
    for (case, (times, wrong)), (size, n_requests) in product(CASES.items(), SIZES.items()):
        asked = questions(n, size, times=times)
        methods: dict[str, Method] = {
            "mase": lambda question, model, seed, most=n_requests: by_mase(question, model, n_samples=most, seed=seed),
            "mase, stable_top=1": lambda question, model, seed: by_mase(
                question, model, n_samples=128, stopping=Stopping(stable_top=1), seed=seed
            ),
        }
        for name, sampler in samplers(size).items():
            methods[name] = lambda question, model, seed, sampler=sampler: by_llmshap(question, model, sampler(seed))
        for name, method in methods.items():
            right, requests = 0, []
            for seed, question in enumerate(asked):
                model = Counted(look_up, wrong, seed)
                right += method(question, model, seed) in question.right
                requests.append(model.n)
            row = {"case": case, "sentences": size, "method": name, "right": right / n}
            rows.append(row | {"requests": float(np.mean(requests)), "most": max(requests)})
            print(rows[-1], flush=True)
    return rows


Method = Callable[[Question, Counted, int], int]


def more_and_more(size: int) -> dict[str, list[Method]]:
    """Return methods, each with more and more requests; sampling more per sentence than there is would be all of it."""
    found: dict[str, list[Method]] = {
        "mase": [
            lambda question, model, seed, most=most: by_mase(question, model, n_samples=most, seed=seed)
            for most in BUDGETS
        ]
    }
    try:
        from llmSHAP.attribution_methods import coalition_sampler as of
    except ImportError:
        return found
    rest, keys = 2 ** (size - 1) - 1 - size, [*range(size)]
    makers: dict[str, list[Callable[[int], Any]]] = {
        "llmSHAP, counterfactual": [lambda seed: of.CounterfactualSampler()],
        "llmSHAP, sliding windows": [lambda seed, w=w: of.SlidingWindowSampler(keys, w) for w in WINDOWS],
        "llmSHAP, random": [
            lambda seed, m=m: of.RandomSampler((m + 0.5) / rest, seed=seed) for m in PER_SENTENCE if m < rest
        ],
    }
    for name, samplers in makers.items():
        found[name] = [
            lambda question, model, seed, make=make: by_llmshap(question, model, make(seed)) for make in samplers
        ]
    return found


def needed(n: int) -> list[dict[str, Any]]:
    """Return after how many requests, in the mean, the right sentence comes first in 95 % of the contexts.

    None where it does not with as many as were tried last.
    """
    rows = []
    for (case, (times, wrong)), size in product(CASES.items(), SIZES):
        asked = questions(n, size, times=times)
        for name, methods in more_and_more(size).items():
            for method in methods:
                misses, requests = 0, []
                for seed, question in enumerate(asked):
                    model = Counted(look_up, wrong, seed)
                    misses += method(question, model, seed) not in question.right
                    requests.append(model.n)
                    if misses > (1 - RATE) * n:
                        break
                else:
                    break
            reached = misses <= (1 - RATE) * n
            row = {"case": case, "sentences": size, "method": name, "requests": float(np.mean(requests))}
            rows.append(row | {"reached": reached})
            print(rows[-1], flush=True)
    return rows


def of_model(n: int) -> list[dict[str, Any]]:
    """Return the same for the look-up model itself, which writes its answers, in this process."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights, tokenizer = AutoModelForCausalLM.from_pretrained(FOLDER), AutoTokenizer.from_pretrained(FOLDER)
    language_model = CausalLM(weights, tokenizer, name="look-up")
    lock, rows = threading.Lock(), []

    def answer(messages: Any) -> str:
        with lock:
            return language_model.generate(messages, 16).text

    for size, n_requests in SIZES.items():
        if size > MOST_OF_MODEL:
            continue
        right = answered = 0
        for seed, question in enumerate(questions(n, size)):
            chat = Chat(answer, name="look-up", varies=False)
            context = " ".join(question.sources)
            found = mase.cite(chat, context=context, query=question.query, n_samples=n_requests, seed=seed)
            answered += found.answer is not None and found.answer.text == question.sources[question.right[0]]
            right += int(found.order[0]) in question.right
        rows.append({"sentences": size, "requests": n_requests, "right": right / n, "answers_right": answered / n})
        print(rows[-1], flush=True)
    return rows


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(SECONDS)
        text = look_up(body["messages"])
        content = dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        del arguments


class _Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 64


def throughput() -> dict[str, float]:
    """Return the seconds for one round of requests side by side, and one at a time, against a server that is slow."""
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, seconds = f"http://127.0.0.1:{server.server_address[1]}", {}
    for at_once in (AT_ONCE, 1):
        chat = Chat.openai(url, "look-up", concurrency=at_once)
        asked = [([{"role": "user", "content": f"{i}. What does Ada do?"}], 0) for i in range(N_REQUESTS)]
        begun = time.perf_counter()
        chat.replies(asked)
        seconds[str(at_once)] = time.perf_counter() - begun
    right = 0
    for seed, question in enumerate(questions(5, 16)):
        chat = Chat.openai(url, "look-up", concurrency=AT_ONCE)
        found = mase.cite(chat, context=" ".join(question.sources), query=question.query, n_samples=32, seed=seed)
        right += int(found.order[0]) in question.right
    server.shutdown()
    return seconds | {"ratio": seconds["1"] / seconds[str(AT_ONCE)], "right_of_5_behind_it": float(right)}


def coverage(n: int) -> list[dict[str, Any]]:
    """Return how often the 95 % interval of a score has the true effect, on models whose effects are known."""
    rows = []
    truths: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "one source": lambda c: c[:, 0],
        "either of two": lambda c: np.maximum(c[:, 0], c[:, 1]),
        "three together": lambda c: c[:, 0] * c[:, 1] * c[:, 2],
    }
    for kind, (p, n_samples) in product(("steps", "labels", "similarity"), ((4, 33), (8, 40), (16, 48), (32, 64))):
        hits = []
        for truth in truths.values():
            every = np.array(list(product([0.0, 1.0], repeat=4)))
            values = truth(every)
            scale = {"steps": 1.0, "labels": 0.9, "similarity": 0.6}[kind]
            effect = [values[every[:, i] == 1].mean() - values[every[:, i] == 0].mean() for i in range(4)]
            true = scale * np.concatenate([effect, np.zeros(p - 4)])
            hits += [interval_hits(truth, kind, p, n_samples, seed, true) for seed in range(n)]
        rows.append({"answers": kind, "parts": p, "requests": n_samples, "covered": float(np.mean(hits))})
        print(rows[-1], flush=True)
    return rows


def interval_hits(
    truth: Callable[[np.ndarray], np.ndarray], kind: str, p: int, n_samples: int, seed: int, true: np.ndarray
) -> np.ndarray:
    """Return which of p scores have the true effect in their interval, in one explanation."""
    rng, lock = np.random.default_rng([seed, p]), threading.Lock()

    def call(messages: Any) -> str:
        text = messages[0]["content"]
        value = float(truth(np.array([[f"part{i} " in text for i in range(4)]], dtype=float))[0])
        with lock:
            label, similarity = rng.random() < 0.05 + 0.9 * value, 0.2 + 0.6 * value + 0.1 * rng.standard_normal()
        return str({"steps": value, "labels": float(label), "similarity": similarity}[kind])

    def number(one: str, _: str) -> float:
        return float(one)

    chat = Chat(call, name=kind, varies=kind != "steps", concurrency=1)
    context = ". ".join(f"part{i} is" for i in range(p)) + "."
    found = mase.cite(
        chat, context=context, measure=number, answer="1", n_samples=n_samples, seed=seed, evidence=0,
        units=r"re:part\d+ is\.",
    )  # fmt: skip
    assert len(found.scores) == p
    return np.asarray(np.abs(found.scores - true) <= 1.96 * found.standard_errors + 1e-9)


def _rows(rows: list[dict[str, Any]], cell: Callable[[dict[str, Any]], str]) -> Iterator[str]:
    """Yield the lines of a table with a column for each number of sentences."""
    yield "| the fact stands there | method | " + " | ".join(f"{size} sentences" for size in SIZES) + " |"
    yield "|---|---|" + "---|" * len(SIZES)
    for case, method in dict.fromkeys((row["case"], row["method"]) for row in rows):
        cells = [cell(row) for row in rows if (row["case"], row["method"]) == (case, method)]
        yield f"| {case} | {method} | " + " | ".join(cells) + " |"


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Chat models that only answer",
        "",
        f"`{result['command']}`, seed {SEED}. The right sentence comes first in so many of {result['n_texts']} "
        "contexts (requests in brackets). The measure is the overlap of words; mase is given 24, 32, 40 and 48 "
        "requests.",
        "",
        *_rows(result["first"], lambda row: f"{row['right']:.0%} ({row['requests']:.0f})"),
    ]
    lines += [
        "",
        f"Requests until the right sentence comes first in {RATE:.0%} of them: the mean, where more and more are tried "
        f"(mase: n_samples of {BUDGETS[0]} to {BUDGETS[-1]}; random: 1 to {PER_SENTENCE[-1]} coalitions for each "
        f"sentence; windows of {WINDOWS[0]} to {WINDOWS[-1]}). “>” stands before the last try that did not do.",
        "",
        *_rows(result["needed"], lambda row: f"{'' if row['reached'] else '> '}{row['requests']:,.0f}"),
    ]
    lines += ["", "The look-up model of the package, which writes its answers in this process:", ""]
    for row in result["model"]:
        lines.append(
            f"- {row['sentences']} sentences, {row['requests']} requests: {row['right']:.0%} (its answer is right in "
            f"{row['answers_right']:.0%})"
        )
    fast = result["throughput"]
    lines += [
        "",
        f"{N_REQUESTS} requests to a server that takes {SECONDS * 1000:.0f} ms: {fast[str(AT_ONCE)]:.1f} s with "
        f"{AT_ONCE} at a time, {fast['1']:.1f} s with one, {fast['ratio']:.1f} times as long. Of 5 contexts behind it "
        f"the right sentence came first in {fast['right_of_5_behind_it']:.0f}.",
        "",
        f"Intervals of 95 % that have the true effect ({result['n_coverage']} explanations of each of 3 models):",
        "",
        "| answers | " + " | ".join(f"{row['parts']} parts" for row in result["coverage"][:4]) + " |",
        "|---|" + "---|" * 4,
    ]
    for kind in dict.fromkeys(row["answers"] for row in result["coverage"]):
        cells = [f"{row['covered']:.3f}" for row in result["coverage"] if row["answers"] == kind]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--explanations", type=int, default=60)
    parser.add_argument("--logprobs", action="store_true", help="the comparison of chat_logprobs.py alone")
    given = parser.parse_args()
    if given.logprobs:
        chat_logprobs.run()
        return
    result = {
        **provenance(f"python benchmarks/chat.py --texts {given.texts}", given.texts),
        "seed": SEED, "n_texts": given.texts, "n_coverage": given.explanations,
        "first": first(given.texts), "needed": needed(given.texts), "model": of_model(given.texts),
        "throughput": throughput(), "coverage": coverage(given.explanations),
    }  # fmt: skip
    write("chat", result, table(result))


if __name__ == "__main__":
    main()

"""Seconds of whole calls of `mase.cite` and of context-cite at equal evaluations, by what they are spent on.

    python benchmarks/cite_whole.py MODEL_FOLDER [--stories 2] [--rounds 2]

in the environment of `cite_stories`. Both packages get the same stories, questions and sentences, and write the answer
themselves. Each has its own samples. Seconds are of the processor in one thread, since the machine may be shared, and
ratios are within one round of one story.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

import mase
from cite_stories import ANSWER_TOKENS, CITE_SIZES, N_TRIED, QUERY, Story, best, opened, rows_of_cite, stories
from mase.models.language.base import Continuation, Prompt
from mase.models.language.torch import CausalLM
from timing import interleaved, provenance, spread, write

EVALUATIONS = (32, 64)  # 64 is what context-cite does by default
ANSWER, ROWS, REST = "answer", "rows", "rest"
PHASES = (ANSWER, ROWS, REST)
OURS, HALF, CITE = "mase.citing", "mase.cite, half precision by trial", "context-cite"


class Clock:
    """Seconds of the processor by phase, and the tokens and passes of a module."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.seconds, self.tokens, self.passes = dict.fromkeys(PHASES, 0.0), 0, 0
        module.get_input_embeddings().register_forward_pre_hook(self._count)

    def _count(self, _layer: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> None:
        self.tokens, self.passes = self.tokens + args[0].numel(), self.passes + 1

    @contextmanager
    def on(self, phase: str) -> Iterator[None]:
        """Count what is spent inside as that of a phase."""
        began = time.process_time()
        yield
        self.seconds[phase] += time.process_time() - began

    def taken(self) -> dict[str, float]:
        """Return the counts so far, and begin again."""
        counts = {**self.seconds, "tokens": self.tokens, "passes": self.passes}
        self.seconds, self.tokens, self.passes = dict.fromkeys(PHASES, 0.0), 0, 0
        return counts


class Clocked(CausalLM):
    """A causal language model with a clock."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__(model, tokenizer)
        self.clock = Clock(model)

    def reading(self, prompt: Prompt) -> "Clocked":
        """Return the same model after it has read a prompt, which the answer begins with."""
        with self.clock.on(ANSWER):
            return super().reading(prompt)

    def generate(self, prompt: Prompt, max_new_tokens: int) -> Continuation:
        """Return the greedy continuation of a prompt."""
        with self.clock.on(ANSWER):
            return super().generate(prompt, max_new_tokens)

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Any]:
        """Return the log-probabilities of the tokens of answers after prompts."""
        with self.clock.on(ROWS):
            return super().log_probabilities(prompts, answers)


def ours(model: Clocked, story: Story, n: int, precision: Any) -> dict[str, Any]:
    """Return what a call of mase.cite takes."""
    began = time.process_time()
    found = mase.cite(
        model, context=story.text, query=QUERY, n_samples=n, max_new_tokens=ANSWER_TOKENS, precision=precision
    )
    counts = _with_rest(model.clock, began)
    return counts | {"evaluations": found.fit.n_queries, "answer is": found.answer.text, "in": found.fit.precision}


def theirs(model: Clocked, story: Story, n: int, size: int) -> dict[str, Any]:
    """Return what a call of context-cite takes."""
    citer, began = story.citer, time.process_time()
    citer._cache.clear()
    citer.num_ablations, citer.batch_size = n, size
    with model.clock.on(ANSWER):
        answer = citer.response
    with model.clock.on(ROWS):
        citer._compute_masks_and_logit_probs()
    citer.get_attributions(verbose=False)
    return _with_rest(model.clock, began) | {"evaluations": n, "answer is": answer, "in": ""}


def _with_rest(clock: Clock, began: float) -> dict[str, Any]:
    whole, counts = time.process_time() - began, clock.taken()
    return counts | {REST: whole - counts[ANSWER] - counts[ROWS], "whole": whole}


def measured(folder: str, precision: str, n_stories: int, rounds: int) -> dict[str, Any]:
    """Return what each call takes, by package, evaluations and story, in a precision."""
    model: Any = opened(folder, precision, Clocked)
    found = stories(model, n_stories)
    size = best({size: lambda size=size: rows_of_cite(found[0], size, N_TRIED) for size in CITE_SIZES})
    for half in ("float32", "bfloat16"):  # what is done once for a model: checksums, trials, half the weights
        ours(model, found[0], 8, half)
    model.clock.taken()
    calls: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    cases: dict[tuple[str, int, int], Any] = {}
    for index, story in enumerate(found):
        for n in EVALUATIONS:
            cases[OURS, n, index] = lambda story=story, n=n: ours(model, story, n, "float32")
            cases[CITE, n, index] = lambda story=story, n=n: theirs(model, story, n, size)
            if precision == "float32":
                cases[HALF, n, index] = lambda story=story, n=n: ours(model, story, n, "bfloat16")

    def kept(key: tuple[str, int, int]) -> None:
        calls.setdefault(key, []).append(cases[key]())
        print(precision, *key, {name: calls[key][-1][name] for name in (*PHASES, "tokens")}, file=sys.stderr)

    interleaved({key: lambda key=key: kept(key) for key in cases}, rounds, time.process_time, warm=False)
    return {"batch size of context-cite": size, "calls": calls}


def ratios(calls: Mapping[tuple[str, int, int], Sequence[Mapping[str, Any]]], name: str, n: int) -> list[float]:
    """Return the seconds of context-cite divided by those of a case, for each story and round."""
    pairs = [
        pair
        for key, some in calls.items()
        if key[:2] == (name, n)
        for pair in zip(some, calls[CITE, n, key[2]], strict=True)
    ]
    return [theirs["whole"] / ours["whole"] for ours, theirs in pairs]


def lines(precision: str, found: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of one precision: medians over stories and rounds."""
    calls = found["calls"]
    rows = [
        f"## {precision}",
        "",
        "| case | evaluations | passes | tokens | answer | rows | rest | seconds | context-cite / case |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for n in EVALUATIONS:
        for name in (name for name in (OURS, HALF, CITE) if (name, n, 0) in calls):
            some = [one for key, several in calls.items() if key[:2] == (name, n) for one in several]
            counts = [statistics.median(one[column] for one in some) for column in ("evaluations", "passes", "tokens")]
            seconds = [statistics.median(one[column] for one in some) for column in (*PHASES, "whole")]
            cells = [*(f"{count:.0f}" for count in counts), *(f"{value:.2f}" for value in seconds)]
            rows.append(f"| {name} | {' | '.join(cells)} | {statistics.median(ratios(calls, name, n)):.2f} |")
    return [*rows, ""]


def plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was found as plain JSON types."""
    calls = found["calls"]
    return {
        "batch size of context-cite": found["batch size of context-cite"],
        "context-cite / case": {
            f"{name}, {n}": spread(ratios(calls, name, n)) for name, n in dict.fromkeys(key[:2] for key in calls)
        },
        "calls": {f"{name}, {n}, story {index + 1}": some for (name, n, index), some in calls.items()},
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", help="the folder of a causal language model")
    parser.add_argument("--stories", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = {
        precision: measured(given.folder, precision, given.stories, given.rounds)
        for precision in ("float32", "bfloat16")
    }
    head = (
        f"Whole calls for each of {given.stories} stories of Reuters of 180 to 250 tokens, in one thread, "
        f"{given.rounds} interleaved rounds: median seconds of the processor, and the median ratio within a story and "
        "a round. Tokens are those that went through the model. The answer, of "
        f"{ANSWER_TOKENS} tokens at most, includes the prompt, which the rows of mase.cite continue from. Loading, the "
        "checksum and trials of the cache are left out, which are done once for a model."
    )
    command = f"python benchmarks/cite_whole.py MODEL_FOLDER --stories {given.stories} --rounds {given.rounds}"
    made = provenance(command, given.rounds) | {"model": "SmolLM2-135M-Instruct"}
    made |= {name: plain(one) for name, one in found.items()}
    write(
        "cite_whole", made, "\n".join([head, "", *(line for name, one in found.items() for line in lines(name, one))])
    )


if __name__ == "__main__":
    main()

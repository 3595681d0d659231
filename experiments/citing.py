"""What the 95 % intervals of `mase-cite` contain of the scores of all subsets, on a language model.

The prompts are made as those of an earlier comparison of methods (commit `fedec392`): a summary of a news story, a
question about several, and the sentiment of a review, from the test splits of Reuters and IMDB. They have at most 250
tokens, and here 7 or 8 sentences. `mase.cite` explains the answer of the model with many seeds. The scores of endless
rows are those of all subsets of the sentences. The model is asked once about each subset, in bfloat16 where that is
faster, so that more seeds cost little. The page goes to `experiments/citing/citing.md`, with a line of JSON for each
prompt beside it. An interrupted run continues where it stopped:

    python experiments/citing.py DATA_DIR MODEL_FOLDER --n-prompts 15
    python experiments/citing.py DATA_DIR look-up --n-prompts 25
    python experiments/citing.py DATA_DIR

Without a model the page is written. `look-up` is the model of `mase.testing.models`, which answers questions about one
person or two of eight; each has one sentence, so that the true source of each part of the answer is known.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForCausalLM, AutoTokenizer

import mase
from mase.arrays import Floats
from mase.citing import Prompted
from mase.models.language.base import Continuation, Prompt
from mase.models.language.open import language_model
from mase.models.language.torch import CausalLM
from mase.statistics import Mean
from mase.testing.models import FOLDER, lookups
from mase.units import splitter
from mase_paper.datasets import load

SENTENCES, MOST_TOKENS, N_ANSWER, N_SEEDS, Z = (7, 8), 250, 40, 20, 1.96
# A question is about one of two or more stories of at most so many sentences, and these of so many characters.
MOST_OF_ONE, DENSE = 4, 130
# Numbers of evaluations; None is the default.
BUDGETS: tuple[int | None, ...] = (16, 32, None, 64)
LOOK_UP_BUDGETS: tuple[int | None, ...] = (None, 128)
HERE = Path(__file__).with_suffix("")
# A story of Reuters begins with a headline in capitals. Tables of figures have no sentences.
_STORY = re.compile(r"[^a-z]{12,90}?\s?\. (?P<body>\S.*)", re.DOTALL)
_NO_SENTENCES, _MARK = re.compile(r"\bvs\b|blah|\*{3}", re.IGNORECASE), re.compile(r"\s+REUTER\W*\Z", re.IGNORECASE)
_SAID = re.compile(r"(?P<speaker>[A-Z][\w.&'-]*(?: [\w.&'-]+){1,4}?) said ")


@dataclass(frozen=True, slots=True)
class Case:
    """A context and a query."""

    task: str
    id: str
    context: str
    query: str


def texts(name: str, data_dir: str) -> Iterator[tuple[str, str]]:
    """Yield ids and texts of a test split in a seeded order."""
    data = load(name, "test", data_dir)
    for row in np.random.default_rng(0).permutation(len(data)).tolist():
        yield str(data.ids[row]), re.sub(r"\s*<br />\s*", " ", data.texts[row]).strip()


def stories(data_dir: str) -> Iterator[tuple[str, str]]:
    """Yield ids and bodies of the news stories that have sentences."""
    for id_, text in texts("reuters", data_dir):
        found = _STORY.fullmatch(text)
        if found and not _NO_SENTENCES.search(text):
            yield id_, _MARK.sub("", found["body"])


def summaries(data_dir: str) -> Iterator[Case]:
    """Yield stories to summarise."""
    for id_, body in stories(data_dir):
        yield Case("summary", id_, body, "Summarise this news story in one line.")


def questions(data_dir: str) -> Iterator[Case]:
    """Yield several short stories, and a question about one that begins with what somebody said."""
    cut, rng, group, n_sentences = splitter("sentence"), np.random.default_rng(0), list[tuple[str, str]](), 0
    for story in stories(data_dir):
        n_own = len(cut.split(story[1]))
        if len(story[1]) > DENSE * min(n_own, MOST_OF_ONE):
            continue
        group, n_sentences = [*group, story], n_sentences + n_own
        if n_sentences >= SENTENCES[0]:
            ids, bodies = zip(*group, strict=True)
            if speakers := [found["speaker"] for body in bodies if (found := _SAID.match(body))]:
                query = f"What did {rng.choice(speakers)} say? Answer in one sentence."
                yield Case("question", "+".join(ids), "\n\n".join(bodies), query)
            group, n_sentences = [], 0


def sentiments(data_dir: str) -> Iterator[Case]:
    """Yield reviews to judge."""
    for id_, review in texts("imdb", data_dir):
        yield Case("sentiment", id_, review, "Is this review positive or negative, and why? Answer in one sentence.")


TASKS: Mapping[str, Callable[[str], Iterator[Case]]] = {
    "summary": summaries,
    "question": questions,
    "sentiment": sentiments,
}


class Remembered(CausalLM):
    """A causal language model that remembers the answers it was asked about."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__(model, tokenizer)
        self.known: dict[tuple[int, ...], dict[str, Floats]] = {}  # by the tokens of the answer, and the prompt

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
        """Return the log-probabilities of the tokens of answers after prompts."""
        keys = [json.dumps(prompt) for prompt in prompts]
        found = []
        for answer in answers:
            known = self.known.setdefault(answer.ids, {})
            new = [prompt for prompt, key in zip(prompts, keys, strict=True) if key not in known]
            if new:
                (rows,) = super().log_probabilities(new, [answer])
                known |= zip(map(json.dumps, new), rows, strict=True)
            found.append(np.array([known[key] for key in keys]))
        return found


def n_tokens(tokenizer: Any, case: Case) -> int:
    """Return the number of tokens of a prompt."""
    message = {"role": "user", "content": f"Context: {case.context}\n\nQuery: {case.query}"}
    text = tokenizer.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def cases(data_dir: str, tokenizer: Any) -> Iterator[Case]:
    """Yield prompts, one of each task after the other."""
    cut = splitter("sentence")

    def fitting(some: Iterator[Case]) -> Iterator[Case]:
        for case in some:
            if (
                SENTENCES[0] <= len(cut.split(case.context)) <= SENTENCES[1]
                and n_tokens(tokenizer, case) <= MOST_TOKENS
            ):
                yield case

    for together in zip(*(fitting(task(data_dir)) for task in TASKS.values()), strict=False):
        yield from together


def record_of(model: Remembered, case: Case) -> dict[str, Any]:
    """Return what the seeds find for a prompt, beside the scores of all subsets."""
    model.known.clear()
    asked: dict[str, Any] = {"context": case.context, "query": case.query}
    asked["answer"] = Prompted.of(model, **asked).generate(N_ANSWER).text
    whole = mase.cite(model, **asked, n_samples=2 ** SENTENCES[1] + 1)
    assert whole.responses[0].exact
    record: dict[str, Any] = {"task": case.task, "id": case.id, "p": len(whole.scores), "answer": asked["answer"]}
    for budget in BUDGETS:
        more = {} if budget is None else {"n_samples": budget}
        found = [mase.cite(model, **asked, seed=seed, **more) for seed in range(N_SEEDS)]
        if found[0].responses[0].exact:
            continue
        scores, errors, between = (
            np.array([getattr(one, name) for one in found]) for name in ("scores", "total_errors", "standard_errors")
        )
        best, off = int(np.argmax(whole.scores)), np.abs(scores - whole.scores)
        record[str(budget or "default")] = {
            "n_queries": float(np.mean([one.fit.n_queries for one in found])),
            "covered": float(np.mean(off <= Z * errors)),
            "strongest": float(np.mean(off[:, best] <= Z * errors[:, best])),
            "first": float(np.mean(np.argmax(scores, axis=1) == best)),
            "between": float(np.mean(off <= Z * between)),
            "error": float(np.sqrt(np.mean(errors**2) / np.mean(off**2))),
        }
    return record


def looked_up(n: int) -> Iterator[dict[str, Any]]:
    """Yield what is found of each part of the right answers to n questions about one person, and n about two."""
    model = language_model(FOLDER)
    for n_asked in (1, 2):
        for seed, one in enumerate(lookups(n, 2026, n_sources=8, n_asked=n_asked)):
            asked: dict[str, Any] = {"context": one.sources, "query": one.query}
            if Prompted.of(model, **asked).generate(N_ANSWER).text != one.answer:
                continue
            asked |= {"answer": one.answer, "units": "document", "seed": seed}
            whole = mase.cite(model, **asked, n_samples=2**8 + 1)
            assert whole.responses[0].exact
            for budget in LOOK_UP_BUDGETS:
                found = mase.cite(model, **asked, **({} if budget is None else {"n_samples": budget}))
                for part, source in zip(found.answer.parts, one.used, strict=True):
                    own, exact = found.of(part.response), whole.of(part.response)
                    inside = np.abs(own.scores - exact.scores) <= Z * own.total_errors
                    record = {"n_asked": n_asked, "budget": budget, "n_queries": found.fit.n_queries}
                    yield record | {"covered": float(inside.mean()), "first": bool(own.order[0] == source)}


def told(values: Sequence[float]) -> str:
    """Return the mean of some values, with its 95 % interval."""
    array = np.array(values)
    found = Mean.of(*(np.array([one]) for one in (float(len(array)), array.sum(), (array**2).sum())))
    low, high = found.interval()
    return f"{found.value[0]:.3f} ({max(low[0], 0.0):.3f} to {min(high[0], 1.0):.3f})"


def look_up_rows(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the section of the questions to the model that looks things up."""
    yield "\n## Questions of which the source is known\n"
    yield "The model of `mase.testing.models` answers questions about one person or two of eight, of one sentence each."
    yield "*First* is the share of the parts of answers whose true source is first.\n"
    yield "| persons | evaluations | asked | parts | coverage | first |\n|--:|---|--:|--:|--:|--:|"
    for n_asked in (1, 2):
        for budget in LOOK_UP_BUDGETS:
            some = [one for one in records if (one["n_asked"], one["budget"]) == (n_asked, budget)]
            asked, first = (np.mean([one[name] for one in some]) for name in ("n_queries", "first"))
            covered = told([one["covered"] for one in some])
            yield f"| {n_asked} | {budget or 'by default'} | {asked:.0f} | {len(some)} | {covered} | {first:.3f} |"


def page(records: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of all records."""
    lines = [
        "# What intervals of answers contain of the scores of all subsets",
        "",
        f"SmolLM2-135M-Instruct answers {len(records)} prompts of {SENTENCES[0]} or {SENTENCES[1]} sentences, with "
        f"{N_SEEDS} seeds each",
        "(`experiments/citing.py`). *Coverage* is the share of 95 % intervals (total errors) that contain the score of",
        "all subsets, with a 95 % interval over prompts: of all sentences, and of the strongest one by all subsets.",
        "*First* is the share of explanations that put that one first. *Worst* is the lowest coverage of a prompt, and",
        "*error* the total error over the root mean square of the true ones, as a median over prompts. Prompts with no",
        "more subsets than evaluations are left out: their scores are exact.",
        "",
        "| evaluations | asked | prompts | coverage | of the strongest | worst | error | first |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for budget in BUDGETS:
        some = [one[str(budget or "default")] for one in records if str(budget or "default") in one]
        if some:
            of = {name: [one[name] for one in some] for name in some[0]}
            lines.append(
                f"| {budget or 'by default'} | {np.mean(of['n_queries']):.0f} | {len(some)} | {told(of['covered'])} | "
                f"{told(of['strongest'])} | {min(of['covered']):.2f} | {np.median(of['error']):.2f} | "
                f"{told(of['first'])} |"
            )
    return "\n".join([*lines, *(look_up_rows(questions) if questions else ())]) + "\n"


def known(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write(path: Path, record: Mapping[str, Any]) -> None:
    """Append a record to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("model", nargs="?", help="folder of the language model, or look-up")
    parser.add_argument("--n-prompts", type=int, default=45)
    args = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    path, questions = HERE / "records.jsonl", HERE / "look-up.jsonl"
    if args.model == "look-up":
        questions.unlink(missing_ok=True)
        for record in looked_up(args.n_prompts):
            write(questions, record)
    elif args.model is not None:
        done = {(one["task"], one["id"]) for one in known(path)}
        tokenizer = AutoTokenizer.from_pretrained(args.model)
        whole = Remembered(AutoModelForCausalLM.from_pretrained(args.model), tokenizer)
        model = whole.half() or whole
        for case in islice(cases(args.data_dir, tokenizer), args.n_prompts):
            if (case.task, case.id) not in done:
                write(path, record_of(model, case))
    (HERE / "citing.md").write_text(page(known(path), known(questions)), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Three tasks of a language model whose answers are explained: a summary, a question and a sentiment.

Each case is a context of at most `MAX_TOKENS` tokens with a query, both in the chat template of the model. The
validation cases come from the training splits of Reuters and IMDB, the cases of the report from the test splits.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mase.datasets import load
from mase.text import Span
from mase.units import splitter

__all__ = ["MAX_NEW_TOKENS", "TASKS", "UNITS", "Case", "Unit", "cases", "messages"]

Unit = Literal["sentence", "word"]
SplitName = Literal["validation", "report"]

SEED, MAX_TOKENS, MAX_NEW_TOKENS = 0, 250, 40
# A question is about one of two or more stories, each of at most so many sentences, and these of at most so many
# characters on average.
MOST_OF_ONE, DENSE = 4, 130
# How many units a context has: enough that few evaluations are a question, and not more words than evaluations.
UNITS: dict[Unit, tuple[int, int]] = {"sentence": (7, 25), "word": (60, 120)}
_SOURCE = {"validation": "train", "report": "test"}
# A story of Reuters begins with a headline in capitals and a full stop.
_STORY = re.compile(r"[^a-z]{12,90}?\s?\. (?P<body>\S.*)", re.DOTALL)
# What tables of figures and stories without a body contain, and the mark at the end of some stories.
_NO_SENTENCES, _MARK = re.compile(r"\bvs\b|blah|\*{3}", re.IGNORECASE), re.compile(r"\s+REUTER\W*\Z", re.IGNORECASE)
_SAID = re.compile(r"(?P<speaker>[A-Z][\w.&'-]*(?: [\w.&'-]+){1,4}?) said ")
_BREAK = re.compile(r"\s*<br />\s*")


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt: a query about a context, whose units are in or out.

    Attributes
    ----------
    id
        The ids of the texts in their data set.
    spans
        The p units of the context, as spans of characters.
    """

    task: str
    units: Unit
    id: str
    context: str
    query: str
    spans: tuple[Span, ...]

    @property
    def name(self) -> str:
        """A name that is valid for a file."""
        return "-".join((self.task, self.units, re.sub(r"\W+", "_", self.id)))


def messages(context: str, query: str) -> list[dict[str, str]]:
    """Return the prompt as chat messages, in the words of ContextCite."""
    return [{"role": "user", "content": f"Context: {context}\n\nQuery: {query}"}]


def cases(task: str, split: SplitName, units: Unit, tokenizer: Any) -> Iterator[Case]:
    """Yield the cases of a task in a seeded order: the first n are the n cases of an experiment."""
    cut, (fewest, most) = splitter(units), UNITS[units]
    for id_, context, query in TASKS[task](_SOURCE[split]):
        spans = tuple(cut.split(context))
        if fewest <= len(spans) <= most and _n_tokens(tokenizer, messages(context, query)) <= MAX_TOKENS:
            yield Case(task, units, id_, context, query, spans)


def _n_tokens(tokenizer: Any, prompt: list[dict[str, str]]) -> int:
    text = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _texts(name: str, split: str) -> Iterator[tuple[str, str]]:
    """Yield ids and texts of a split in a seeded order."""
    data = load(name, split)
    for row in np.random.default_rng(SEED).permutation(len(data)).tolist():
        yield data.ids[row], _BREAK.sub(" ", data.texts[row]).strip()


def _stories(split: str) -> Iterator[tuple[str, str]]:
    """Yield id and body, without the headline, of the stories with sentences: not those that are tables of figures."""
    for id_, text in _texts("reuters", split):
        found = _STORY.fullmatch(text)
        if found and not _NO_SENTENCES.search(text):
            yield id_, _MARK.sub("", found["body"])


def _summaries(split: str) -> Iterator[tuple[str, str, str]]:
    for id_, body in _stories(split):
        yield id_, body, "Summarise this news story in one line."


def _questions(split: str) -> Iterator[tuple[str, str, str]]:
    """Yield several short stories, and a question about one that begins with what somebody said."""
    cut, rng = splitter("sentence"), np.random.default_rng(SEED)
    group: list[tuple[str, str]] = []
    n_sentences = 0
    for story in _stories(split):
        n_own = len(cut.split(story[1]))
        if len(story[1]) > DENSE * min(n_own, MOST_OF_ONE):
            continue
        group, n_sentences = [*group, story], n_sentences + n_own
        if n_sentences >= UNITS["sentence"][0]:
            ids, bodies = zip(*group, strict=True)
            if speakers := [found["speaker"] for body in bodies if (found := _SAID.match(body))]:
                query = f"What did {rng.choice(speakers)} say? Answer in one sentence."
                yield "+".join(ids), "\n\n".join(bodies), query
            group, n_sentences = [], 0


def _sentiments(split: str) -> Iterator[tuple[str, str, str]]:
    for id_, review in _texts("imdb", split):
        yield id_, review, "Is this review positive or negative, and why? Answer in one sentence."


TASKS: dict[str, Callable[[str], Iterator[tuple[str, str, str]]]] = {
    "summary": _summaries,
    "question": _questions,
    "sentiment": _sentiments,
}

"""Estimate what a run will take, from a few of its texts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mase.corpus.plan import Plan
from mase.corpus.source import Source
from mase.document import Input
from mase.errors import DataError, MaseError
from mase.target import Question

if TYPE_CHECKING:
    from mase.explainer import Explainer

__all__ = ["Estimate", "estimate"]

# Texts that are explained: at least and at most, and the seconds after which no further one is begun.
FEWEST, MOST, SECONDS = 5, 50, 10.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the texts of a shard take.

    Attributes
    ----------
    n_texts
        Number of texts of the shard.
    n_unreadable
        Texts among them that are missing or could not be read, and will be recorded with an error.
    n_tried
        Texts that were explained for the estimate.
    seconds, n_queries
        Time and evaluations of the model per text, on average over those.
    """

    n_texts: int
    n_unreadable: int
    n_tried: int
    seconds: float
    n_queries: float


def estimate(source: Source, explainer: "Explainer", question: Question, plan: Plan) -> Estimate:
    """Return what the texts of a shard take: read all of them, and explain a few that are drawn at random.

    Raises
    ------
    MaseError
        If the input cannot be read, or none of the drawn texts can be explained.
    """
    n, parts = sum(len(plan.rows(part)) for part in plan.parts), set(plan.parts)
    if not n:
        return Estimate(0, 0, 0, 0.0, 0.0)
    drawn = np.random.default_rng(explainer.seed).choice(n, min(n, MOST), replace=False).tolist()
    rows = [plan.rows(plan.parts[place // plan.part_size])[place % plan.part_size] for place in drawn]
    wanted: dict[int, Input | None] = dict.fromkeys(rows)
    n_unreadable = 0
    for item in source.items():
        if item.row // plan.part_size in parts:
            n_unreadable += item.error is not None
        if item.row in wanted:
            wanted[item.row] = item.text
    texts = [text for text in wanted.values() if text is not None]
    return Estimate(n, n_unreadable, *_measured(explainer, question, texts))


def _measured(explainer: "Explainer", question: Question, texts: Sequence[Input]) -> tuple[int, float, float]:
    """Return the number of texts that were explained, and seconds and evaluations per text."""
    begun, first_error = time.perf_counter(), None
    seconds: list[float] = []
    n_queries: list[int] = []
    for text in texts:
        if len(seconds) >= FEWEST and time.perf_counter() - begun > SECONDS:
            break
        try:
            if not seconds:  # the first call of a model is slower than the others
                explainer(text, target=question.target, against=question.against)
            fit = explainer(text, target=question.target, against=question.against).fit
        except MaseError as error:
            first_error = first_error or error
            continue
        seconds.append(fit.seconds)
        n_queries.append(fit.n_queries)
    if not seconds:
        raise first_error or DataError("none of the drawn texts could be read; repeat it with another seed")
    return len(seconds), float(np.mean(seconds)), float(np.mean(n_queries))

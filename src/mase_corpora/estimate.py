"""What a run will take, and how far one is."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from mase.document import Input
from mase.errors import DataError, MaseError
from mase.sources.rows import Source
from mase.target import Question
from mase_corpora.lock import Owner, owners
from mase_corpora.plan import Manifest, Plan
from mase_corpora.read import open_run

if TYPE_CHECKING:
    from mase.explainer import Explainer


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
    """Return what the texts of a shard take: read all of them, and explain a few that are drawn at random."""
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


@dataclass(frozen=True, slots=True)
class Driver:
    """A process that works on a run, or that was killed while it did.

    Attributes
    ----------
    host, pid
        Its machine and number.
    shard
        The shard that it works on, as I/N.
    is_alive
        Whether it is still there, as far as that can be known on this machine.
    texts_per_second, seconds_left
        Its speed, and the time that it still needs for its shard; None if that is not known.
    """

    host: str
    pid: int
    shard: str
    is_alive: bool
    texts_per_second: float | None
    seconds_left: float | None

    @classmethod
    def of(cls, owner: Owner) -> Self:
        """Return the process that holds a lock."""
        progress = owner.progress if owner.is_alive else {}
        return cls(
            host=owner.host,
            pid=owner.pid,
            shard=f"{owner.shard}/{owner.of}",
            is_alive=owner.is_alive,
            texts_per_second=progress.get("per_second"),
            seconds_left=progress.get("seconds_left"),
        )


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run is.

    Attributes
    ----------
    manifest
        What was asked of the run.
    n_texts, n_parts
        Size of the whole corpus.
    n_texts_done, n_parts_done, n_failed
        Texts in finished parts, these parts, and the texts in them that could not be explained.
    drivers
        The processes at work, and those that were killed.
    """

    manifest: Manifest
    n_texts: int
    n_parts: int
    n_texts_done: int
    n_parts_done: int
    n_failed: int
    drivers: tuple[Driver, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all parts are finished."""
        return self.n_parts_done == self.n_parts

    @property
    def texts_per_second(self) -> float | None:
        """Speed of all processes at work together; None if it is not known."""
        known = [driver.texts_per_second for driver in self.drivers if driver.texts_per_second is not None]
        return sum(known) if known else None

    @property
    def seconds_left(self) -> float | None:
        """Time until the last process at work has finished its shard; None if it is not known."""
        return max((driver.seconds_left for driver in self.drivers if driver.seconds_left is not None), default=None)


def read_status(path: str | os.PathLike[str]) -> Status:
    """Return how far the run in a folder or under a URI is. Only names and metadata of its files are read."""
    run = open_run(path)
    parts = run.parts
    run.folder.check_whole(parts)
    return Status(
        manifest=run.manifest,
        n_texts=len(run),
        n_parts=run.plan.n_parts,
        n_texts_done=sum(len(run.plan.rows(part)) for part in parts),
        n_parts_done=len(parts),
        n_failed=sum(run.n_failed(part) for part in parts),
        drivers=tuple(Driver.of(owner) for owner in owners(run.folder.storage)),
    )

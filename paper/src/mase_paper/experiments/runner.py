"""Runs that fill the records: text by text, all methods of a target on one text, resumable at any text."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Protocol

from mase.choices import Precision
from mase.datasets import Split
from mase.datasets import load as load_split
from mase.errors import MaseError, OptionError
from mase_paper.experiments.journal import Journal
from mase_paper.experiments.provenance import header
from mase_paper.experiments.records import Records
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.specs import Spec
from mase_paper.experiments.store import compact, drop, read
from mase_paper.experiments.testbeds import TARGETS, Target
from mase_paper.experiments.trial import Answer, Bench

__all__ = ["Settings", "Watch", "Work", "run"]


@dataclass(frozen=True, slots=True)
class Work:
    """Explain the first `n_texts` texts of a target by one spec.

    A `retired` spec is one that this version cannot run: there are records of it or there are none.
    """

    target: Target
    spec: Spec
    n_texts: int
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run: where the records and the data are, in which order texts come, and on what.

    `fresh` begins again instead of going on; `jobs` are processes, of one thread each; `split` is "test", or
    "validation" to choose settings on.
    """

    records: Path
    data_dir: str | None = None
    text_seed: int = 0
    precision: Precision = "float32"
    device: str | None = None
    jobs: int = 1
    fresh: bool = False
    split: str = "test"

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise OptionError(f"jobs is {self.jobs}, expected an integer >= 1")


class Watch(Protocol):
    """Who is told how far a run is."""

    def begin(self, target: Target, n_done: int, n_total: int) -> None:
        """Hear that a target begins, with so many of its texts complete."""
        ...

    def step(self, answer: Answer) -> None:
        """Hear of one more text."""
        ...

    def refuse(self, target: Target, spec: Spec, reason: str) -> None:
        """Hear that a method cannot explain this model."""
        ...


def run(works: Sequence[Work], settings: Settings, watch: Watch) -> None:
    """Explain what the records lack; torch is held to one thread per process.

    Raises
    ------
    DataError
        If data are missing, or a file has records of other weights, data or settings.
    MaseError
        If a method or model fails on a text; the number of the text is in the error's notes.
    """
    works = [work for work in works if not work.retired]
    for target in dict.fromkeys(work.target for work in works):
        _run_target(target, {work.spec: work.n_texts for work in works if work.target == target}, settings, watch)


@dataclass(frozen=True, slots=True)
class _Setup:
    """All that a process needs to make its bench."""

    target: str
    specs: tuple[Spec, ...]
    precision: Precision
    device: str | None


@dataclass(frozen=True, slots=True)
class _Task:
    chosen: Chosen
    specs: tuple[Spec, ...]


def _run_target(target: Target, wanted: Mapping[Spec, int], settings: Settings, watch: Watch) -> None:
    setup = _Setup(target.name, tuple(wanted), settings.precision, settings.device)
    bench, split = _bench(setup), load_split(target.dataset, settings.split, settings.data_dir)
    for spec, reason in bench.refusals.items():
        watch.refuse(target, spec, reason)
    files = _journals([spec for spec in wanted if spec not in bench.refusals], bench, target, split, settings)
    longest = min(max(wanted.values()), len(split))
    n_done = sum(all(n in file.done or n >= wanted[spec] for spec, file in files.items()) for n in range(longest))
    watch.begin(target, n_done, longest)
    if n_done < longest:
        tasks = _tasks(islice(choose(bench.model, split, settings.text_seed), longest), wanted, files)
        _record(setup, tasks, files, settings.jobs, target, watch)
    compact(settings.records, target.name)


def _journals(
    specs: Sequence[Spec], bench: Bench, target: Target, split: Split, settings: Settings
) -> dict[Spec, Journal]:
    """Return the journal of each spec, which knows the records that there are."""
    names = {str(spec) for spec in specs}
    if settings.fresh:
        drop(settings.records, target.name, names)
    known = read(settings.records, target.name, names)
    return {
        spec: Journal(
            settings.records,
            header(bench, target, spec, split, settings.text_seed, settings.device),
            known.get(str(spec), Records()),
        )
        for spec in specs
    }


def _tasks(texts: Iterable[Chosen], wanted: Mapping[Spec, int], files: Mapping[Spec, Journal]) -> Iterator[_Task]:
    """Yield each text with the specs that it still lacks; `files` is looked at only when a text's turn comes."""
    for chosen in texts:
        lacking = tuple(
            spec for spec, file in files.items() if chosen.number < wanted[spec] and chosen.number not in file.done
        )
        if lacking:
            yield _Task(chosen, lacking)


def _record(
    setup: _Setup, tasks: Iterator[_Task], files: dict[Spec, Journal], jobs: int, target: Target, watch: Watch
) -> None:
    try:
        with closing(_answers(setup, tasks, jobs)) as answers:
            for answer in answers:
                for spec, record in answer.records.items():
                    files[spec].append(record)
                for spec, reason in answer.refusals.items():
                    if files.pop(spec, None) is not None:
                        watch.refuse(target, spec, reason)
                watch.step(answer)
    finally:
        for file in files.values():
            file.close()


def _answers(setup: _Setup, tasks: Iterator[_Task], jobs: int) -> Generator[Answer, None, None]:
    """Yield the answers in the order of the tasks, at most two tasks per process under way."""
    if jobs == 1:
        yield from (_answer(setup, task) for task in tasks)
        return
    with _workers(jobs) as pool:
        under_way: deque[Future[Answer]] = deque()
        for task in tasks:
            under_way.append(pool.submit(_answer, setup, task))
            if len(under_way) == 2 * jobs:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _answer(setup: _Setup, task: _Task) -> Answer:
    try:
        return _bench(setup).answer(task.chosen, task.specs)
    except MaseError as error:
        error.add_note(f"at text number {task.chosen.number}, {task.chosen.id}")
        raise


@cache
def _bench(setup: _Setup) -> Bench:
    from mase.models import load
    from mase.models.runtime import configure

    configure(1)
    target = TARGETS[setup.target]
    return Bench(load(target.name, device=setup.device), setup.specs, setup.precision, target.operators)


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of fresh processes; if the block ends early, what they are at is given up."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _follow)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow() -> None:
    """End this process with the one that started it, however that ends, and on Ctrl-C without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)

"""Run experiments: all methods of a target on one text after the other, resumable at any text."""

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

from mase.defaults import Precision
from mase.errors import MaseError, OptionError
from mase.methods import Configuration
from mase_paper.datasets import Split
from mase_paper.experiments.answers import Answers
from mase_paper.experiments.journal import Journal
from mase_paper.experiments.provenance import header, origin
from mase_paper.experiments.records import Records
from mase_paper.experiments.selection import Chosen, choose
from mase_paper.experiments.store import compact, drop, read
from mase_paper.experiments.testbeds import TARGETS, Target
from mase_paper.experiments.trial import Trial, TrialResult

__all__ = ["ProgressListener", "Settings", "Work", "run"]


@dataclass(frozen=True, slots=True)
class Work:
    """Explain `n_texts` texts of a target by one configuration: the first ones after those that are skipped."""

    target: Target
    configuration: Configuration
    n_texts: int
    skip: int = 0

    @property
    def numbers(self) -> range:
        """The numbers of the texts, in the order of a run."""
        return range(self.skip, self.skip + self.n_texts)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run: folders of the records and the data, the order of texts, precision and device.

    `fresh` starts again instead of resuming. `jobs` is the number of processes, of one thread each. `split` is "test",
    or "validation" to choose settings on, or "test-later" (`mase_paper.experiments.selection.later`). `models` is the
    folder with the folders of models that do not come with mase-xai. `answers` is the folder in which answers of the
    models are kept for later runs, if any.
    """

    records: Path
    data_dir: str | None = None
    text_seed: int = 0
    precision: Precision = "float32"
    device: str | None = None
    jobs: int = 1
    fresh: bool = False
    split: str = "test"
    models: Path = Path()
    answers: Path | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise OptionError(f"jobs is {self.jobs}, expected an integer >= 1")


class ProgressListener(Protocol):
    """An object that is notified of the progress of a run."""

    def begin(self, target: Target, n_done: int, n_total: int) -> None:
        """Report that a target begins, of which `n_done` texts are complete."""
        ...

    def step(self, result: TrialResult) -> None:
        """Report one more text."""
        ...

    def refuse(self, target: Target, configuration: Configuration, reason: str) -> None:
        """Report that a method cannot explain the target's model."""
        ...


def run(works: Sequence[Work], settings: Settings, listener: ProgressListener) -> None:
    """Make the explanations that have no record yet. Torch uses one thread per process.

    Raises
    ------
    DataError
        If data are missing, or a file has records of other weights, data or settings.
    MaseError
        If a method or model fails on a text. The number of the text is in the notes of the error.
    """
    for target in dict.fromkeys(work.target for work in works):
        texts = {work.configuration: work.numbers for work in works if work.target == target}
        _run_target(target, texts, settings, listener)


@dataclass(frozen=True, slots=True)
class _Setup:
    """What a process needs to create its trial."""

    target: str
    configurations: tuple[Configuration, ...]
    precision: Precision
    device: str | None
    models: Path
    answers: Path | None


@dataclass(frozen=True, slots=True)
class _Task:
    chosen: Chosen
    configurations: tuple[Configuration, ...]


def _run_target(
    target: Target, texts: Mapping[Configuration, range], settings: Settings, listener: ProgressListener
) -> None:
    setup = _Setup(target.name, tuple(texts), settings.precision, settings.device, settings.models, settings.answers)
    trial, split = _trial(setup), target.split(settings.split, settings.data_dir)
    for configuration, reason in trial.refusals.items():
        listener.refuse(target, configuration, reason)
    served = [configuration for configuration in texts if configuration not in trial.refusals]
    journals = _journals(served, trial, target, split, settings)
    every = range(
        min(text.start for text in texts.values()), min(max(text.stop for text in texts.values()), len(split))
    )
    n_done = sum(all(n in file.done or n not in texts[key] for key, file in journals.items()) for n in every)
    listener.begin(target, n_done, len(every))
    if n_done < len(every):
        tasks = _tasks(islice(choose(trial.model, split, settings.text_seed), every.stop), texts, journals)
        _record(setup, tasks, journals, settings.jobs, target, listener)
    compact(settings.records, target.name)


def _journals(
    configurations: Sequence[Configuration], trial: Trial, target: Target, split: Split, settings: Settings
) -> dict[Configuration, Journal]:
    """Return the journal of each configuration, with its existing records."""
    names = {str(configuration) for configuration in configurations}
    if settings.fresh:
        drop(settings.records, target.name, names)
    known = read(settings.records, target.name, names)
    return {
        configuration: Journal(
            settings.records,
            header(trial, target, configuration, split, settings.text_seed, settings.device),
            known.get(str(configuration), Records()),
        )
        for configuration in configurations
    }


def _tasks(
    every: Iterable[Chosen], texts: Mapping[Configuration, range], journals: Mapping[Configuration, Journal]
) -> Iterator[_Task]:
    """Yield each text with the configurations that have no record of it.

    Journals are looked up lazily, because those of refused configurations are removed during the run.
    """
    for chosen in every:
        missing = tuple(
            configuration
            for configuration, journal in journals.items()
            if chosen.number in texts[configuration] and chosen.number not in journal.done
        )
        if missing:
            yield _Task(chosen, missing)


def _record(
    setup: _Setup,
    tasks: Iterator[_Task],
    journals: dict[Configuration, Journal],
    jobs: int,
    target: Target,
    listener: ProgressListener,
) -> None:
    try:
        with closing(_results(setup, tasks, jobs)) as results:
            for result in results:
                for configuration, record in result.records.items():
                    journals[configuration].append(record)
                for configuration, reason in result.refusals.items():
                    if journals.pop(configuration, None) is not None:
                        listener.refuse(target, configuration, reason)
                listener.step(result)
    finally:
        for journal in journals.values():
            journal.close()


def _results(setup: _Setup, tasks: Iterator[_Task], jobs: int) -> Generator[TrialResult, None, None]:
    """Yield the results in the order of the tasks, with at most two pending tasks per process."""
    if jobs == 1:
        yield from (_run_trial(setup, task) for task in tasks)
        return
    with _workers(jobs) as pool:
        pending: deque[Future[TrialResult]] = deque()
        for task in tasks:
            pending.append(pool.submit(_run_trial, setup, task))
            if len(pending) == 2 * jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _run_trial(setup: _Setup, task: _Task) -> TrialResult:
    try:
        return _trial(setup).run(task.chosen, task.configurations)
    except MaseError as error:
        error.add_note(f"at text number {task.chosen.number}, {task.chosen.id}")
        raise


@cache
def _trial(setup: _Setup) -> Trial:
    from mase.models.locks import configure

    configure(1)
    target = TARGETS[setup.target]
    model = target.load(setup.models, setup.device)
    answers = None if setup.answers is None else Answers(setup.answers, origin(model))
    return Trial(
        model, setup.configurations, setup.precision, target.operators, answers, every_metric=target.every_metric
    )


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of new processes. If the block raises, they are terminated and their work is lost."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_parent)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Make this process end when its parent ends, however it ends, and on Ctrl-C without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None
    Thread(target=_wait_and_exit, args=(parent,), daemon=True).start()


def _wait_and_exit(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)

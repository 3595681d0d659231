"""How far an explanation is: events, listeners and progress bars."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from mase.attribution.attribution import Attribution
from mase.errors import MaseError
from mase.models.batching import Watch
from mase.render.wording import counted, duration
from mase.rng import untouched
from mase.solve.strategy import Solution

T = TypeVar("T")
R = TypeVar("R")
_THREADS = 2  # texts that are explained at the same time where the model waits


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an explanation is.

    Attributes
    ----------
    n_asked
        Number of evaluations so far.
    n_samples
        Number of evaluations that the method may take: its samples, or all subsets of the units if they are fewer. A
        stopping rule may end an explanation before. Checks of the model, and repetitions for one that is not
        deterministic, come on top.
    interim
        After a round, a function that returns the attribution so far; None after a batch.
    """

    n_asked: int
    n_samples: int
    interim: Callable[[], Attribution] | None = None

    @property
    def attribution(self) -> Attribution | None:
        """The attribution so far, after a round; None after a batch. It is computed whenever it is read."""
        return None if self.interim is None else self.interim()


Listener = Callable[[Progress], None]


@dataclass(slots=True)
class Reporter(Watch):
    """Tells a listener of batches and rounds. The listener has no effect on random numbers of the model.

    Attributes
    ----------
    interim
        Returns the attribution of a solution.
    n_asked
        Number of evaluations so far; at first those of the setup.
    """

    listener: Listener
    interim: Callable[[Solution], Attribution]
    n_samples: int
    n_asked: int

    def asked(self, n: int) -> None:
        """Tell of a batch of n rows."""
        self.n_asked += n
        self._tell(None)

    def solved(self, solution: Callable[[], Solution]) -> None:
        """Tell of a round."""
        self._tell(lambda: self.interim(solution()))

    def _tell(self, interim: Callable[[], Attribution] | None) -> None:
        with untouched():
            self.listener(Progress(self.n_asked, self.n_samples, interim))


def tracked(texts: Iterable[T]) -> Iterable[T]:
    """Yield the same texts, and show a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import track

    return track(texts, "explaining", console=Console(stderr=True))


def each(texts: Iterable[T], explain: Callable[[T], R], *, ahead: bool = False) -> Iterator[R]:
    """Yield the result of each text, in order. An error gets a note of the number of its text.

    With `ahead` the next text is begun in a second thread, so that a model that waits for its device or a server is
    asked about it while the scores of the text before are computed. A batch holds rows of one text in any case.
    """

    def explained(number: int, text: T) -> R:
        try:
            return explain(text)
        except MaseError as error:
            error.add_note(f"at text number {number}, counted from 0")
            raise

    if not ahead:
        yield from starmap(explained, enumerate(texts))
        return
    pool, begun = ThreadPoolExecutor(_THREADS, "mase-explain"), deque[Future[R]]()
    try:
        for number, text in enumerate(texts):
            begun.append(pool.submit(explained, number, text))
            if len(begun) >= _THREADS:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


# Seconds between two lines where there is no bar.
BETWEEN_LINES = 60.0


@contextmanager
def evaluations(doing: str, spent: Callable[[], str] | None = None) -> Iterator[Listener]:
    """Yield a listener that shows the evaluations of one explanation: a bar, or a line per minute.

    Nothing is shown at the end, nor before the first evaluations. `spent` says what the evaluations cost so far.
    """
    console, next_line = Console(stderr=True), time.perf_counter() + BETWEEN_LINES
    has_bar = _is_terminal(console)
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[spent]}"))
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not has_bar) as bar:
        task = bar.add_task(doing, total=None, spent="")

        def listen(progress: Progress) -> None:
            nonlocal next_line
            total = max(progress.n_samples, progress.n_asked)  # checks and repetitions come on top of the samples
            cost = "" if spent is None else spent()
            bar.update(task, total=total, completed=progress.n_asked, spent=cost)
            if not has_bar and time.perf_counter() >= next_line:
                next_line += BETWEEN_LINES
                done = f"{progress.n_asked:,} of {counted(total, 'evaluation')}"
                _tell(f"{doing}: {', '.join(filter(None, (done, cost)))}")

        yield listen


def _tell(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _is_terminal(console: Console) -> bool:
    """Return whether the console can show a bar. FORCE_COLOR makes a log look like a terminal, so ask the stream."""
    return console.is_terminal and not console.is_dumb_terminal and sys.stderr is not None and bool(sys.stderr.isatty())


class ProgressBar:
    """Counts texts and shows a bar, which is hidden while something else is printed, or a line per minute.

    Parameters
    ----------
    total
        Number of texts, or None if it is unknown.
    doing, done
        Words for the work and its result, such as "explaining" and "explained".
    earlier
        How many of these texts were done before.
    workers
        How many texts are worked on at the same time.
    shown
        Whether anything is shown.
    spent
        Says what the texts cost so far.

    Attributes
    ----------
    n_done, n_failed
        Number of texts done since the beginning, and of those that failed.
    """

    def __init__(
        self,
        total: int | None,
        doing: str = "explaining",
        done: str = "explained",
        *,
        earlier: int = 0,
        workers: int = 1,
        shown: bool = True,
        spent: Callable[[], str] | None = None,
    ) -> None:
        console = Console(stderr=True)
        columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
        self._has_bar = shown and total != 1 and _is_terminal(console)
        self._bar = Bar(*columns, console=console, transient=True, disable=not self._has_bar)
        self._task = self._bar.add_task(doing, total=total, completed=earlier, pace="")
        self.total, self.earlier = total, earlier
        self._workers, self._at, self._n_together = workers, 0.0, 1
        self._doing, self._done, self._shown, self._spent = doing, done, shown, spent
        self._began = self._next_line = time.perf_counter()
        self.n_done = self.n_failed = 0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._next_line = self._began + BETWEEN_LINES
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if self.n_done > 1:
            failed = f", {self.n_failed:,} failed" if self.n_failed else ""
            texts = counted(self.n_done - self.n_failed, "text")
            self._tell(f"{texts} {self._done}{failed}, {duration(self.seconds)}")

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    @property
    def per_second(self) -> float:
        """Texts per second from the beginning to the last step."""
        return self.n_done / max(self._at, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest will take at the rate up to the last step; None if that is not known yet.

        When one worker is done, the others are in the middle of their texts, also at the end. It counts down until the
        next step is late.
        """
        if self.total is None or not self.n_done:
            return None
        half_done, under_way = (self._workers - 1) * self._n_together / 2, self._workers * self._n_together
        per_text = max(self._at / (self.n_done + half_done), self.seconds / (self.n_done + under_way))
        return max(0.0, (self.total - self.earlier + half_done) * per_text - self.seconds)

    def state(self) -> dict[str, float | None]:
        """Return the counts and the rate, for another process that shows them."""
        return {
            "done": self.earlier + self.n_done,
            "failed": self.n_failed,
            "total": self.total,
            "per_second": self.per_second,
            "seconds_left": self.seconds_left,
        }

    def step(self, n: int = 1, *, failed: int = 0) -> None:
        """Count n texts, of which some `failed`; with 0 texts, show the line that is due."""
        self.n_done += n
        self.n_failed += failed
        if n:
            self._at, self._n_together = self.seconds, n
        self._bar.update(self._task, advance=n, pace=self._pace if self.n_done else "")
        is_over = self.total is not None and self.earlier + self.n_done >= self.total
        if not self._has_bar and not is_over and time.perf_counter() >= self._next_line:
            self._next_line += BETWEEN_LINES
            self._tell(f"{self._doing}: {self}")

    @property
    def _pace(self) -> str:
        left = "" if self.seconds_left is None else f", {duration(self.seconds_left)} left"
        spent = "" if self._spent is None else f", {self._spent()}"
        return f"{self.per_second:.3g} texts per second{left}{spent}"

    def __str__(self) -> str:
        done = f"{self.earlier + self.n_done:,}"
        of = done if self.total is None else f"{done} of {self.total:,}"
        failed = f", {self.n_failed:,} failed" if self.n_failed else ""
        return f"{of}, {self._pace}{failed}"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar while the block runs."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def _tell(self, line: str) -> None:
        if self._shown:
            _tell(line)

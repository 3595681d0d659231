"""How far an explanation is, for who follows it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from typing import TypeVar

from mase.attribution import Attribution
from mase.errors import MaseError
from mase.regression.strategy import Solution
from mase.rng import untouched

__all__ = ["Listener", "Progress", "Reporter", "each", "tracked"]

T = TypeVar("T")
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
class Reporter:
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

    def halved(self, batch_size: int) -> None:
        """Say nothing: the attribution has a note about it."""

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


def each(texts: Iterable[T], explain: Callable[[T], Attribution], *, ahead: bool = False) -> Iterator[Attribution]:
    """Yield the attribution of each text, in order. An error gets a note of the number of its text.

    With `ahead` the next text is begun in a second thread, so that a model that waits for its device or a server is
    asked about it while the scores of the text before are computed. A batch holds rows of one text in any case.
    """

    def explained(number: int, text: T) -> Attribution:
        try:
            return explain(text)
        except MaseError as error:
            error.add_note(f"at text number {number}, counted from 0")
            raise

    if not ahead:
        yield from starmap(explained, enumerate(texts))
        return
    pool, begun = ThreadPoolExecutor(_THREADS, "mase-explain"), deque[Future[Attribution]]()
    try:
        for number, text in enumerate(texts):
            begun.append(pool.submit(explained, number, text))
            if len(begun) >= _THREADS:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)

"""The driver of a run: it gives texts to the workers of an engine and puts their tables together to parts."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa

from mase.corpus.columns import TABLES, Rows
from mase.corpus.engines.protocol import Died, Done, Engine, Event, Ready, Task, as_error
from mase.corpus.plan import Plan
from mase.corpus.source import Item, Source
from mase.corpus.worker import Recipe
from mase.corpus.writer import Writer
from mase.errors import OF_THE_COMMAND, DataError, TextTimeoutError, TooFewSamplesError
from mase.render.progress import Progress

__all__ = ["Driver"]

# Workers that may die of a text before it is recorded as failed. Others may have been killed for another reason.
_MOST_DEATHS = 3
# Largest number of texts in a task, and number of tasks per worker at least, so that all workers end about together.
MOST_TEXTS, TASKS_PER_WORKER = 32, 4
# Seconds after which the driver looks after its lock and its progress although nothing has happened.
_TICK = 1.0


@dataclass(slots=True)
class _Arrived:
    """The tables of a part that have arrived, by their first row."""

    n_missing: int
    pieces: dict[int, Mapping[str, pa.Table]] = field(default_factory=dict)
    workers: set[str] = field(default_factory=set)

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables of all texts, in their order."""
        pieces = [self.pieces[row] for row in sorted(self.pieces)]
        return {table: pa.concat_tables([piece[table] for piece in pieces]) for table in TABLES}


class Driver:
    """Explains the texts of a source, part by part.

    A text at which its worker dies is found by giving its neighbours to other workers. It becomes a row with the error.

    Parameters
    ----------
    engine
        The workers, which are started and closed by the caller.
    recipe
        What the workers do.
    plan
        The parts.
    writer
        Where the parts go.
    progress
        Counts the texts.
    again
        Rows of failed texts of finished parts, which are explained again, by part.
    """

    def __init__(
        self,
        engine: Engine,
        recipe: Recipe,
        plan: Plan,
        writer: Writer,
        progress: Progress,
        again: Mapping[int, Set[int]],
    ) -> None:
        self._engine, self._recipe, self._plan = engine, recipe, plan
        self._writer, self._progress, self._failed = writer, progress, again
        self._any_explained = self._all_read = False
        self._parts: dict[int, _Arrived] = {}
        self._given: dict[int, Task] = {}
        self._again: deque[tuple[Sequence[Item], int]] = deque()
        self._n_tasks = 0

    def run(self, source: Source, n_workers: int) -> None:
        """Explain the texts of all parts that are not finished, and the failed ones that are tried again."""
        left = [part for part in self._plan.parts if part in self._failed or part not in self._writer.finished]
        n_left = sum(len(self._wanted(part)) for part in left)
        size = max(1, min(MOST_TEXTS, n_left // (TASKS_PER_WORKER * n_workers)))
        new = self._read(source, left, size)
        while not self._is_over:
            while self._engine.free > 0 and (task := self._next(new)) is not None:
                self._given[task.number] = task
                self._engine.submit(task)
            if not self._is_over:
                for event in self._engine.events(_TICK):
                    self._handle(event)
            self._writer.check()
            self._progress.step(0)
        self._writer.finish()
        if self._parts:
            raise DataError(f"the input ended early, expected {self._plan.n:,} texts as at the beginning")

    @property
    def _is_over(self) -> bool:
        return self._all_read and not self._again and not self._given

    def _read(self, source: Source, left: Sequence[int], size: int) -> Iterator[Sequence[Item]]:
        """Yield the texts of the parts that are left, up to `size` at a time, without keeping them."""
        if not left:
            return
        parts, items = set(left), list[Item]()
        for item in source.items(start=self._plan.rows(left[0]).start):
            part = item.row // self._plan.part_size
            if part in parts:
                rows = self._plan.rows(part)
                if item.row == rows.start:
                    self._parts[part] = self._begun(part)
                is_wanted = item.row in self._wanted(part)
                if is_wanted:
                    items.append(item)
                is_last = item.row == rows.stop - 1
                if items and (len(items) == size or is_last or not is_wanted):
                    yield items
                    items = []
                if is_last and part == left[-1]:
                    return

    def _wanted(self, part: int) -> Set[int] | range:
        """Return the rows of a part that are explained."""
        return self._failed.get(part, self._plan.rows(part))

    def _begun(self, part: int) -> _Arrived:
        """Return a part that lacks all its texts, or those that are tried again."""
        failed = self._failed.get(part)
        pieces = {} if failed is None else self._writer.explained(part, failed)
        return _Arrived(len(self._wanted(part)), pieces)

    def _next(self, new: Iterator[Sequence[Item]]) -> Task | None:
        """Return the next task: one that is tried again, or else new texts; None if there is none at the moment."""
        items, deaths = self._again.popleft() if self._again else (next(new, None), 0)
        if items is None:
            self._all_read = True
            return None
        self._n_tasks += 1
        return Task(self._n_tasks, items, deaths)

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._writer.admit(event)
            return
        task = self._given.pop(event.task)
        if isinstance(event, Done):
            self._check_command(event.tables["texts"])
            if self._any_explained:
                self._writer.begin()
            self._add(task, event.worker, event.tables)
        else:
            self._try_again(task, event)

    def _check_command(self, texts: pa.Table) -> None:
        """Raise the error of a text if it concerns the command, and no text was ever explained."""
        errors = texts["error"]
        self._any_explained = self._any_explained or errors.null_count > 0
        if self._any_explained:
            return
        for name, message in zip(errors.to_pylist(), texts["message"].to_pylist(), strict=True):
            error = as_error(name, message)
            if isinstance(error, OF_THE_COMMAND) and not isinstance(error, TooFewSamplesError):
                self._any_explained = self._writer.has_explained()
                if not self._any_explained:
                    raise error

    def _try_again(self, task: Task, event: Died) -> None:
        """Try the texts again at which a worker died: in smaller tasks, or record the only one as failed."""
        if len(task.items) > 1:
            rows = [item.row for item in task.items]
            at = rows.index(event.row) if event.row in rows else None
            cuts = (len(rows) // 2,) if at is None else (at, at + 1)
            pieces = [task.items[start:stop] for start, stop in pairwise((0, *cuts, len(rows)))]
            known = None if at is None else task.items[at]
            again = [(piece, int(piece[0] is known)) for piece in pieces if piece]
        else:
            again = [(task.items, task.deaths + 1)]
        for items, deaths in again:
            if deaths >= (1 if isinstance(event.error, TextTimeoutError) else _MOST_DEATHS):
                self._add_failure(task, items[0], event)
            else:
                self._again.append((items, deaths))

    def _add_failure(self, task: Task, item: Item, event: Died) -> None:
        rows = Rows(self._recipe.kept, documents=self._recipe.documents, worker=event.worker)
        rows.add_failure(item, type(event.error).__name__, str(event.error), 0.0)
        self._add(Task(task.number, (item,)), event.worker, rows.tables())

    def _add(self, task: Task, worker: str, tables: Mapping[str, pa.Table]) -> None:
        """Add the tables of a task to its part, and write the part if it is complete."""
        number = task.items[0].row // self._plan.part_size
        part = self._parts[number]
        part.pieces[task.items[0].row] = tables
        part.workers.add(worker)
        part.n_missing -= len(task.items)
        self._progress.step(len(task.items), failed=len(task.items) - tables["texts"]["error"].null_count)
        if not part.n_missing:
            self._writer.write(number, self._parts.pop(number).tables(), part.workers)

"""`mase.run`: drive the workers, and go on where a run stopped."""

import os
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NoReturn, Unpack

import pyarrow as pa

from mase.defaults import check_integer
from mase.errors import (
    OF_THE_COMMAND,
    DataError,
    MaseWarning,
    NotPicklableError,
    OptionError,
    TextTimeoutError,
    TooFewSamplesError,
)
from mase.explainer import Explainer
from mase.models.chat.chat import Chat
from mase.models.origin import has_checksum, unknown_model
from mase.options import ExplainerOptions
from mase.platforms import on_termination
from mase.progress import ProgressBar
from mase.sources import open_source
from mase.sources.rows import Fields, Item, Source
from mase.target import Label, Question, Target
from mase_corpora.engines import ENGINES, Died, Done, Engine, Event, Ready, Resources, Task, as_error
from mase_corpora.engines.local import Here
from mase_corpora.folder import Folder
from mase_corpora.lock import check_free, hold
from mase_corpora.plan import Plan, Shard, automatic_part_size, of_documents, opening
from mase_corpora.read import Run, failed_rows, open_run
from mase_corpora.schema import TABLES, Rows, schema
from mase_corpora.storage import beside, storage_of
from mase_corpora.worker import Recipe
from mase_corpora.write import Writer, manifest_of

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
        progress: ProgressBar,
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


_TERMINATED = 143

# Seconds without any worker after which the caller is told.
_LONG = 60


@dataclass(frozen=True, slots=True)
class Settings:
    """How to execute a run; nothing of this changes a score.

    Attributes
    ----------
    engine
        Name of the engine in `ENGINES`.
    jobs
        Number of workers; None for one per core that the engine may use.
    address, gpus_per_worker
        See `Resources`.
    shard
        Which parts to explain.
    part_size
        Texts per part; None for `automatic_part_size`.
    fresh
        Whether to begin another run beside an existing one.
    retry_failed
        Whether to explain the texts of finished parts again that could not be explained.
    allow_other_versions
        Whether to go on with other versions or processors than the run was begun with.
    show_progress
        Whether to show the progress on stderr.
    """

    engine: str = "local"
    jobs: int | None = None
    address: str | None = None
    gpus_per_worker: float | None = None
    shard: Shard = field(default_factory=Shard)
    part_size: int | None = None
    fresh: bool = False
    retry_failed: bool = False
    allow_other_versions: bool = False
    show_progress: bool = False

    def __post_init__(self) -> None:
        if self.jobs is not None:
            check_integer("jobs", self.jobs, 1)


def run(
    source: Any,
    output: str | os.PathLike[str],
    *,
    model: Any = "lstm-imdb",
    tokenizer: Any = None,
    target: Target = None,
    against: Label = None,
    text_column: str | None = None,
    fields: Fields = None,
    id_column: str | None = None,
    keep: Sequence[str] | Mapping[str, str] | None = None,
    keep_texts: bool = True,
    where: Mapping[str, str] | None = None,
    limit: int | None = None,
    jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    gpus_per_worker: float | None = None,
    shard: str | None = None,
    part_size: int | None = None,
    timeout: float | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    allow_other_versions: bool = False,
    show_progress: bool = False,
    **options: Unpack[ExplainerOptions],
) -> Run:
    """Explain many texts into a folder of Parquet files, part by part, and return the run.

    The same call again goes on where an earlier one stopped, however it ended. A text that cannot be explained is a row
    with the error. The tables do not depend on the engine, the number of workers or the order.

    Parameters
    ----------
    source
        Texts, a table, or files; see `mase.sources.open_source`.
    output
        The folder of the run, or a URI such as ``s3://bucket/folder``.
    model, tokenizer
        As for `mase.Explainer`, or an `Explainer`. A model that is given by its name, or in code as
        ``"module:function"``, is opened by the workers. Anything else is sent to them, and if that is not possible, as
        with a function of a notebook, this process explains the texts, with a warning.
    target, against
        As for the call of an `Explainer`; the default is the predicted class of each text.
    text_column, fields, id_column, keep
        Columns of a table: the texts, or the fields of documents instead, their ids, and those to keep beside the
        results.
    keep_texts
        Whether the texts themselves are written to the run.
    where
        Explain only rows with these values of columns, as in ``{"split": "test"}``.
    limit
        Explain only so many texts.
    jobs
        Number of workers; one per core of this machine, or of the Ray cluster, by default.
    engine
        Where the workers are: "local", "ray", "here" for this process, or an engine of another package.
    address, gpus_per_worker
        Address of a cluster, and the GPUs, or the fraction of one, of each worker.
    shard
        ``"I/N"`` explains every N-th part, from part I on. The shards may run at the same time, on other machines too.
    part_size
        Texts per part, which are kept together; at least 32 and at most 2,500 parts by default.
    timeout
        The longest time for a text, in seconds. A text that takes longer has failed.
    fresh
        Whether to begin another run beside an existing one, in a folder whose name ends in -2, -3 and so on.
    retry_failed
        Whether to explain those texts of finished parts again that could not be explained, for example because a
        server did not answer. All other texts of these parts are kept.
    allow_other_versions
        Whether to go on with other versions or another processor than the run was begun with. The last digits of scores
        may then differ from part to part; the parts record with what they were made.
    show_progress
        Whether to show a progress bar on stderr, or a line per minute if it is no terminal.
    **options
        Options of `mase.Explainer`, such as `method`, `n_samples` and `seed`.

    Raises
    ------
    DataError
        If the input cannot be read, the folder cannot be written, or it holds a run with other settings, another input
        or other versions.
    LockedError
        If another process works on the run.
    OptionError, CapabilityError, UnknownNameError, MissingDependencyError
        If an option is invalid, or the model does not fit it.
    WorkerError
        If no worker can be started.
    """
    recipe = Recipe(opening(model, tokenizer, options), Question(target, against), (), keep_texts, timeout)
    ours = Shard() if shard is None else Shard.parse(shard)
    settings = Settings(
        engine=engine,
        jobs=jobs,
        address=address,
        gpus_per_worker=gpus_per_worker,
        shard=ours,
        part_size=part_size,
        fresh=fresh,
        retry_failed=retry_failed,
        allow_other_versions=allow_other_versions,
        show_progress=show_progress,
    )
    _check_one_worker(model, engine, jobs)
    begun = None if fresh else Folder(storage_of(output)).manifest()
    texts = open_source(
        source,
        text_column=text_column,
        fields=fields,
        **of_documents(model, options),
        id_column=id_column,
        keep=keep,
        reserved=schema("texts").names,
        where=where,
        limit=limit,
        known=None if begun is None else begun.asked.input,
    )
    return execute(texts, output, recipe, settings)


def _check_one_worker(model: object, engine: str, jobs: int | None) -> None:
    """Check that a chat model with an archive or limits, which processes cannot share, has one worker."""
    asked = model.model if isinstance(model, Explainer) else model
    chat = getattr(asked, "chat", asked)
    bound = [name for name in ("archive", "max_total_tokens", "max_cost") if getattr(chat, name, None) is not None]
    if isinstance(chat, Chat) and bound and engine != "here" and jobs != 1:
        raise OptionError(
            f"the chat model has {bound[0]}, which several worker processes cannot share, expected engine='here' or "
            "jobs=1; its requests run side by side all the same (concurrency)"
        )


def execute(source: Source, output: str | os.PathLike[str], recipe: Recipe, settings: Settings) -> Run:
    """Explain the texts of a source as a recipe says; see `run`."""
    example = next((item.text for item in source.items() if item.text is not None), None)
    recipe = replace(recipe, kept=tuple(source.kept), example=example)
    size = automatic_part_size(len(source)) if settings.part_size is None else settings.part_size
    plan = Plan(len(source), size, settings.shard)
    folder = _folder(output, fresh=settings.fresh)
    folder.check_own()
    check_free(folder.storage, plan.shard)
    finished = folder.finished()
    counts = {part: len(plan.rows(part)) for part in plan.parts}
    n, earlier = sum(counts.values()), sum(count for part, count in counts.items() if part in finished)
    again = failed_rows(folder, finished & set(plan.parts)) if settings.retry_failed else {}
    earlier -= sum(map(len, again.values()))
    try:
        with on_termination(_terminate), ExitStack() as stack:
            engine, n_workers = _started(recipe, settings, n - earlier)
            stack.callback(engine.close)
            progress = ProgressBar(n, earlier=earlier, workers=n_workers, shown=settings.show_progress)
            ready = _first(engine)
            manifest = manifest_of(
                ready[0].description,
                input=dict(source.describe()),
                n_texts=plan.n,
                part_size=plan.part_size,
                kept=recipe.kept,
                documents=recipe.documents,
            )
            lock = stack.enter_context(hold(folder.storage, plan.shard, progress.state))
            allow = settings.allow_other_versions
            writer = stack.enter_context(Writer(folder, lock, manifest, allow_other_versions=allow))
            for worker in ready:
                writer.admit(worker)
            if earlier and not has_checksum(manifest.asked.model):
                kept = f"the finished parts of {folder.place!r}"
                warnings.warn(unknown_model(manifest.asked.model, kept, "pass fresh=True"), MaseWarning, stacklevel=3)
            folder.clean(plan.parts)
            stack.enter_context(progress)
            Driver(engine, recipe, plan, writer, progress, again).run(source, n_workers)
            writer.begin()
    except _Terminated:
        raise SystemExit(_TERMINATED) from None
    return open_run(folder.place)


class _Terminated(KeyboardInterrupt):
    """The system sent SIGTERM, or the terminal was closed. The run ends like one that is interrupted."""


def _terminate() -> NoReturn:
    raise _Terminated


def _folder(output: str | os.PathLike[str], *, fresh: bool) -> Folder:
    """Return the folder of the run; with `fresh` the first one without a run: `output`, `output`-2, `output`-3, ..."""
    folder, number = Folder(storage_of(output)), 1
    while fresh and folder.manifest() is not None:
        number += 1
        folder = Folder(storage_of(beside(os.fspath(output), number)))
    return folder


def _started(recipe: Recipe, settings: Settings, n_left: int) -> tuple[Engine, int]:
    """Return the engine, started, and its number of workers."""
    engine: Engine = ENGINES[settings.engine](Resources(settings.jobs, settings.address, settings.gpus_per_worker))
    try:
        return engine, engine.start(recipe, max(1, n_left))
    except NotPicklableError as error:
        if settings.engine != "local":
            raise
        warnings.warn(f"this process explains the texts, with one core: {error}", MaseWarning, stacklevel=4)
        engine = Here(Resources())
        return engine, engine.start(recipe)
    except BaseException:
        engine.close()
        raise


def _first(engine: Engine) -> Sequence[Ready]:
    """Return the workers that are ready first."""
    n_waits = 0
    while not (events := engine.events(1.0)):
        n_waits += 1
        if n_waits == _LONG:
            warnings.warn(
                f"no worker is ready after {_LONG} s, and the run goes on waiting: the model takes long to open, or "
                "the cluster has no room for a worker",
                MaseWarning,
                stacklevel=4,
            )
    return [event for event in events if isinstance(event, Ready)]

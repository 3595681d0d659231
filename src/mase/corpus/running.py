"""`mase.run`: explain a corpus, or go on where an earlier call stopped."""

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Unpack

from mase.corpus.driver import Driver
from mase.corpus.engines import ENGINES
from mase.corpus.engines.here import Here
from mase.corpus.engines.protocol import Engine, Ready, Resources
from mase.corpus.failures import failed_rows
from mase.corpus.folder import Folder
from mase.corpus.inputs import open_source
from mase.corpus.lock import check_free, hold
from mase.corpus.opened import Run, open_run
from mase.corpus.opening import of_documents, opening
from mase.corpus.plan import Plan, Shard, automatic_part_size
from mase.corpus.source import Source
from mase.corpus.storage import beside, storage_of
from mase.corpus.worker import Recipe
from mase.corpus.writer import Writer, manifest_of
from mase.errors import MaseWarning, NotPicklableError
from mase.models.identity import has_checksum, unknown_model
from mase.options import ExplainerOptions
from mase.platforms import on_termination
from mase.render.progress import Progress
from mase.scalars import check_integer
from mase.tables import Fields
from mase.target import Label, Question, Target

__all__ = ["Settings", "execute", "run"]

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
        Texts, a table, or files; see `mase.corpus.inputs.open_source`.
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
    begun = None if fresh else Folder(storage_of(output)).manifest()
    texts = open_source(
        source,
        text_column=text_column,
        fields=fields,
        **of_documents(model, options),
        id_column=id_column,
        keep=keep,
        where=where,
        limit=limit,
        known=None if begun is None else begun.asked.input,
    )
    return execute(texts, output, recipe, settings)


def execute(source: Source, output: str | os.PathLike[str], recipe: Recipe, settings: Settings) -> Run:
    """Explain the texts of a source as a recipe says; see `run`.

    Raises
    ------
    MaseError
        As for `run`.
    """
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
            progress = Progress(n, earlier=earlier, workers=n_workers, shown=settings.show_progress)
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

"""What a worker does, whichever engine runs it: it opens the explainer once and turns tasks into tables."""

import faulthandler
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mase.attribution.attribution import Attribution
from mase.defaults import is_real
from mase.document import Document
from mase.errors import NotPicklableError, OptionError
from mase.methods import settings_of
from mase.models.origin import identity_in_run
from mase.models.scores import show_example
from mase.platforms import asks_to_end
from mase.progress import each
from mase.provenance import environment
from mase.solve.regression import Regression
from mase.sources.rows import Item
from mase.target import Question
from mase.units.splitters import Function
from mase_corpora.engines import Task
from mase_corpora.schema import Rows

if TYPE_CHECKING:
    from mase.explainer import Explainer


# The exit code with which faulthandler ends a process at the timeout.
ENDED_BY_TIMEOUT = 1
_LONGEST_TIMEOUT = 1e9  # seconds; the system refuses much longer ones


@dataclass(frozen=True, slots=True)
class Description:
    """What an explainer is, and where it runs.

    Attributes
    ----------
    model
        Name and checksum of the model, and how it reads texts.
    labels
        Names of its classes.
    method
        All settings that decide the scores.
    seed
        Seed of the perturbations.
    question
        Labels of the explained classes, as in `mase.target.Question`.
    made_with
        Versions, processor and threads, which decide the last bits of scores.
    """

    model: Mapping[str, Any]
    labels: tuple[str, ...]
    method: Mapping[str, Any]
    seed: int
    question: Question
    made_with: Mapping[str, Any]

    @classmethod
    def of(cls, explainer: "Explainer", question: Question) -> "Description":
        """Return the description of an explainer in this process."""
        model = explainer.model
        _check_lasting(explainer)
        try:
            settings = explainer.settings
        except TypeError as error:
            raise OptionError(
                f"a run records all settings, which is not possible here ({error}); pass a number as sigma"
            ) from error
        return cls(
            model=identity_in_run(model),
            labels=tuple(model.labels),
            method=settings | {"batch_size": explainer.query.batch_size},
            seed=explainer.seed,
            question=question.named(model.labels),
            made_with=environment(model),
        )


def _check_lasting(explainer: "Explainer") -> None:
    """Check that the settings of an explainer mean the same in another process, and that a run can keep its results."""
    splitter = explainer.splitter
    if isinstance(splitter, Function) and not splitter.lasting:
        raise NotPicklableError(
            f"units is {splitter.name}, which other processes and later runs cannot find by this name; expected a "
            "function of a module, or 're:' and a regular expression"
        )
    strategy = explainer.method.strategy
    parts = [strategy.design, strategy.estimator] if isinstance(strategy, Regression) else [strategy]
    for part in (explainer.method.space, *parts):
        _, unknown = settings_of(part)
        if unknown:
            raise OptionError(
                f"{type(part).__name__} has the attributes {', '.join(unknown)}, of which a run cannot record whether "
                "they are the same when it is resumed; expected a dataclass, whose fields are its settings"
            )
    if explainer.zoom:
        raise OptionError(
            f"zoom is {explainer.zoom}, expected 0: a run keeps one row per unit; explain such texts one by one"
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a worker needs in order to explain texts.

    Attributes
    ----------
    open
        Opens the explainer. For workers in other processes it must be possible to pickle it.
    question
        The classes to explain.
    kept
        Names of the columns that are kept beside the texts.
    documents
        Whether the texts themselves are in the tables.
    example
        A text or document of the input; see `mase.models.scores`.
    timeout
        The longest time for a text, in seconds. A worker that takes longer ends itself. None for no limit.
    """

    open: "Callable[[], Explainer]"
    question: Question = Question()  # noqa: RUF009 (frozen)
    kept: tuple[str, ...] = ()
    documents: bool = True
    timeout: float | None = None
    example: str | Document | None = None

    def __post_init__(self) -> None:
        timeout = self.timeout
        if timeout is not None and not (is_real(timeout) and 0 < timeout < _LONGEST_TIMEOUT):
            raise OptionError(f"timeout is {timeout!r}, expected a positive number of seconds, or None for no limit")


class Worker:
    """An opened explainer, which explains tasks.

    Parameters
    ----------
    recipe
        What to open, and how.
    name
        Name of the worker, for the table of timings.
    interruptible
        Whether Ctrl-C interrupts this process. Where it does not, it is the model that raises `KeyboardInterrupt`.
    """

    def __init__(self, recipe: Recipe, name: str, *, interruptible: bool = True) -> None:
        self.recipe, self.name = recipe, name
        self._costs_a_text = (Exception, SystemExit, *(() if interruptible else (KeyboardInterrupt,)))
        self.explainer = recipe.open()
        show_example(self.explainer.model, recipe.example)
        self.description = Description.of(self.explainer, recipe.question)

    def explain(self, task: Task, begin: Callable[[int], None] | None = None) -> Mapping[str, pa.Table]:
        """Return the tables of the texts of a task. A text that cannot be explained is a row with the error.

        `begin` is called with the row of each text before it is explained. Without it, a model that waits for its
        device is asked about a text while the scores of the one before are computed.
        """
        recipe = self.recipe
        rows = Rows(recipe.kept, documents=recipe.documents, worker=self.name)

        def explained(item: Item) -> tuple[Item, Attribution | tuple[str, str], float]:
            if begin is not None:
                begin(item.row)
            started = time.perf_counter()
            with _limited(recipe.timeout):
                return item, self._found(item), time.perf_counter() - started

        # Whoever is told where it is has one text at a time.
        ahead = begin is None and recipe.timeout is None and getattr(self.explainer.model, "waits", False)
        for item, result, seconds in each(task.items, explained, ahead=ahead):
            if isinstance(result, tuple):
                rows.add_failure(item, *result, seconds)
            else:
                rows.add(item, result, seconds)
        return rows.tables()

    def _found(self, item: Item) -> Attribution | tuple[str, str]:
        """Return the attribution of a text, or the type and the message of the error that it costs."""
        try:
            if item.error is not None:
                raise item.error
            assert item.text is not None
            asked = self.recipe.question
            return self.explainer(item.text, target=asked.target, against=asked.against)
        except self._costs_a_text as error:
            if asks_to_end(error):
                raise
            return type(error).__name__, " ".join(str(error).split()) or "the model raised it, without a message"


@contextmanager
def _limited(timeout: float | None) -> Iterator[None]:
    """End this process if the block takes longer, even if the model never returns to Python."""
    if timeout is None:
        yield
        return
    with Path(os.devnull).open("wb") as null:
        faulthandler.dump_traceback_later(timeout, exit=True, file=null)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

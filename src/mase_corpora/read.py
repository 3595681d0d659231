"""Read a run: its tables checked against the schema, its failures, how far it is and what one will take."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mase.arrays import Bools, Ints
from mase.attribution.response import EFFECTS, error_of
from mase.document import Input
from mase.errors import DataError, MaseError, OptionError
from mase.registry import require, unknown
from mase.sources.rows import Source
from mase.target import Question
from mase_corpora.folder import MANIFEST, Chunk, Folder, part_name
from mase_corpora.lock import Owner, owners
from mase_corpora.plan import ASKED, Manifest, Plan
from mase_corpora.schema import TOTAL_ERRORS, schema
from mase_corpora.storage import storage_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from mase.explainer import Explainer


_HALF_PRECISION = 1e-2  # by so much may a probability be outside of [0, 1]


def check_rows(table: str, rows: pa.Table, slice_: range, ids: pa.ChunkedArray, place: str) -> None:
    """Check the rows of a table for the texts with the row numbers `slice_` and with these ids."""
    problem = next(_problems(table, rows, slice_, ids), None)
    if problem is not None:
        raise DataError(f"{place} {problem}")


def _problems(table: str, rows: pa.Table, slice_: range, ids: pa.ChunkedArray) -> Iterator[str]:
    number = rows.column("row")
    if number.null_count or rows.column("id").null_count:
        yield "has a row without 'id' or 'row', expected both in each"
    numbers = number.to_numpy()
    if len(numbers) and not (slice_.start <= numbers.min() and numbers.max() < slice_.stop):
        yield f"has row {_outside(numbers, slice_)}, expected rows {slice_.start} to {slice_.stop - 1}"
    if np.any(np.diff(numbers) < 0):
        yield "has rows out of order, expected the order of the input"
    if table in ("texts", "timings") and len(numbers) != (len(np.unique(numbers))):
        yield "has a row twice, expected each text once"
    if table == "texts" and len(numbers) != len(slice_):
        yield f"has {len(numbers):,} rows, expected {len(slice_):,}"
    if not rows.column("id").equals(pc.take(ids, pa.array(numbers - slice_.start))):
        yield "has an 'id' that is not that of its row in the texts"
    yield from _CHECKS[table](rows)


def _outside(numbers: Ints, slice_: range) -> int:
    return int(numbers[(numbers < slice_.start) | (numbers >= slice_.stop)][0])


def _texts(rows: pa.Table) -> Iterator[str]:
    explained = rows.filter(pc.is_null(rows.column("error")))
    yield from _ranges(explained, {"n_queries": (0, 2**53)})
    classes = explained.column("probability").null_count < len(explained)  # a model of values has no probabilities
    yield from _ranges(explained, {"probability": (-_HALF_PRECISION, 1 + _HALF_PRECISION)}, optional=not classes)
    yield from _ranges(rows, {"split_half": (-1 - 1e-9, 1 + 1e-9)}, optional=True)
    if explained.column("prediction").null_count:
        yield "has a text with neither 'prediction' nor 'error', expected one of them"


def _responses(rows: pa.Table) -> Iterator[str]:
    yield from _ranges(rows, {"value": (-np.inf, np.inf), "intercept": (-np.inf, np.inf)})
    yield from _ranges(rows, dict.fromkeys(("r2", "r2_held_out"), (-np.inf, 1 + 1e-9)), optional=True)
    yield from _ranges(rows, {"split_half": (-1 - 1e-9, 1 + 1e-9)}, optional=True)
    for name in ("response", "link"):
        if rows.column(name).null_count:
            yield f"has a row without {name!r}, expected a name"
    codes = _codes(rows.column("response"))
    if len(np.unique(np.stack([rows.column("row").to_numpy(), codes]), axis=1).T) != len(rows):
        yield "has a response of a text twice, expected each once"


def _units(rows: pa.Table) -> Iterator[str]:
    yield from _ranges(rows, {"score": (-np.inf, np.inf)})
    errors = ("standard_error", *map(error_of, EFFECTS), *TOTAL_ERRORS)
    yield from _ranges(rows, dict.fromkeys(errors, (0, np.inf)), optional=True)
    yield from _ranges(rows, dict.fromkeys(EFFECTS, (-np.inf, np.inf)), optional=True)
    yield from _ranges(rows, {"position": (0, 2**31), "start": (0, 2**31), "end": (0, 2**31), "rank": (1, 2**31)})
    for name in ("response", "field", "text"):
        if rows.column(name).null_count:
            yield f"has a row without {name!r}, expected a string"
    yield from _order(rows)


def _order(rows: pa.Table) -> Iterator[str]:
    """Yield what is wrong with the order of units: those of a text and response stand together, in reading order."""
    number, position, start, end = (rows.column(name).to_numpy() for name in ("row", "position", "start", "end"))
    response, field = _codes(rows.column("response")), _codes(rows.column("field"))
    begins = _begins(number, response)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
    if np.any(position != np.arange(len(rows)) - first):
        yield "has units whose 'position' is not 0, 1, 2, ..., expected reading order"
    in_field = _begins(number, response, field)
    if np.any(end <= start) or np.any(start[1:][~in_field[1:]] < end[:-1][~in_field[1:]]):
        yield "has units that are empty or overlap, expected spans in reading order"
    blocks = np.stack([number, response, field], axis=1)[in_field]
    if len(np.unique(blocks, axis=0)) != len(blocks):
        yield "has the units of a text, response and field in several places, expected them together"


def _begins(*columns: Ints) -> Bools:
    """Return in which rows a value differs from the row before."""
    changed = np.ones(len(columns[0]), dtype=np.bool_)
    changed[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return changed


def _timings(rows: pa.Table) -> Iterator[str]:
    yield from _ranges(rows, {"seconds": (0, np.inf)})


def _ranges(rows: pa.Table, ranges: Mapping[str, tuple[float, float]], *, optional: bool = False) -> Iterator[str]:
    """Yield the columns with a number that is missing, not finite or out of its range (low, high)."""
    for name, (low, high) in ranges.items():
        column = rows.column(name)
        if column.null_count and not optional:
            yield f"has a row without {name!r}, expected a number"
        values = column.drop_null().to_numpy()
        wrong = values[~(np.isfinite(values) & (values >= low) & (values <= high))]
        if len(wrong):
            yield f"has {name!r} {wrong[0]}, expected a finite number from {low:g} to {high:g}"


def _codes(column: pa.ChunkedArray) -> Ints:
    """Return a number for each string of a column, equal where the strings are equal."""
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate([np.empty(0, np.int64), *codes]).astype(np.int64)


_CHECKS: dict[str, Callable[[pa.Table], Iterator[str]]] = {
    "texts": _texts,
    "responses": _responses,
    "units": _units,
    "timings": _timings,
}

_COLUMNS = ("id", "row", "error", "message")


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be explained: its id and row in the input, the type of the error and its message."""

    id: str
    row: int
    error: str
    message: str


def count_failures(folder: Folder, part: int) -> int:
    """Return the number of texts of a finished part that could not be explained, from the metadata of its file."""
    with folder.opened("texts", part) as (file, groups):
        return count_failed(file, groups)


def read_failures(folder: Folder, parts: Iterable[int]) -> Iterator[Failure]:
    """Yield the texts of finished parts that could not be explained, in order. Of other parts the metadata is read."""
    for part in parts:
        with folder.opened("texts", part) as (file, groups):
            rows = file.read(list(_COLUMNS), use_threads=False).to_pylist() if count_failed(file, groups) else []
        yield from (Failure(*(row[name] for name in _COLUMNS)) for row in rows if row["error"] is not None)


def failed_rows(folder: Folder, parts: Iterable[int]) -> Mapping[int, Set[int]]:
    """Return the rows of the texts that could not be explained, by part; parts without any are left out."""
    result = {part: {failure.row for failure in read_failures(folder, (part,))} for part in parts}
    return {part: rows for part, rows in result.items() if rows}


def count_failed(file: pq.ParquetFile, groups: Sequence[Sequence[Chunk]]) -> int:
    """Return the number of failed texts in an open file of texts, from its footer if that says so."""
    index = [file.schema.column(number).path for number in range(len(file.schema))].index("error")
    nulls = [group[index].null_count for group in groups]
    known = [count for count in nulls if count is not None]
    if len(known) == len(nulls):
        return int(file.metadata.num_rows) - sum(known)
    column = file.read(["error"], use_threads=False).column(0)
    return int(len(column) - column.null_count)


class Run:
    """A run, finished or not. Tables have the rows of the finished parts, in the order of the input.

    Attributes
    ----------
    folder
        The folder of the run.
    manifest
        What was asked, and with what it was computed.
    """

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest

    @cached_property
    def plan(self) -> Plan:
        """The parts of the whole corpus."""
        return Plan(self.manifest.asked.n_texts, self.manifest.asked.part_size)

    def __len__(self) -> int:
        """Return the number of texts of the whole corpus."""
        return self.manifest.asked.n_texts

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """The parts that were finished when they were first asked for, in order.

        A run that is under way is read as it was at that moment, so that its tables have the same texts.
        """
        return tuple(sorted(part for part in self.folder.finished() if part in self.plan.parts))

    @property
    def is_complete(self) -> bool:
        """Whether all parts are finished."""
        return len(self.parts) == self.plan.n_parts

    @property
    def n_left(self) -> int:
        """Number of texts in the parts that are not finished."""
        return len(self) - sum(len(self.plan.rows(part)) for part in self.parts)

    def __repr__(self) -> str:
        asked = self.manifest.asked
        what = f"{len(self):,} texts, {asked.model.get('name')} explained with {asked.method.get('name')}"
        try:
            state = f"{len(self.parts):,} of {self.plan.n_parts:,} parts finished"
        except DataError:
            state = "its folder cannot be read"
        return f"<Run {self.folder.place!r}: {what!s:.200}; {state}>"

    def texts(self) -> pa.Table:
        """Return one row per text: its document, kept columns, prediction, cost, notes, and the error of a failed one.

        Raises
        ------
        DataError
            If a file of the run cannot be read or is not such a table.
        """
        return self._whole("texts")

    def responses(self) -> pa.Table:
        """Return one row per text and response: the explained number, and the share of its variance explained (R2).

        Raises
        ------
        DataError
            As for `texts`.
        """
        return self._whole("responses")

    def units(self) -> pa.Table:
        """Return one row per text, response and unit: its place in the text, its score and standard error, its rank.

        Raises
        ------
        DataError
            As for `texts`.
        """
        return self._whole("units")

    def timings(self) -> pa.Table:
        """Return the seconds that each text took, and the worker. They differ from run to run.

        Raises
        ------
        DataError
            As for `texts`.
        """
        return self._whole("timings")

    def tables(self, table: str, *, kept: bool = True) -> Iterator[pa.Table]:
        """Yield a table part by part, for corpora that do not fit into memory; texts with or without kept columns.

        Raises
        ------
        DataError
            As for `texts`.
        """
        columns = (self.schema(table) if kept else schema(table)).names
        yield from (self.part(table, part).select(columns) for part in self.parts)

    def schema(self, table: str) -> pa.Schema:
        """Return the columns of a table."""
        return schema(table, self.manifest.asked.kept)

    def part(self, table: str, part: int) -> pa.Table:
        """Return a table of a finished part. Its columns and rows are checked: anybody may have made the folder.

        Raises
        ------
        DataError
            As for `texts`.
        """
        result = self.folder.read(table, part, self.schema(table))
        ids = result if table == "texts" else self.folder.read("texts", part, self.schema("texts"), ["id", "row"])
        self._check_asked(part, ids.schema.metadata or {})
        place = self.folder.named(f"{table}/{part_name(part)}")
        check_rows(table, result, self.plan.rows(part), ids.column("id"), place)
        return result.replace_schema_metadata()

    def n_failed(self, part: int) -> int:
        """Return how many texts of a finished part could not be explained. Only the metadata of its file is read.

        Raises
        ------
        DataError
            As for `texts`.
        """
        with self.folder.opened("texts", part) as (file, groups):
            self._check_asked(part, file.metadata.metadata or {})
            return count_failed(file, groups)

    def _check_asked(self, part: int, metadata: Mapping[bytes, bytes]) -> None:
        """Check by the metadata of its texts that a part is of this run: shards can be copied into one folder."""
        expected, result = self.manifest.asked_sha256, metadata.get(ASKED.encode())
        # Earlier releases write neither; one may have made a part of a run that a later one began.
        if expected is not None and result is not None and result != expected.encode():
            raise DataError(
                f"{self.folder.named(f'texts/{part_name(part)}')} is of another run: what was asked of it differs from "
                f"what {MANIFEST} says, such as the model, a setting or the input; remove the files of that run from "
                "the folder, and repeat the command of this one, which then explains what is missing"
            )

    def _whole(self, table: str) -> pa.Table:
        return pa.concat_tables([self.schema(table).empty_table(), *self.tables(table)])


def open_run(path: str | os.PathLike[str] | Run) -> Run:
    """Return the run in a folder, or under a URI such as ``s3://bucket/folder``; a run is returned as it is.

    Raises
    ------
    DataError
        If it is not the folder of a run, or nothing was explained so far.
    OptionError
        If it is neither a run nor a path.
    MissingDependencyError
        If a package for the scheme of the URI is not installed.
    """
    if isinstance(path, Run):
        return path
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"run is of type {type(path).__name__}, expected a Run, or the path or URI of its folder")
    folder = Folder(storage_of(path))
    manifest = folder.manifest()
    if manifest is None:
        begun = next((owner for owner in owners(folder.storage) if owner.is_alive), None)
        if begun is not None:
            raise DataError(
                f"{folder.place!r} has no {MANIFEST} yet: process {begun.pid} on {begun.host!r:.100} works on it and "
                "has not explained a text so far; ask again later"
            )
        raise DataError(f"{folder.place!r} has no {MANIFEST}, expected the folder of a run, as mase run -o writes it")
    return Run(folder, manifest)


def frame(tables: Mapping[str, "pa.Table"], name: str) -> "pd.DataFrame":
    """Return one of some tables as a data frame."""
    if name not in tables:
        raise unknown("table", name, list(tables))
    require("pandas", "data")
    return tables[name].to_pandas()


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

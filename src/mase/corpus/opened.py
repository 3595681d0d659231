"""Read a run: its tables as Arrow, part by part or whole."""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property

import pyarrow as pa

from mase.corpus.columns import schema
from mase.corpus.failures import count_failed
from mase.corpus.folder import MANIFEST, Folder, part_name
from mase.corpus.lock import owners
from mase.corpus.manifest import ASKED, Manifest
from mase.corpus.part_rows import check_rows
from mase.corpus.plan import Plan
from mase.corpus.storage import storage_of
from mase.errors import DataError, OptionError

__all__ = ["Run", "open_run"]


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
        found = self.folder.read(table, part, self.schema(table))
        ids = found if table == "texts" else self.folder.read("texts", part, self.schema("texts"), ["id", "row"])
        self._check_asked(part, ids.schema.metadata or {})
        place = self.folder.named(f"{table}/{part_name(part)}")
        check_rows(table, found, self.plan.rows(part), ids.column("id"), place)
        return found.replace_schema_metadata()

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
        expected, found = self.manifest.asked_sha256, metadata.get(ASKED.encode())
        # Earlier releases write neither; one may have made a part of a run that a later one began.
        if expected is not None and found is not None and found != expected.encode():
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

"""The folder of a run: `run.json`, and one Parquet file per table and part, each written whole or not at all."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from mase.corpus.columns import TABLES
from mase.corpus.footer import Chunk, read_footer
from mase.corpus.manifest import Manifest
from mase.corpus.part_file import LARGEST_TABLE, out_of_memory, read_table
from mase.corpus.storage import Storage
from mase.errors import DataError
from mase.render.numbers import counted

__all__ = ["MANIFEST", "Folder", "check_there", "part_name"]

MANIFEST = "run.json"
_PART = re.compile(r"part-([0-9]{5,15})\.parquet")
_DRAFT = re.compile(r"\.part-([0-9]{5,15})\.parquet\.[0-9a-f]{16}")
# The table whose file is written last: a part is finished when it is there.
_LAST = "texts"
_LARGEST_MANIFEST = 64 << 20


def part_name(part: int) -> str:
    """Return the name of the file of a part.

    Examples
    --------
    >>> part_name(17)
    'part-00017.parquet'
    """
    return f"part-{part:05}.parquet"


def check_there(storage: Storage) -> None:
    """Check that the folder of a run that was begun is still there."""
    if not storage.exists(MANIFEST):
        raise DataError(
            f"the folder of the run {storage.place!r} is gone, or was moved or renamed while the run went on; the "
            "finished parts are in it: give the same command again with its new place as the output"
        )


class Folder:
    """The files of a run in a storage."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    @property
    def place(self) -> str:
        """Path or URI, for messages."""
        return self.storage.place

    def manifest(self) -> Manifest | None:
        """Return what `run.json` says; None if there is none."""
        if not self.storage.exists(MANIFEST):
            return None
        place = f"{self.place}/{MANIFEST}"
        size = self.storage.size(MANIFEST)
        if size > _LARGEST_MANIFEST:
            raise DataError(f"{place!r} has {size:,} bytes, expected at most {_LARGEST_MANIFEST:,}")
        return Manifest.decode(self.storage.read(MANIFEST), repr(place))

    def check_own(self) -> None:
        """Check that it is new, or the folder of a run."""
        names = [name for name in self.storage.names("") if not name.startswith(".")]  # without drafts
        if MANIFEST not in names and (names or self.finished()):
            raise DataError(
                f"{self.place!r} has files, but no {MANIFEST}, expected a new folder or that of a run; choose another "
                "output"
            )

    def create(self, manifest: Manifest) -> bool:
        """Write `run.json` if there is none, and return whether that was so."""
        return self.storage.create(MANIFEST, manifest.encode())

    def finished(self) -> set[int]:
        """Return the numbers of the parts that are finished."""
        found = (_PART.fullmatch(name) for name in self.storage.names(_LAST))
        return {int(match[1]) for match in found if match is not None and part_name(int(match[1])) == match[0]}

    def check_whole(self, parts: Iterable[int]) -> None:
        """Check that finished parts have the files of all tables."""
        numbers = sorted(parts)
        for table in TABLES:
            names = set(self.storage.names(table))
            missing = [part for part in numbers if part_name(part) not in names]
            if missing:
                first, others = missing[0], counted(len(missing) - 1, "other part")
                more = f", as are those of {others}" if missing[1:] else ""
                raise DataError(f"{self.named(f'{table}/{part_name(first)}')} is missing{more}; {self._remedy(first)}")

    def clean(self, parts: Iterable[int]) -> None:
        """Delete drafts of these parts, which a killed process left."""
        ours = set(parts)
        for table in TABLES:
            for name in self.storage.names(table):
                match = _DRAFT.fullmatch(name)
                if match is not None and int(match[1]) in ours:
                    self.storage.delete(f"{table}/{name}")

    def write(self, part: int, tables: Mapping[str, pa.Table], metadata: Mapping[str, str]) -> None:
        """Write the tables of a part, the texts last. Equal tables and metadata make equal files.

        A part that is there is replaced, and is not finished meanwhile.
        """
        ordered = {table: tables[table] for table in TABLES if table != _LAST}
        ordered[_LAST] = tables[_LAST].replace_schema_metadata(dict(metadata))
        files = {table: _encoded(table, part, content) for table, content in ordered.items()}
        self.storage.write_all({f"{table}/{part_name(part)}": file for table, file in files.items()})

    @contextmanager
    def opened(self, table: str, part: int) -> Iterator[tuple[pq.ParquetFile, list[list[Chunk]]]]:
        """Open the file of a table of a finished part, of which the block reads what it needs, with its footer.

        It must read with `use_threads=False`: a thread of Arrow that still holds the file when Python ends aborts it.
        """
        name = f"{table}/{part_name(part)}"
        try:
            with self.storage.open(name) as stream:
                groups = read_footer(stream)
                with pq.ParquetFile(stream, pre_buffer=False) as file:
                    yield file, groups
        except DataError:
            raise
        except MemoryError as error:
            raise out_of_memory(self.named(name), error, self._remedy(part)) from error
        except (pa.ArrowException, OSError, ValueError, LookupError) as error:
            remedy = "" if isinstance(error, OSError) else f"; {self._remedy(part)}"
            raise DataError(f"{self.named(name)} is not a table of a run: {error!s:.300}{remedy}") from error

    def read(self, table: str, part: int, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table of a finished part, or some columns of it. Its rows are not checked."""
        name = f"{table}/{part_name(part)}"
        try:
            content = self.storage.read(name)
        except DataError as error:
            if self.storage.exists(name):
                raise
            raise DataError(f"{error}; {self._remedy(part)}") from error
        return read_table(content, schema, self.named(name), columns, remedy=self._remedy(part))

    def named(self, name: str) -> str:
        """Return how messages name a file."""
        return repr(f"{self.place}/{name}")

    def _remedy(self, part: int) -> str:
        """Return what to do about a finished part that lacks a file, or has one that is damaged or half copied."""
        last = self.named(f"{_LAST}/{part_name(part)}")
        return f"copy the part again, or remove {last} and repeat the command of the run, which then explains it again"


def _encoded(table: str, part: int, content: pa.Table) -> pa.Buffer:
    """Return the Parquet file of a table of a part."""
    if content.nbytes > LARGEST_TABLE:
        raise DataError(
            f"the table {table!r} of part {part} has {content.nbytes:,} bytes, expected at most {LARGEST_TABLE:,}, "
            "which can be read again; use a smaller part_size"
        )
    sink = pa.BufferOutputStream()
    pq.write_table(content.combine_chunks(), sink, compression="zstd")
    return sink.getvalue()

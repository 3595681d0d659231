"""The folder of a run: `run.json`, and one Parquet file per table and part, each written whole or not at all."""

import re
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from mase.corpus.columns import TABLES
from mase.corpus.manifest import Manifest
from mase.corpus.storage import Storage
from mase.errors import DataError

__all__ = ["MANIFEST", "Folder", "part_name"]

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


class Folder:
    """The files of a run in a storage."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    @property
    def place(self) -> str:
        """Path or URI, for messages."""
        return self.storage.place

    def manifest(self) -> Manifest | None:
        """Return what `run.json` says; None if there is none.

        Raises
        ------
        DataError
            If it cannot be read or is invalid.
        """
        if not self.storage.exists(MANIFEST):
            return None
        place = f"{self.place}/{MANIFEST}"
        size = self.storage.size(MANIFEST)
        if size > _LARGEST_MANIFEST:
            raise DataError(f"{place!r} has {size:,} bytes, expected at most {_LARGEST_MANIFEST:,}")
        return Manifest.decode(self.storage.read(MANIFEST), repr(place))

    def create(self, manifest: Manifest) -> bool:
        """Write `run.json` if there is none, and return whether that was so.

        Raises
        ------
        DataError
            If it cannot be written.
        """
        return self.storage.create(MANIFEST, manifest.encode())

    def finished(self) -> set[int]:
        """Return the numbers of the parts that are finished.

        Raises
        ------
        DataError
            If the folder cannot be read.
        """
        found = (_PART.fullmatch(name) for name in self.storage.names(_LAST))
        return {int(match[1]) for match in found if match is not None and part_name(int(match[1])) == match[0]}

    def clean(self, parts: Iterable[int]) -> None:
        """Delete drafts of these parts, which a killed process left.

        Raises
        ------
        DataError
            If one cannot be deleted.
        """
        ours = set(parts)
        for table in TABLES:
            for name in self.storage.names(table):
                match = _DRAFT.fullmatch(name)
                if match is not None and int(match[1]) in ours:
                    self.storage.delete(f"{table}/{name}")

    def write(self, part: int, tables: Mapping[str, pa.Table], metadata: Mapping[str, str]) -> None:
        """Write the tables of a part, the texts last. Equal tables and metadata make equal files.

        Raises
        ------
        DataError
            If a file cannot be written. The part is then not finished.
        """
        for table in sorted(TABLES, key=_LAST.__eq__):
            sink = pa.BufferOutputStream()
            content = tables[table].combine_chunks()
            if table == _LAST:
                content = content.replace_schema_metadata(dict(metadata))
            pq.write_table(content, sink, compression="zstd")
            self.storage.write(f"{table}/{part_name(part)}", sink.getvalue())

    def read(self, table: str, part: int) -> pa.Table:
        """Return a table of a finished part.

        Raises
        ------
        DataError
            If the file cannot be read or is not Parquet.
        """
        name = f"{table}/{part_name(part)}"
        try:
            return pq.read_table(pa.BufferReader(self.storage.read(name)))
        except (pa.ArrowException, ValueError) as error:
            raise DataError(f"{f'{self.place}/{name}'!r} is not a Parquet table: {error!s:.300}") from error

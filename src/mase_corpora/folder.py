"""The folder of a run: one file for each table and part, and what a damaged one is refused for.

Asked for this of a damaged footer, pyarrow ends the process. So it is read here: structs in the compact protocol of
Thrift, as the specifications of Thrift and of Parquet define them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mase.errors import DataError
from mase.render.wording import counted
from mase_corpora.plan import Manifest
from mase_corpora.schema import ADDED, TABLES
from mase_corpora.storage import Storage

LARGEST = 16 << 20  # bytes
_END = 8  # length of the footer in four bytes, and four more that mark the format
_MARK = b"PAR1"
_LONGEST_INTEGER = 64  # bits

# Types of values in the compact protocol.
_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _MAP, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 11, 12

# Numbers of the fields: of the file, a group of rows, a column in it, the metadata of that, and its statistics.
_GROUPS, _COLUMNS, _METADATA, _STATISTICS, _NULL_COUNT = 4, 1, 3, 12, 3
_NUM_VALUES, _UNCOMPRESSED_SIZE = 5, 6


@dataclass(frozen=True, slots=True)
class Chunk:
    """What the footer says of a column in a group of rows.

    Attributes
    ----------
    num_values
        Number of values, null or not; more than one per row in a list.
    size
        Bytes without compression.
    null_count
        Number of values that are null; None if it does not say.
    """

    num_values: int
    size: int
    null_count: int | None


def read_footer(file: BinaryIO) -> list[list[Chunk]]:
    """Return the columns of each group of rows of a Parquet file."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _END))
    tail = file.read(_END)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MARK or length > min(LARGEST, end - _END):
        raise ValueError("it has no footer of Parquet")
    file.seek(end - _END - length)
    try:
        groups = _Reader(file.read(length)).struct()[_GROUPS]
        return [[_chunk(column[_METADATA]) for column in group[_COLUMNS]] for group in groups]
    except (LookupError, TypeError, AttributeError, RecursionError) as error:  # other types than a footer has
        raise ValueError("its footer is damaged") from error


def _chunk(metadata: dict[int, Any]) -> Chunk:
    nulls = metadata.get(_STATISTICS, {}).get(_NULL_COUNT)
    return Chunk(int(metadata[_NUM_VALUES]), int(metadata[_UNCOMPRESSED_SIZE]), None if nulls is None else int(nulls))


class _Reader:
    """Values in the compact protocol. What they may take is bounded by the bytes that are there."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0
        self._kinds: dict[int, Callable[[], Any]] = {
            _TRUE: lambda: True,
            _FALSE: lambda: False,
            _BYTE: self._byte,
            **dict.fromkeys(_INTEGERS, self._integer),
            _DOUBLE: lambda: self._bytes(8),
            _BINARY: lambda: self._bytes(self._varint()),
            **dict.fromkeys(_LISTS, self._list),
            _MAP: self._map,
            _STRUCT: self.struct,
        }

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct by number. A field that is there twice, one of which is read, is refused."""
        result: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            if number in result:
                raise ValueError(f"its footer has field {number} twice")
            result[number] = self._kinds[header & 15]()
        return result

    def _list(self) -> list[Any]:
        header = self._byte()
        n = self._varint() if header >> 4 == 15 else header >> 4
        read = self._element(header & 15)
        return [read() for _ in range(n)]

    def _map(self) -> None:
        n = self._varint()
        if n:
            kinds = self._byte()
            key, value = self._element(kinds >> 4), self._element(kinds & 15)
            for _ in range(n):
                key(), value()

    def _element(self, kind: int) -> Callable[[], Any]:
        return self._byte if kind in (_TRUE, _FALSE) else self._kinds[kind]

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, n: int) -> None:
        """Pass over n bytes, which nobody asks for."""
        self._at += n
        if self._at > len(self._content):
            raise ValueError("its footer ends early")

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LONGEST_INTEGER:
                raise ValueError("its footer has a number that is too long")
        return number | byte << shift

    def _integer(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)


# Of one file. What we write is far below: a part has some thousand texts.
_LARGEST_FILE = LARGEST_TABLE = LARGEST_PART = 1 << 30  # bytes of a file, of a table read, of a table written
_MOST_ROW_GROUPS, _MOST_VALUES_PER_ROW = 1 << 10, 1 << 10
_MOST_FOOTER_ENTRIES = 1 << 20


def read_table(
    content: bytes,
    schema: pa.Schema,
    place: str,
    columns: Sequence[str] | None = None,
    *,
    remedy: str = "give a table of a run",
) -> pa.Table:
    """Return the columns of a Parquet file with this schema; errors name `place`, and the remedy for a damaged file.

    Columns that were added to the tables since the file was written are null. The table has the metadata of the file.
    """
    if len(content) > _LARGEST_FILE:
        raise DataError(f"{place} has {len(content):,} bytes, expected at most {_LARGEST_FILE:,}; {remedy}")
    try:
        with _opened(content) as file:
            missing = [name for name in schema.names if name in ADDED and name not in file.schema_arrow.names]
            written = pa.schema([field for field in schema if field.name not in missing])
            problem = next(_problems(file, read_footer(BytesIO(content)), written), None)
            if problem is not None:
                raise DataError(f"{place} {problem}; {remedy}")
            wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
            packed = file.read(columns=[name for name in wanted.names if name not in missing], use_threads=False)
            packed.validate()
            size = sum(_unpacked_size(column) for column in packed.columns)
            if size > LARGEST_TABLE:
                raise DataError(f"{place} unpacks to {size:,} bytes, expected at most {LARGEST_TABLE:,}; {remedy}")
            for name in missing:
                if name in wanted.names:
                    packed = packed.append_column(name, pa.nulls(len(packed), schema.field(name).type))
            table = packed.select(wanted.names).cast(wanted).replace_schema_metadata(file.schema_arrow.metadata)
            table.validate(full=True)  # the bytes are UTF-8, and no offset leads out of them
    except DataError:
        raise
    except MemoryError as error:
        raise out_of_memory(place, error, remedy) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        said = str(error).strip()
        raise DataError(f"{place} is not a Parquet table that can be read: {said:.300}; {remedy}") from error
    return table


def out_of_memory(place: str, error: MemoryError, remedy: str) -> DataError:
    """Return the error for a file that memory has no room for. A damaged file may also ask for too much of it."""
    said = str(error).strip() or "no memory left"
    return DataError(
        f"memory ran out while {place} was read ({said:.300}); read it where more memory is free, and only if that "
        f"fails, too, {remedy}"
    )


def _opened(content: bytes) -> pq.ParquetFile:
    """Open a file so that repeated strings are not repeated in memory: a small file could hold terabytes of them."""
    limits = {"thrift_string_size_limit": LARGEST, "thrift_container_size_limit": _MOST_FOOTER_ENTRIES}
    with pq.ParquetFile(pa.BufferReader(content), **limits) as file:
        leaves = [file.schema.column(index) for index in range(file.metadata.num_columns)]
    strings = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    return pq.ParquetFile(pa.BufferReader(content), read_dictionary=strings, **limits)


def _problems(file: pq.ParquetFile, groups: Sequence[Sequence[Chunk]], schema: pa.Schema) -> Iterator[str]:
    """Yield what is wrong with the footer: what it says, and what was expected."""
    metadata, chunks = file.metadata, list(chain.from_iterable(groups))
    result = {field.name: _plain(field.type) for field in file.schema_arrow}
    expected = {field.name: field.type for field in schema}
    if len(result) != len(file.schema_arrow) or list(result) != list(expected):
        known = [name for name in result if name in expected] == list(expected)
        later = " (if a later release wrote it, read it with that release)" if known else ""
        yield (
            f"has the columns {', '.join(file.schema_arrow.names)!r:.300}, "
            f"expected those of this run: {', '.join(expected)!s:.300}{later}"
        )
    for name, wanted in expected.items():
        if result[name] != wanted:
            yield f"has the column {name!r:.80} of type {result[name]!s:.200}, expected {wanted}"
    if metadata.num_row_groups > _MOST_ROW_GROUPS:
        yield f"has {metadata.num_row_groups:,} row groups, expected at most {_MOST_ROW_GROUPS:,}"
    if len(groups) != metadata.num_row_groups or any(len(group) != metadata.num_columns for group in groups):
        yield "has row groups without some of its columns"
    rows = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    if any(n < 0 for n in rows) or sum(rows) != metadata.num_rows:
        yield f"has row groups that do not add up to its {metadata.num_rows:,} rows"
    least = metadata.num_rows * sum(_width(field.type) for field in schema)
    size = max(least, sum(max(chunk.size, 0) for chunk in chunks))
    if size > LARGEST_TABLE:
        yield f"unpacks to {size:,} bytes, expected at most {LARGEST_TABLE:,}"
    most = _MOST_VALUES_PER_ROW * max(metadata.num_rows, 1)
    values = max((chunk.num_values for chunk in chunks), default=0)
    if values > most:
        yield f"has {values:,} values in a column of {metadata.num_rows:,} rows, expected at most {most:,}"


def _width(kind: pa.DataType) -> int:
    """Return the bytes that a row takes at least: a number, or where its string or list begins."""
    return kind.bit_width // 8 if pa.types.is_primitive(kind) else 4


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type with strings in the place of dictionaries of strings."""
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _plain(field.type)) for field in kind])
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _unpacked_size(column: pa.ChunkedArray) -> int:
    """Return the bytes of a column once each row has its own string."""
    return sum(_size(chunk) for chunk in column.chunks)


def _size(values: pa.Array) -> int:
    if pa.types.is_list(values.type):
        return 4 * len(values) + _size(values.flatten())
    if pa.types.is_struct(values.type):
        return sum(_size(part) for part in values.flatten())
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = pc.take(pc.binary_length(values.dictionary), values.indices)
    return int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0) + 4 * len(values)


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
        result = (_PART.fullmatch(name) for name in self.storage.names(_LAST))
        return {int(match[1]) for match in result if match is not None and part_name(int(match[1])) == match[0]}

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
    if content.nbytes > LARGEST_PART:
        raise DataError(
            f"the table {table!r} of part {part} has {content.nbytes:,} bytes, expected at most {LARGEST_PART:,}, "
            "which can be read again; use a smaller part_size"
        )
    sink = pa.BufferOutputStream()
    pq.write_table(content.combine_chunks(), sink, compression="zstd")
    return sink.getvalue()

"""Read a file of a part that anybody may have made: within limits of size, and with the columns that are expected."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mase.corpus.columns import ADDED
from mase.corpus.footer import LARGEST, Chunk, read_footer
from mase.errors import DataError

__all__ = ["LARGEST_TABLE", "out_of_memory", "read_table"]

# Of one file. What we write is far below: a part has some thousand texts.
_LARGEST_FILE = LARGEST_TABLE = 1 << 30
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

    Raises
    ------
    DataError
        If it is not Parquet, has another schema, or is larger than any part of a run when it is unpacked, or memory
        runs out.
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
    found = {field.name: _plain(field.type) for field in file.schema_arrow}
    expected = {field.name: field.type for field in schema}
    if len(found) != len(file.schema_arrow) or list(found) != list(expected):
        known = [name for name in found if name in expected] == list(expected)
        later = " (if a later release wrote it, read it with that release)" if known else ""
        yield (
            f"has the columns {', '.join(file.schema_arrow.names)!r:.300}, "
            f"expected those of this run: {', '.join(expected)!s:.300}{later}"
        )
    for name, wanted in expected.items():
        if found[name] != wanted:
            yield f"has the column {name!r:.80} of type {found[name]!s:.200}, expected {wanted}"
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

"""Records in columns: one Parquet file per target, with a row for each text and method."""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.files import replacing, writing
from mase.sources.files import require_pyarrow
from mase_paper.experiments.records import COLUMNS, FIELDS, Record, Records

__all__ = ["columns_path", "load", "save"]
_INTEGER_LISTS = ("order", "flips", "chance")
_NUMBER_LISTS = ("eraser", "infidelity", "areas")


def columns_path(folder: Path, target: str) -> Path:
    """Return the path of a target's columnar file, which is written when a run ends."""
    return folder / f"{target}.parquet"


def load(path: Path, configurations: Collection[str] | None = None) -> dict[str, Records]:
    """Return the records in a file by configuration; an empty dict if there is no such file.

    Parameters
    ----------
    path
        The columnar file of a target.
    configurations
        The configurations to read; all by default.

    Raises
    ------
    DataError
        If the file cannot be read or does not hold records.
    MissingDependencyError
        If pyarrow is not installed.
    """
    if not path.exists():
        return {}
    pa, parquet = require_pyarrow()
    try:
        # pyarrow opens a path twice, and another run may replace the file in between. An open file stays what it was.
        with path.open("rb") as file:
            table = parquet.read_table(file, page_checksum_verification=True)
    except FileNotFoundError:  # another run removed it
        return {}
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"cannot read {path} ({error}), expected a whole file of records; restore or remove it"
        ) from error
    areas = _schema(pa).field("areas")
    if table.schema == _schema(pa).remove(len(_schema(pa)) - 1):  # an earlier version wrote no areas
        table = table.append_column(areas, pa.array([[]] * len(table), areas.type))
    if table.schema != _schema(pa) or any(column.null_count for column in table.columns):
        raise DataError(
            f"{path} has the columns {', '.join(table.column_names)}, expected those of records, without nulls"
        )
    if configurations is not None:
        table = table.filter([configuration in configurations for configuration in table["spec"].to_pylist()])
    return _by_configuration(table)


def save(path: Path, records: Mapping[str, Records]) -> None:
    """Write records by configuration to a file, atomically, and wait until it is on the disk."""
    pa, parquet = require_pyarrow()
    rows = sorted(_rows(records), key=lambda row: (row[2].number, row[0]))  # similar values side by side compress best
    columns = {
        "spec": [configuration for configuration, _, _ in rows],
        "header": [header for _, header, _ in rows],
        **{
            name: [getattr(record, field) for _, _, record in rows] for name, field in zip(COLUMNS, FIELDS, strict=True)
        },
    }
    with writing(path), replacing(path) as draft:
        parquet.write_table(
            pa.table(columns, schema=_schema(pa)),
            draft,
            compression="zstd",
            compression_level=19,
            use_dictionary=[_leaf(name) for name in columns if name not in _INTEGER_LISTS],
            use_byte_stream_split=[_leaf(name) for name in _INTEGER_LISTS],
            dictionary_pagesize_limit=1 << 24,  # all headers in one dictionary
            write_page_checksum=True,
        )
        with draft.open("rb+") as file:
            os.fsync(file.fileno())


def _schema(pa: Any) -> Any:
    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {"seconds": pa.float64(), "half": pa.bool_()}
    kinds |= dict.fromkeys(_INTEGER_LISTS, pa.list_(pa.int32())) | dict.fromkeys(_NUMBER_LISTS, pa.list_(pa.float64()))
    return pa.schema([("spec", text), ("header", text), *((name, kinds.get(name, pa.int64())) for name in COLUMNS)])


def _leaf(name: str) -> str:
    """Return Parquet's path of the values in a column."""
    return f"{name}.list.element" if name in _INTEGER_LISTS + _NUMBER_LISTS else name


def _rows(by_configuration: Mapping[str, Records]) -> Iterator[tuple[str, str, Record]]:
    """Yield each record with its configuration and its header as JSON."""
    for configuration, records in by_configuration.items():
        headers = [json.dumps(header) for header in records.headers]
        for number, record in records.by_number.items():
            yield configuration, headers[records.header_of[number]], record


def _by_configuration(table: Any) -> dict[str, Records]:
    configurations, headers, *columns = (table[name].to_pylist() for name in table.column_names)
    parsed = {header: json.loads(header) for header in set(headers)}
    columns = [
        list(map(tuple, values)) if name in _INTEGER_LISTS + _NUMBER_LISTS else values
        for name, values in zip(COLUMNS, columns, strict=True)
    ]
    header_indices: dict[str, dict[str, int]] = {}
    by_number: dict[str, dict[int, Record]] = {}
    header_of: dict[str, dict[int, int]] = {}
    for configuration, header, values in zip(configurations, headers, zip(*columns, strict=True), strict=True):
        indices, record = header_indices.setdefault(configuration, {}), Record(*values)
        by_number.setdefault(configuration, {})[record.number] = record
        header_of.setdefault(configuration, {})[record.number] = indices.setdefault(header, len(indices))
    return {
        name: Records(tuple(parsed[header] for header in header_indices[name]), records, header_of[name])
        for name, records in by_number.items()
    }

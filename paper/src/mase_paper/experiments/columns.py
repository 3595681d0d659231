"""Records in columns: one Parquet file for all methods on a target, with a row for each text and method."""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from mase.datasets.table import require_pyarrow
from mase.errors import DataError
from mase.files import replacing, writing
from mase_paper.experiments.records import COLUMNS, Record, Records

__all__ = ["columns_path", "load", "save"]

_INTEGER_LISTS = ("order", "flips", "probability")
_NUMBER_LISTS = ("eraser", "infidelity")


def columns_path(folder: Path, target: str) -> Path:
    """Return where the records of a target are once a run is complete."""
    return folder / f"{target}.parquet"


def load(path: Path, specs: Collection[str] | None = None) -> dict[str, Records]:
    """Return the records in a file by spec, all of them or those of `specs`; none if there is no such file.

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
        table = parquet.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"cannot read {path} ({error}), expected a whole file of records; restore or remove it"
        ) from error
    if table.schema != _schema(pa) or any(column.null_count for column in table.columns):
        raise DataError(
            f"{path} has the columns {', '.join(table.column_names)}, expected those of records, all filled"
        )
    if specs is not None:
        table = table.filter([spec in specs for spec in table["spec"].to_pylist()])
    return _by_spec(table)


def save(path: Path, found: Mapping[str, Records]) -> None:
    """Write records by spec to a file that appears whole or not at all, and is on the disk then.

    Raises
    ------
    DataError
        If it cannot be written.
    MissingDependencyError
        If pyarrow is not installed.
    """
    pa, parquet = require_pyarrow()
    rows = sorted(_rows(found), key=lambda row: (row[2].number, row[0]))  # what is alike stands together
    columns = {
        "spec": [spec for spec, _, _ in rows],
        "header": [header for _, header, _ in rows],
        **{name: [getattr(record, name) for _, _, record in rows] for name in COLUMNS},
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
    """Return what Parquet calls the values of a column."""
    return f"{name}.list.element" if name in _INTEGER_LISTS + _NUMBER_LISTS else name


def _rows(found: Mapping[str, Records]) -> Iterator[tuple[str, str, Record]]:
    """Yield spec, header as JSON and record."""
    for spec, records in found.items():
        headers = [json.dumps(header) for header in records.headers]
        for number, record in records.by_number.items():
            yield spec, headers[records.header_of[number]], record


def _by_spec(table: Any) -> dict[str, Records]:
    specs, headers, *columns = (table[name].to_pylist() for name in table.column_names)
    parsed = {header: json.loads(header) for header in set(headers)}
    columns = [
        list(map(tuple, values)) if name in _INTEGER_LISTS + _NUMBER_LISTS else values
        for name, values in zip(COLUMNS, columns, strict=True)
    ]
    above: dict[str, dict[str, int]] = {}
    by_number: dict[str, dict[int, Record]] = {}
    header_of: dict[str, dict[int, int]] = {}
    for spec, header, values in zip(specs, headers, zip(*columns, strict=True), strict=True):
        own, record = above.setdefault(spec, {}), Record(*values)
        by_number.setdefault(spec, {})[record.number] = record
        header_of.setdefault(spec, {})[record.number] = own.setdefault(header, len(own))
    return {
        spec: Records(tuple(parsed[header] for header in above[spec]), found, header_of[spec])
        for spec, found in by_number.items()
    }

"""Hostile run folders. `REFUSED` must be refused; `READ` is odd, but a run: it is read and shown, or refused."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.hostile.folders import Damage, Place, all_of, cut, linked, nested, pickled, removed, special, written

__all__ = ["READ", "REFUSED"]

_TEXTS, _RESPONSES, _UNITS = (f"{table}/part-00000.parquet" for table in ("texts", "responses", "units"))
_ESCAPE = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202ered\x00"
_BOMB = "x" * 10_000_000


def _asked(**changes: Any) -> Damage:
    """Return the damage that changes what `run.json` says was asked."""

    def damage(place: Place) -> None:
        path = place.folder / "run.json"
        found = json.loads(path.read_text(encoding="utf-8"))
        found["asked"] |= changes
        path.write_text(json.dumps(found), encoding="utf-8")

    return damage


def _manifest(**changes: Any) -> Damage:
    def damage(place: Place) -> None:
        path = place.folder / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return damage


def _table(file: str, change: Callable[[pa.Table], pa.Table], **how: Any) -> Damage:
    """Return the damage that changes the table in a file."""

    def damage(place: Place) -> None:
        path = place.folder / file
        table = change(pq.read_table(path))
        path.unlink()
        pq.write_table(table, path, compression="zstd", **how)

    return damage


def _column(file: str, name: str, change: Callable[[pa.ChunkedArray], Any]) -> Damage:
    """Return the damage that changes a column; its type is the same, or that of what it becomes."""

    def changed(table: pa.Table) -> pa.Table:
        values = change(table.column(name))
        kept = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, table.field(name).type)
        return table.set_column(table.column_names.index(name), name, kept)

    return _table(file, changed)


def _first(file: str, name: str, value: Any) -> Damage:
    """Return the damage that changes the first value of a column."""
    return _column(file, name, lambda column: [value, *column.to_pylist()[1:]])


def _cast(file: str, name: str, kind: pa.DataType) -> Damage:
    return _column(file, name, lambda column: column.cast(kind))


def _all(table: str, name: str, change: Callable[[str], str]) -> Damage:
    """Return the damage that changes all strings of a column in both parts."""
    return all_of(
        *(
            _column(f"{table}/part-{part:05}.parquet", name, lambda column: [change(v) for v in column.to_pylist()])
            for part in (0, 1)
        )
    )


def _everywhere(name: str, change: Callable[[str], str]) -> Damage:
    return all_of(*(_all(table, name, change) for table in ("texts", "responses", "units")))


def _repeated(file: str, times: int) -> Damage:
    return _table(file, lambda table: pa.concat_tables([table] * times))


def _copied(file: str, to: str) -> Damage:
    def damage(place: Place) -> None:
        (place.folder / to).write_bytes((place.folder / file).read_bytes())

    return damage


def _many_rows(file: str, n: int, **strings: str) -> Damage:
    """Return the damage that repeats the first row n times, with other strings: a few bytes on the disk."""

    def many(table: pa.Table) -> pa.Table:
        indices = pa.array(np.zeros(n, np.int32))
        columns = {name: table.column(name).slice(0, 1).combine_chunks() for name in table.column_names}
        columns |= {name: pa.array([value]) for name, value in strings.items()}
        return pa.table(
            {
                name: pa.DictionaryArray.from_arrays(indices, one)
                if pa.types.is_string(one.type)
                else one.take(indices)
                for name, one in columns.items()
            }
        )

    return _table(file, many, row_group_size=n, store_schema=False)


def _in_place_of(file: str) -> Damage:
    def damage(place: Place) -> None:
        (place.folder / file).unlink()
        (place.folder / file).mkdir()

    return damage


def _spliced(file: str, at: int, content: bytes) -> Damage:
    """Return the damage that overwrites bytes, counted from the end."""

    def damage(place: Place) -> None:
        found = bytearray((place.folder / file).read_bytes())
        found[at : at + len(content) or None] = content
        (place.folder / file).write_bytes(bytes(found))

    return damage


def _notes(n: int, message: str = "m") -> Damage:
    return _column(
        _TEXTS, "notes", lambda column: [[{"code": "c", "unit": 0, "message": message}] * n, *column.to_pylist()[1:]]
    )


def _not_utf8(column: pa.ChunkedArray) -> pa.Array:
    raw = pa.array([b"\xff\xfe" for _ in column], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def _swapped(table: pa.Table) -> pa.Table:
    return table.take(pa.array([1, 0, *range(2, len(table))]))


def _interleaved(table: pa.Table) -> pa.Table:
    """Return the units of the first text in two places."""
    return pa.concat_tables([table.slice(0, 1), table.slice(1), table.slice(0, 1)])


_JSON: Mapping[str, str | bytes] = {
    "is empty": "",
    "is no JSON": "{",
    "is not UTF-8": b'{"schema": "mase.run/1", "x": "\xff"}',
    "is a list": "[]",
    "is nested deeply": nested(100_000),
    "is of another schema": '{"schema": "mase.run/99"}',
    "says little": '{"schema": "mase.run/1"}',
    "is a shell script": "#!/bin/sh\ntouch canary\n",
}
_NUMBERS: dict[str, tuple[Any, ...]] = {
    "n_texts": (-1, 10**30, 1.5, "8", None, True),
    "part_size": (0, -4, 10**12, None, "4"),
    "kept": (["row"], ["a", "a"], "abc", [1], {"a": 1}),
    "documents": ("yes", None),
    "seed": ("0", None),
    "model": ([], None),
}

REFUSED: dict[str, Damage] = {
    **{f"run.json {what}": written("run.json", content) for what, content in _JSON.items()},
    **{f"{key} is {value!r:.20}": _asked(**{key: value}) for key, values in _NUMBERS.items() for value in values},
    "run.json is not there": removed("run.json"),
    "run.json is too large": written("run.json", b" " * (65 << 20)),
    "run.json is an endless device": linked("run.json", "/dev/zero"),
    "run.json is a pipe": special("run.json"),
    "run.json is a folder": _in_place_of("run.json"),
    "run.json is a pickle": pickled("run.json"),
    "run.json leads out of the folder": linked("run.json", "/etc/passwd"),
    "labels are numbers": _manifest(labels=[1, 2]),
    **{
        f"{what} of {file}": damage
        for file in (_TEXTS, _RESPONSES, _UNITS)
        for what, damage in {
            "pickle in the place": pickled(file),
            "half": cut(file, 0.5),
            "all but the last byte": cut(file, 0.999),
            "nothing": written(file, b""),
            "only the marks": written(file, b"PAR1PAR1"),
            "a footer that is too long": _spliced(file, -8, b"\xff\xff\xff\x7f"),
            "an encrypted footer": _spliced(file, -4, b"PARE"),
            "a column less": _table(file, lambda table: table.drop_columns(["id"])),
            "a column more": _table(file, lambda table: table.append_column("x", table.column("id"))),
            "a column twice": _table(file, lambda table: table.append_column("id", table.column("id"))),
            "an order of columns": _table(file, lambda table: table.select(table.column_names[::-1])),
            "row of int32": _cast(file, "row", pa.int32()),
            "id of bytes": _cast(file, "id", pa.binary()),
            "row that is null": _first(file, "row", None),
            "id that is null": _first(file, "id", None),
            "id of another text": _first(file, "id", "7"),
            "row beyond the part": _column(file, "row", lambda column: pc.add(column, 4)),
            "row before the part": _first(file, "row", -1),
            "row of 2**62": _first(file, "row", 2**62),
            "id that is not UTF-8": _column(file, "id", _not_utf8),
            "2,000 row groups": _table(
                file, lambda table: table.take(pa.array(np.arange(2000) % len(table))), row_group_size=1
            ),
        }.items()
    },
    "texts out of order": _table(_TEXTS, _swapped),
    "texts twice": _repeated(_TEXTS, 2),
    "texts too few": _table(_TEXTS, lambda table: table.slice(0, 2)),
    "no texts": _table(_TEXTS, lambda table: table.slice(0, 0)),
    "a part twice": _copied(_TEXTS, "texts/part-00001.parquet"),
    "units without their file": removed(_UNITS),
    "units in a pipe": special(_UNITS),
    "units in an endless device": linked(_UNITS, "/dev/zero"),
    "units in a folder": _in_place_of(_UNITS),
    "units that lead out of the folder": linked(_UNITS, "/etc/passwd"),
    "texts that lead out of the folder": linked(_TEXTS, "/etc/passwd"),
    "units that lead to themselves": linked(_UNITS, "part-00000.parquet"),
    "responses twice": _repeated(_RESPONSES, 2),
    "units in two places": _table(_UNITS, _interleaved),
    "units twice": _repeated(_UNITS, 2),
    "units out of order": _table(_UNITS, _swapped),
    **{f"score {value}": _first(_UNITS, "score", value) for value in (np.nan, np.inf, -np.inf, None)},
    **{f"standard error {value}": _first(_UNITS, "standard_error", value) for value in (np.nan, np.inf, -1.0)},
    **{f"probability {value}": _first(_TEXTS, "probability", value) for value in (np.nan, 7.0, -1.0, None)},
    **{f"value {value}": _first(_RESPONSES, "value", value) for value in (np.nan, np.inf, None)},
    **{f"position {value}": _first(_UNITS, "position", value) for value in (-1, 1, 2**31 - 1, None)},
    **{f"end {value}": _first(_UNITS, "end", value) for value in (-1, 0, 2**31 - 1, None)},
    **{f"rank {value}": _first(_UNITS, "rank", value) for value in (-1, 0, None)},
    "start -1": _first(_UNITS, "start", -1),
    "n_queries -1": _first(_TEXTS, "n_queries", -1),
    "no prediction": _first(_TEXTS, "prediction", None),
    "no link": _first(_RESPONSES, "link", None),
    "no word": _first(_UNITS, "text", None),
    "scores of float32": _cast(_UNITS, "score", pa.float32()),
    "scores of strings": _cast(_UNITS, "score", pa.string()),
    "scores of decimals": _column(_UNITS, "score", lambda column: pa.array([0] * len(column), pa.decimal128(38, 0))),
    "notes of strings": _column(_TEXTS, "notes", lambda column: pa.array([None] * len(column), pa.string())),
    "10**8 rows in a few bytes": _many_rows(_UNITS, 10**8 // 4),
    "terabytes of one id": _many_rows(_UNITS, 100_000, id=_BOMB),
    "terabytes of one word": _many_rows(_UNITS, 100_000, text=_BOMB),
    "10**6 notes": _notes(10**6),
    "gigabytes of notes": _notes(150, _BOMB),  # beyond the limit of 1 GiB, and within the memory of the tests
}


def _in_fields(document: str) -> str:
    return document[:-2] + ', "evil": ' + nested(50_000) + "}]"


READ: dict[str, Damage] = {
    "documents of large strings": _cast(_TEXTS, "document", pa.large_string()),
    "ids that are commands of the terminal": _everywhere("id", lambda value: f"{_ESCAPE}{value}"),
    "ids that are markup": _everywhere("id", lambda value: f"<script>alert({value})</script>"),
    "ids that are formulas": _everywhere("id", lambda value: f"=cmd|' /C calc'!A{value}"),
    "ids that are SQL": _everywhere("id", lambda value: f"'; DROP TABLE pairs; ATTACH '/tmp/x'; -- {value}"),
    "ids that are long": _everywhere("id", lambda value: "x" * 100_000 + value),
    "labels that are paths": all_of(
        _all("texts", "prediction", lambda _: "../../x"),
        _all("responses", "response", lambda _: "../../x"),
        _all("units", "response", lambda _: "../../x"),
    ),
    "labels that are commands of the terminal": all_of(
        _all("texts", "prediction", lambda value: _ESCAPE + value),
        _all("responses", "response", lambda value: _ESCAPE + value),
        _all("units", "response", lambda value: _ESCAPE + value),
    ),
    "links that are commands of the terminal": _all("responses", "link", lambda _: _ESCAPE),
    "words that are commands of the terminal": _all("units", "text", lambda value: _ESCAPE + value),
    "words that are markup": _all("units", "text", lambda _: "</script><img src=x onerror=alert(1)>"),
    "words that are long": _all("units", "text", lambda value: value * 100_000),
    "fields that no document has": _all("units", "field", lambda _: "../../x"),
    "documents that are no JSON": _all("texts", "document", lambda _: "{"),
    "documents that are nested deeply": _all("texts", "document", _in_fields),
    "documents that are lists": _all("texts", "document", lambda _: nested(50_000, "[", "]")),
    "documents of commands of the terminal": _all(
        "texts", "document", lambda _: json.dumps([{"name": "text", "text": _ESCAPE * 9, "fixed": False}])
    ),
    "kept columns that are SQL": all_of(
        _asked(kept=['x"; DROP TABLE texts; --']),
        *(
            _table(
                f"texts/part-{part:05}.parquet",
                lambda table: table.add_column(3, 'x"; DROP TABLE texts; --', pa.array(["1"] * len(table))),
            )
            for part in (0, 1)
        ),
    ),
    "100 notes": _notes(100, _ESCAPE),
    "scores of 1e308": _column(_UNITS, "score", lambda column: [1e308 * (-1) ** i for i in range(len(column))]),
    "standard errors of 1e308": _column(_UNITS, "standard_error", lambda column: [1e308] * len(column)),
    "standard errors of 0": _column(_UNITS, "standard_error", lambda column: [0.0] * len(column)),
    "n_queries 0": _column(_TEXTS, "n_queries", lambda column: [0] * len(column)),
    "no units": _table(_UNITS, lambda table: table.slice(0, 0)),
    "no responses": _table(_RESPONSES, lambda table: table.slice(0, 0)),
    "parts beyond the plan": _copied(_TEXTS, "texts/part-99999.parquet"),
    "numbers of parts of 15 digits": _copied(_TEXTS, "texts/part-999999999999999.parquet"),
    "texts in a pipe": special(_TEXTS),
    "texts in a folder": _in_place_of(_TEXTS),
    "10**15 texts": _asked(n_texts=10**15),
    "a model that is a command of the terminal": _asked(model={"name": _ESCAPE}),
    "settings that are nested": _asked(method={"a": json.loads(nested(400))}),
    "a script beside": written("texts/__init__.py", "import os; os.mkdir('canary')"),
}

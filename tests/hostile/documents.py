"""Hostile tables of documents with several fields, for `mase explain` and `mase run`."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.hostile.tables import Table

__all__ = ["DOCUMENTS"]

_MODEL = ("-m", f"{Path(__file__).with_name('of_records.py')}:judge")
_FIELDS = ("--fields", "title,body,age", "--background", "age=40")
_GOOD = {"title": "a good film", "body": "it is", "age": 7}


def _rows(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def _table(content: bytes | Callable[[], bytes], results: int | None, *arguments: str, name: str = "a.jsonl") -> Table:
    return Table(name, content, results, (*_MODEL, *(arguments or _FIELDS)))


def _cells(column: str, *values: object) -> Table:
    """Return a table whose first row is good, and whose others have these cells in a column."""
    return _table(_rows(_GOOD, *(_GOOD | {column: value} for value in values)), 1 + len(values))


DOCUMENTS: dict[str, Table] = {
    "texts of wrong types": _cells("body", None, 5, True, [], {}, ["it"], {"en": "it"}, [[[]]], 1e308, ""),
    "numbers of wrong types": _cells("age", None, "old", "", [], {}, [7], "7", " 7 ", True, "1e999", "nan", "0x7"),
    "numbers beyond all bounds": _table(
        _rows(_GOOD) + b'{"title": "a", "body": "b", "age": 1e999}\n{"title": "a", "body": "b", "age": NaN}\n'
        b'{"title": "a", "body": "b", "age": ' + b"9" * 400 + b"}\n"
        b'{"title": "a", "body": "b", "age": "' + b"9" * 5_000 + b'"}\n'
        b'{"title": "a", "body": "b", "age": ' + b"9" * 5_000 + b"}\n", 6,
    ),
    "columns that rows lack": _table(_rows(_GOOD, {"title": "a"}, {"body": "b"}, {}, {"x": 1}, _GOOD), 6),
    "no row has a column": _table(_rows({"title": "a", "body": "b"}), None),
    "rows that are no objects": _table(_rows(_GOOD, [], 5, "text", None) + b'{"title": "a', 6),
    "nesting of 100,000 levels": _table(
        _rows(_GOOD) + b'{"title": "a", "age": 1, "body": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", 2
    ),
    "lone surrogates": _cells("body", "\ud800", "a \udfff b"),
    "control characters": _cells("body", "a \x00 b", "\x1b[31m red", "a\u202eb", "\u2028"),
    "line ends within fields": _cells("body", "one\ntwo\r\nthree", "\n", "\n\n a", "a\n"),
    "fields of white space": _cells("title", "", " ", "\t", "\u00a0"),
    "a field of 2 MB": _table(lambda: _rows(_GOOD | {"body": "a" * 2_000_000}, _GOOD), 2),
    "names that are odd": _table(
        _rows({"a=b": "good", "c,d": "film", "": "x", "text": "y", "\u202e": "z"}), 1,
        "--fields", 'a=b,"c,d",text,\u202e',
    ),
    "names of other things": _table(
        _rows({"score": "good", "field": "film", "id": "x", "__class__": "y", "text_pair": "z"}), 1,
        "--fields", "score,field,id,__class__,text_pair",
    ),
    "a name that is empty": _table(_rows(_GOOD), None, "--fields", "title,,body"),
    "a name twice": _table(_rows(_GOOD), None, "--fields", "title,title"),
    "fixed that is no field": _table(_rows(_GOOD), None, *_FIELDS, "--fixed", "author"),
    "background that is no field": _table(_rows(_GOOD), None, "--fields", "title", "--background", "author=1"),
    "background of another type": _table(_rows(_GOOD), None, "--fields", "title,age", "--background", "age=old"),
    "number without background": _table(_rows(_GOOD, _GOOD), 2, "--fields", "title,age"),
    "all fields fixed": _table(_rows(_GOOD), 1, "--fields", "title,body", "--fixed", "title,body"),
    "CSV: 2,000 fields": _table(
        ",".join(f"f{i}" for i in range(2_000)).encode() + b"\n" + b"x," * 1_999 + b"x\n", 1,
        "--fields", ",".join(f"f{i}" for i in range(2_000)), name="a.csv",
    ),
    "CSV: too few and too many cells": _table(
        b"title,body,age\na,b,1\na,b\na,b,1,2\n,,\n", 4, name="a.csv"
    ),
    "columns of no table": _table(b"good film\n", None, name="a.txt"),
}  # fmt: skip

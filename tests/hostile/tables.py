"""Hostile tables of texts: the file's name, its content, and how many results a command must write of it."""

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.hostile.folders import nested

__all__ = ["RUN_TABLES", "TABLES", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A file of texts.

    `results` is the number of JSON lines that it must give, failures included. None means that it is refused.
    """

    name: str
    content: bytes | Callable[[], bytes]
    results: int | None
    arguments: tuple[str, ...] = field(default=())

    def bytes(self) -> bytes:
        """Return the content."""
        return self.content if isinstance(self.content, bytes) else self.content()


def _parquet(column: object, **others: object) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"text": column} | others), file)
    return file.getvalue()


def _twice() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["good"]), pa.array(["bad"])], names=["text", "text"]), file)
    return file.getvalue()


def _bomb() -> bytes:
    """Return 10 MB of one repeated text, which Parquet stores in a few kilobytes."""
    return _parquet(["good film " * 100_000] * 10)


def _rows(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


TABLES: dict[str, Table] = {
    "CSV: empty": Table("a.csv", b"", None),
    "CSV: heading only": Table("a.csv", b"text,label\n", None),
    "CSV: without the column": Table("a.csv", b"words,label\ngood film,pos\n", None),
    "CSV: quotes never closed": Table("a.csv", b'text,label\ngood film,pos\n"bad film,neg\n' + b"x,y\n" * 50, None),
    "CSV: quotes torn in the first row": Table("a.csv", b'text\n"good" film" x\n', None),
    "CSV: NUL": Table("a.csv", b"text,label\ngood\x00film,pos\nbad film,neg\n", 2),
    "CSV: column twice": Table("a.csv", b"text,text\ngood film,bad film\n", None),
    "CSV: too few and too many fields": Table("a.csv", b"text,label\ngood film\nbad film,neg\na,b,c\n", 3),
    "CSV: cell of 100 MB": Table("a.csv", lambda: b"text\n" + b"good film " * 10_000_000 + b"\nbad film\n", 2),
    "CSV: 20,000 columns": Table(
        "a.csv", b"text," + b",".join(b"c%d" % i for i in range(20_000)) + b"\ngood" + b",x" * 20_000 + b"\n", 1
    ),
    "CSV: not UTF-8": Table("a.csv", b"text\ngood film\n\xff\xfe bad\n", None),
    "CSV: UTF-16": Table("a.csv", "text\ngood film\n".encode("utf-16"), None),
    "CSV: byte order mark": Table("a.csv", b"\xef\xbb\xbftext\ngood film\n", 1),
    "CSV: line ends within quotes": Table("a.csv", b'text,label\r\n"good\r\nfilm",pos\r\nbad film,neg\r\n', 2),
    "CSV: carriage returns only": Table("a.csv", b"text\rgood film\rbad film\r", 2),
    "CSV: formulas": Table("a.csv", b"text\n\"=cmd|' /C calc'!A0 good\"\n+1 good\n@SUM(1) good\n", 3),
    "CSV: semicolons": Table("a.csv", b"text;label\ngood film;pos\n", 1),
    "CSV: gzipped": Table("a.csv", gzip.compress(b"text\ngood film\n"), None),
    "CSV: packed": Table("a.csv.gz", gzip.compress(b"text\ngood film\n"), 1),
    "CSV: packed and cut short": Table("a.csv.gz", gzip.compress(b"text\ngood film\n")[:-9], None),
    "CSV: packed zeros, 200 MB": Table("a.csv.gz", lambda: gzip.compress(b"text\n" + bytes(200 << 20)), None),
    "CSV: packed rows, 200 MB": Table(
        "a.csv.gz", lambda: gzip.compress(b"text\n" + (b"good film " * 10 + b"\n") * (2 << 20)), None
    ),
    "lines: packed zeros, 200 MB": Table("a.txt.gz", lambda: gzip.compress(bytes(200 << 20)), None),
    "CSV: empty texts": Table("a.csv", b'text,label\n"",pos\n"  ",neg\ngood film,pos\n', 3),
    "TSV: quotes within a field": Table("a.tsv", b'text\tlabel\nthe "good" film\tpos\n', 1),
    "TSV: binary": Table("a.tsv", bytes(range(256)) * 100, None),
    "JSONL: empty": Table("a.jsonl", b"", None),
    "JSONL: torn last line": Table("a.jsonl", _rows({"text": "good film"}) + b'{"text": "bad fi', 2),
    "JSONL: nested 100,000 deep": Table("a.jsonl", _rows({"text": "good film"}) + nested(100_000).encode() + b"\n", 2),
    "JSONL: nested within a row": Table(
        "a.jsonl", b'{"text": "good film", "x": ' + nested(100_000).encode() + b"}\n" + _rows({"text": "bad"}), 2
    ),
    "JSONL: numbers of 10,000 digits": Table(
        "a.jsonl", b'{"text": "good film", "id": ' + b"9" * 10_000 + b"}\n" + _rows({"text": "bad"}), 2
    ),
    "JSONL: keys twice": Table("a.jsonl", b'{"text": "good", "text": "bad"}\n' + _rows({"text": "bad film"}), 2),
    "JSONL: lone surrogate": Table("a.jsonl", b'{"text": "good \\ud800 film"}\n' + _rows({"text": "bad film"}), 2),
    "JSONL: NaN and null": Table("a.jsonl", b'{"text": NaN}\n{"text": null}\n{"text": "good film"}\n[]\n5\n', 5),
    "JSONL: one array": Table("a.jsonl", b'[{"text": "good film"}]', None),
    "JSONL: texts that are no strings": Table(
        "a.jsonl", _rows(*({"text": value} for value in (5, [], {}, True, "good"))), 5
    ),
    "JSONL: cell of 2 MB": Table("a.jsonl", lambda: _rows({"text": "good film " * 200_000}, {"text": "bad film"}), 2),
    "Parquet: empty": Table("a.parquet", b"", None),
    "Parquet: no Parquet": Table("a.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1", None),
    "Parquet: cut short": Table("a.parquet", lambda: _parquet(["good film"] * 1000)[:-50], None),
    "Parquet: damaged within": Table(
        "a.parquet", lambda: _parquet(["good film"]).replace(b"good film", b"\xff\xfe\xfd film"), None
    ),
    "Parquet: numbers": Table("a.parquet", lambda: _parquet([1, 2]), None),
    "Parquet: nulls": Table("a.parquet", lambda: _parquet(["good film", None]), 2),
    "Parquet: column twice": Table("a.parquet", _twice, None),
    "Parquet: bytes": Table("a.parquet", lambda: _parquet([b"good film", b"\xff"]), None),
    "Parquet: bomb of 10 MB": Table("a.parquet", _bomb, 10),
    "Parquet: header of 2 GB": Table("a.parquet", b"PAR1" + b"\x00" * 20 + b"\xff\xff\xff\x7fPAR1", None),
    "lines: empty": Table("a.txt", b"", None),
    "lines: blank": Table("a.txt", b"\n\n  \n", None),
    "lines: not UTF-8": Table("a.txt", b"good film\n\xff\xfe\nbad film\n", 3),
    "lines: UTF-16": Table("a.txt", "good film\n".encode("utf-16"), None),
    "lines: NUL and control characters": Table("a.txt", b"good\x00film\nbad \x1b[31m film\n", 2),
    "lines: without an end": Table("a.txt", b"good film\nbad film", 2),
    "lines: other line ends": Table("a.txt", "good film\u2028the\x85end\n".encode(), 1),
    "lines: one of 5 MB": Table("a.txt", lambda: b"good film " * 500_000, 1),
    "lines: UTF-8 cut within a character": Table("a.txt", "good film é".encode()[:-1], None),
    "lines: column of no table": Table("a.txt", b"good film\n", None, ("--text-column", "text")),
}


def _run(name: str, content: bytes | Callable[[], bytes], results: int | None, *arguments: str) -> Table:
    """Return a table with the arguments of `mase run`, whose results are rows of the run."""
    return Table(name, content, results, arguments)


_IDS = ("--id-column", "id")
# Tables for `mase run`, where ids and kept columns join the texts.
RUN_TABLES: dict[str, Table] = {
    "ids: twice": _run("a.csv", b"id,text\nx,good\ny,bad\nx,dull\n", None, *_IDS),
    "ids: empty": _run("a.csv", b"id,text\nx,good\n,bad\n", None, *_IDS),
    "ids: lone surrogate": _run("a.jsonl", b'{"id": "\\ud800", "text": "good"}\n', None, *_IDS),
    "ids: mixed types": _run("a.jsonl", _rows({"id": 1, "text": "good"}, {"id": "1", "text": "bad"}), None, *_IDS),
    "ids: no column": _run("a.csv", b"text\ngood\n", None, *_IDS),
    "ids: unreadable row": _run("a.jsonl", b'{"id": 1, "text": "good"}\n{"id": 2, "te\n', 2, *_IDS),
    "texts: missing": _run("a.jsonl", _rows({"text": "good"}, {"text": None}, {}, {"x": 1}), 4),
    "texts: mixed types": _run("a.jsonl", _rows(*({"text": value} for value in ("good", 5, [], {}, True))), 5),
    "texts: lone surrogate": _run("a.jsonl", _rows({"text": "good \ud800"}, {"text": "bad"}), 2),
    "kept: name of ours": _run("a.csv", b"text,error\ngood,x\n", None, "--keep", "error"),
    "kept: name of ours, renamed": _run("a.csv", b"text,error\ngood,x\n", 1, "--keep", "error=theirs"),
    "kept: twice": _run("a.csv", b"text,x,y\ngood,1,2\n", None, "--keep", "x,y=x"),
    "kept: missing": _run("a.csv", b"text\ngood\n", None, "--keep", "label"),
    "kept: mixed types": _run(
        "a.jsonl",
        _rows(*({"text": "good", "x": value} for value in (5, [1, {}], None, "\ud800", 1e999))),
        5, "--keep", "x",
    ),
    "CSV: semicolons": _run("a.csv", b"text;label\ngood film;pos\n", 1, "--keep", "label"),
    "CSV: formulas": _run("a.csv", b"text,x\n=1+1 good,=cmd()\n", 1, "--keep", "x"),
    "CSV: cell of 100 MB": _run("a.csv", lambda: b"text\n" + b"good film " * 10_000_000 + b"\nbad film\n", 2),
    "CSV: quotes never closed": _run("a.csv", b'text\n"bad film\n' + b"x\n" * 50, None),
    "ending: unknown, one text per line": _run("a.review", b"good film\n\xff\nbad film\n", 3),
    "ending: of a document": _run("a.xlsx", b"good film\n", None),
}  # fmt: skip

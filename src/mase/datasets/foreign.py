"""Unsupported files, recognized by their suffix or first bytes, each with a remedy."""

from pathlib import Path

from mase.datasets.unpacked import format_of
from mase.errors import DataError

__all__ = ["check_beginning", "check_ending"]

_UNPACK = "unpack it first, as with unzip, zstd or tar"
_AS_TABLE = "save it as CSV (UTF-8), or as Parquet"
_AS_LINES = "write it as .jsonl, one JSON object per line"
_AS_TEXT = "save it as plain text (UTF-8), one text per line"
_ENDINGS = (
    dict.fromkeys((".bgz", ".zst", ".lz4", ".br", ".z", ".tgz", ".zip", ".7z", ".rar", ".tar"), _UNPACK)
    | dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), _AS_TABLE)
    | dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".rds", ".sas7bdat"), _AS_TABLE)
    | dict.fromkeys((".db", ".sqlite", ".sqlite3", ".h5", ".hdf5", ".npy", ".npz", ".pkl", ".pickle"), _AS_TABLE)
    | dict.fromkeys((".json",), _AS_LINES)
    | dict.fromkeys((".doc", ".docx", ".odt", ".pages", ".rtf", ".pdf", ".epub", ".ppt", ".pptx"), _AS_TEXT)
)
_MAGIC = {
    b"\x1f\x8b": "name it .gz, as in reviews.csv.gz",
    b"BZh": "name it .bz2, as in reviews.csv.bz2",
    b"\xfd7zXZ\x00": "name it .xz, as in reviews.csv.xz",
    b"\x28\xb5\x2f\xfd": _UNPACK,  # Zstandard
    b"7z\xbc\xaf\x27\x1c": _UNPACK,
    b"PK\x03\x04": f"{_UNPACK}, or if it is a document, save it as CSV or plain text",  # zip, and Office in it
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "save it as CSV or plain text (UTF-8)",  # Office before 2007
    b"%PDF-": _AS_TEXT,
    b"{\\rtf": _AS_TEXT,
    b"PAR1": "name it .parquet",
    b"SQLite format 3\x00": _AS_TABLE,
    b"\x93NUMPY": _AS_TABLE,
}


def check_ending(path: Path) -> None:
    """Check that a file does not have the suffix of an archive, a document or an unsupported table.

    Raises
    ------
    DataError
        If it has. The message says what to do.
    """
    remedy = _ENDINGS.get(format_of(path))
    if remedy is not None:
        raise _foreign(repr(str(path)), remedy)


def check_beginning(name: str, beginning: bytes) -> None:
    """Check that the first bytes of `name` are not those of an archive, a document or a Parquet table.

    Raises
    ------
    DataError
        If they are. The message says what to do.
    """
    remedy = next((remedy for magic, remedy in _MAGIC.items() if beginning.startswith(magic)), None)
    if remedy is not None:
        raise _foreign(name, remedy)


def _foreign(name: str, remedy: str) -> DataError:
    return DataError(f"{name} is neither lines of text nor a supported table; {remedy}")

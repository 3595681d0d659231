"""Outputs: the file formats of results; a format's name is its file suffix.

>>> from mase.outputs import form_of
>>> form_of("reviews.csv"), form_of("results")
('csv', 'jsonl')
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mase.errors import OptionError
from mase.registry import Registry, lazy_names

if TYPE_CHECKING:
    from mase.outputs.formats import Output as Output
    from mase.outputs.formats import OutputFile as OutputFile

__all__ = ["OUTPUTS", "Output", "OutputFile", "form_of"]

OUTPUTS = Registry(
    "output",
    {
        "jsonl": "mase.outputs.formats:JsonLines",
        "ndjson": "mase.outputs.formats:JsonLines",
        "json": "mase.outputs.formats:JsonLines",
        "csv": "mase.outputs.formats:CsvTable",
        "parquet": "mase.outputs.formats:ParquetTable",
        "html": "mase.outputs.formats:HtmlPage",
        "htm": "mase.outputs.formats:HtmlPage",
        "txt": "mase.outputs.formats:TextFile",
    },
    "mase.outputs",
)


def form_of(path: str | os.PathLike[str]) -> str:
    """Return the name of the output for a file name; a file without a suffix gets lines of JSON.

    Raises
    ------
    OptionError
        If no output has this suffix.
    """
    suffix = Path(path).suffix[1:].lower()
    if suffix and suffix not in OUTPUTS:
        known = ", ".join(f".{name}" for name in OUTPUTS.names)
        raise OptionError(f"{os.fspath(path)!r} ends in .{suffix}, expected one of {known}; rename the file")
    return suffix or "jsonl"


# Imported on first use: these load NumPy, which the names above do not.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__, __all__, dict.fromkeys(("Output", "OutputFile"), "mase.outputs.formats")
    )

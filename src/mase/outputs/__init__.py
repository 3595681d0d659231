"""Outputs: the file formats of results. One module per format; a format's name is its file suffix.

>>> from mase.outputs import form_of
>>> form_of("reviews.csv"), form_of("results")
('csv', 'jsonl')
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mase.errors import OptionError
from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.outputs.file import OutputFile as OutputFile
    from mase.outputs.protocol import Output as Output

__all__ = ["OUTPUTS", "Output", "OutputFile", "form_of"]

OUTPUTS = Registry(
    "output",
    {
        "jsonl": "mase.outputs.json_lines:JsonLines",
        "ndjson": "mase.outputs.json_lines:JsonLines",
        "json": "mase.outputs.json_lines:JsonLines",
        "csv": "mase.outputs.csv:CsvTable",
        "parquet": "mase.outputs.parquet:ParquetTable",
        "html": "mase.outputs.html:HtmlPage",
        "htm": "mase.outputs.html:HtmlPage",
        "txt": "mase.outputs.terminal:TextFile",
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
        __name__,
        __all__,
        {
            "Output": "mase.outputs.protocol",
            "OutputFile": "mase.outputs.file",
        },
    )

"""The program of the process that reads a corpus and writes its report for the server."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, NoReturn

import msgspec

from mase.corpus.folder import Folder
from mase.corpus.manifest import Manifest
from mase.corpus.opened import Run, open_run
from mase.errors import DataError, MaseError
from mase.processes import pipes
from mase.report.folder import write_report
from mase.report.page import policy
from mase.serve.corpora_message import Message
from mase.serve.corpora_results import run_of_results
from mase.summary.summarising import summarise

__all__ = ["main", "write_corpus"]

# How often each part is read: by the summary (texts, responses, units, units and texts for the examples), and by the
# list (responses, units, texts).
_READINGS = 8
# Seconds between two messages.
_PAUSE = 0.2


def main(source: str, folder: str, label_column: str, group_column: str) -> None:
    """Write the report of a corpus; "" stands for no column. Each message is a line of JSON on standard output."""
    messages, answers = pipes()
    Thread(target=_end_with_server, args=(messages,), daemon=True).start()

    def tell(message: Message) -> None:
        answers.write(msgspec.json.encode(message) + b"\n")
        answers.flush()

    try:
        page = write_corpus(source, Path(folder), label_column or None, group_column or None, _paused(tell))
        tell(Message(1.0, policy=policy(page.read_text(encoding="utf-8"))))
    except MaseError as error:
        tell(Message(error=type(error).__name__, message=str(error)))
    except Exception as error:  # noqa: BLE001 (anybody may have made the corpus)
        said = " ".join(f"{type(error).__name__}: {error}".split())
        tell(Message(error=DataError.__name__, message=f"{source!r} cannot be shown ({said:.500})"))


def write_corpus(
    source: str, folder: Path, label_column: str | None, group_column: str | None, tell: Callable[[float], None]
) -> Path:
    """Write the report of a run or a file of results to the folder `report` in a folder, and return its page.

    Parameters
    ----------
    source
        Folder or URI of a run, or a file of results. The columns are of runs; a file of results has none.
    folder
        An existing folder.
    label_column, group_column
        As of `mase.summary.summarise`.
    tell
        Is called with the share that is done.
    """
    if "://" in source or Path(source).is_dir():
        run, begun = open_run(source), 0.0
    else:
        run, begun = run_of_results(Path(source), folder / "run", lambda share: tell(share / 2)), 0.5
        label_column = group_column = None
    watched = _Watched(run.folder, run.manifest, lambda share: tell(begun + (1 - begun) * share))
    summary = summarise(watched, label_column=label_column, group_column=group_column)
    return write_report(summary, folder / "report", workbench="/")


class _Watched(Run):
    """A run that tells how much of it was read."""

    def __init__(self, folder: Folder, manifest: Manifest, tell: Callable[[float], None]) -> None:
        super().__init__(folder, manifest)
        self._n_read, self._tell = 0, tell

    def part(self, table: str, part: int) -> Any:
        """Return a table of a part."""
        found = super().part(table, part)
        self._n_read += 1
        self._tell(self._n_read / (_READINGS * len(self.parts)))
        return found


def _paused(tell: Callable[[Message], None]) -> Callable[[float], None]:
    """Return a function that tells a share, but not more often than anybody wants to know."""
    told = 0.0

    def pause(share: float) -> None:
        nonlocal told
        if time.monotonic() - told >= _PAUSE:
            told = time.monotonic()
            tell(Message(share))

    return pause


def _end_with_server(messages: BinaryIO) -> NoReturn:
    """End this process when the server closes the pipe, or has ended."""
    messages.read()
    os._exit(1)

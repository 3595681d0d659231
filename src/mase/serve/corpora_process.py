"""The process that reads a corpus, seen from the server: a corpus of anybody costs no more than its own page."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from mase.errors import WorkerError
from mase.models.runtime import ONE_THREAD
from mase.processes import command, ending
from mase.serve.corpora_message import Message

__all__ = ["Reading"]


class Reading:
    """A process that reads a corpus and writes its report.

    Parameters
    ----------
    source, folder, label_column, group_column
        As of `mase.serve.corpora_child.write_corpus`.
    """

    def __init__(self, source: str, folder: Path, label_column: str | None, group_column: str | None) -> None:
        arguments = (source, os.fspath(folder), label_column or "", group_column or "")
        scratch = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), os.fspath(folder))  # which the server deletes in any case
        try:
            self._popen = subprocess.Popen(
                command("mase.serve.corpora_child", *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD | scratch,
            )
        except (OSError, ValueError) as error:
            raise WorkerError(f"a process that reads {source!r:.200} cannot be started: {error}") from error

    def follow(self, tell: Callable[[float], None]) -> Message:
        """Call `tell` with each share of the work that is done, and return the last message."""
        assert self._popen.stdout is not None
        last = Message()
        with self._popen:
            for line in self._popen.stdout:
                if line.endswith(b"\n"):  # else it was ended in the middle of it
                    last = msgspec.json.decode(line, type=Message)
                    tell(last.share)
        if not last.policy and last.error is None:
            how = ending(self._popen.returncode)
            message = f"the process that read the corpus {how} before it was done; reload this page to try again"
            return Message(error=WorkerError.__name__, message=message)
        return last

    def end(self) -> None:
        """Kill the process; `follow` then returns."""
        self._popen.kill()

"""The archive of a chat model: every answer that was paid for, in a file of JSON lines.

An answer is appended before it is used, so a process that is killed loses at most the answers that were under way.
"""

import errno
import hashlib
import json
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from mase.errors import DataError, LockedError
from mase.files import cannot_read, cannot_write
from mase.platforms import lock

SCHEMA = "mase.chat/1"
_MODE = 0o600  # prompts are private

Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a chat model.

    Attributes
    ----------
    text
        The answer; empty if the model answered with something else, such as a call of a tool.
    prompt_tokens, completion_tokens
        What the server counted; None where nobody counted.
    ended
        Why it ended: "stop", "length" (a limit cut it off), "tool" (a call of a tool in place of text) or "refusal".
    n_rejected
        Requests before it that brought no answer and were charged; the tokens are theirs, too.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    ended: str = "stop"
    n_rejected: int = 0


@dataclass(frozen=True)
class Request:
    """What an answer is kept under."""

    address: str  # of the server; empty for a function
    model: str
    parameters: Mapping[str, Any]  # sent with every request, as plain JSON types
    messages: Sequence[Message]
    repeat: int = 0  # of a model whose answers vary
    code: str = ""  # of a function: see `mase.models.chat.code`

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "code" or value}

    @cached_property
    def key(self) -> str:
        """The checksum of all of this."""
        return hashlib.sha256(json.dumps([*self._fields.values()], sort_keys=True).encode()).hexdigest()

    def line(self, reply: Reply) -> bytes:
        """Return the line of the archive that holds an answer."""
        return json.dumps({"schema": SCHEMA, **self._fields, "reply": asdict(reply)}).encode() + b"\n"


class Archive:
    """A file of answers, which one process at a time writes and nobody but its owner reads.

    Attributes
    ----------
    replies
        The answers by the keys of their requests.
    repaired
        Whether the last line was damaged, and removed.

    Raises
    ------
    LockedError
        If another process, or another model of this one, writes the file.
    DataError
        If the file cannot be read or written, or is something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.repaired, self._lock = Path(path), False, Lock()
        self.replies: dict[str, Reply] = {}
        try:
            is_other = self.path.exists() and not self.path.is_file()  # a pipe or a device would wait for ever
            if is_other:
                raise OSError(errno.EINVAL, "it is no regular file")
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, _MODE)
        except (OSError, ValueError) as error:
            raise cannot_write(self.path, error) from error
        self._file: BinaryIO = os.fdopen(descriptor, "r+b", buffering=0)
        weakref.finalize(self, self._file.close)  # once nobody uses the model, others can write
        try:
            self._read()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Let others write the file."""
        self._file.close()

    def add(self, request: Request, reply: Reply) -> None:
        """Append an answer, and hand it to the operating system before this returns."""
        line = memoryview(request.line(reply))
        with self._lock:
            end = self._file.seek(0, os.SEEK_END)
            try:
                while line:
                    line = line[self._file.write(line) :]
            except OSError as error:
                self._file.truncate(end)  # a part of a line would damage the next one
                raise cannot_write(self.path, error) from error
            self.replies[request.key] = reply

    def _read(self) -> None:
        """Lock the file, read the answers, and cut off a last line that a kill left incomplete."""
        if not lock(self._file):
            raise LockedError(
                f"archive {str(self.path)!r} is being written by another process or model, expected one writer at a "
                "time; wait for it to end, or name another file"
            )
        try:
            content, start = self._file.read(), 0
        except OSError as error:
            raise cannot_read(self.path, error) from error
        for number, line in enumerate(content.splitlines(keepends=True), 1):
            try:
                request, reply = _parsed(line)
            except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
                is_last, is_torn = start + len(line) == len(content), _is_torn(line)
                if not (is_last and is_torn) or (start == 0 and b'"mase.chat/' not in line):
                    raise DataError(
                        f"archive {str(self.path)!r}, line {number}, is {line[:60]!r}, expected an answer of a chat "
                        f"model (schema {SCHEMA}); name another file"
                    ) from None
                self._file.truncate(start)
                self.repaired = True
                break
            self.replies.setdefault(request.key, reply)
            start += len(line)
        try:
            self.path.chmod(_MODE)
        except OSError as error:
            raise cannot_write(self.path, error) from error


def _is_torn(line: bytes) -> bool:
    """Return whether a line that is no answer may be one that a kill or a crash left incomplete."""
    if line.lstrip(b"\0")[:1] not in (b"", b"{"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return not line.endswith(b"\n")


def _parsed(line: bytes) -> tuple[Request, Reply]:
    """Return the request and the answer of a line."""
    record = json.loads(line)
    if not line.endswith(b"\n") or record.pop("schema") != SCHEMA:
        raise ValueError
    reply = Reply(**record.pop("reply"))
    counts = (reply.n_rejected, *(n for n in (reply.prompt_tokens, reply.completion_tokens) if n is not None))
    if not isinstance(reply.text, str) or not all(type(n) is int and n >= 0 for n in counts):
        raise ValueError
    return Request(**record), reply

"""The archive of a chat model: every answer that was paid for, in a file of JSON lines.

An answer is appended before it is used, so a process that is killed loses at most the answers that were under way.
"""

import hashlib
import json
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Self

from mase.errors import DataError, LockedError, MaseError
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
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    ended: str = "stop"


@dataclass(frozen=True, slots=True)
class Request:
    """What an answer is kept under.

    Attributes
    ----------
    address, model
        The address of the server, empty for a function; and the name of the model.
    parameters
        The parameters that are sent with every request, as plain JSON types.
    messages
        The conversation.
    repeat
        0 for the first answer to these messages, 1 for the second one of a model whose answers vary, ...
    """

    address: str
    model: str
    parameters: Mapping[str, Any]
    messages: Sequence[Message]
    repeat: int = 0

    @property
    def key(self) -> str:
        """The checksum of all of this."""
        told = [self.address, self.model, dict(self.parameters), list(self.messages), self.repeat]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def line(self, reply: Reply) -> bytes:
        """Return the line of the archive that holds an answer."""
        record = {
            "schema": SCHEMA,
            "address": self.address,
            "model": self.model,
            "parameters": dict(self.parameters),
            "messages": list(self.messages),
            "repeat": self.repeat,
            "reply": asdict(reply),
        }
        return json.dumps(record).encode() + b"\n"


class Archive:
    """A file of answers, which one process at a time writes.

    Parameters
    ----------
    path
        The file. It is made, readable by its owner alone, if there is none.

    Attributes
    ----------
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
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, _MODE)
            self._file: BinaryIO = os.fdopen(descriptor, "r+b", buffering=0)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        weakref.finalize(self, self._file.close)  # once nobody uses the model, others can write
        try:
            if not lock(self._file):
                raise LockedError(
                    f"archive {str(self.path)!r} is being written by another process or model, expected one writer at "
                    "a time; wait for it to end, or name another file"
                )
            self._replies = self._read()
            self.path.chmod(_MODE)
        except OSError as error:
            self._file.close()
            raise error if isinstance(error, MaseError) else cannot_read(self.path, error) from error

    def __len__(self) -> int:
        return len(self._replies)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others write the file."""
        self._file.close()

    def get(self, key: str) -> Reply | None:
        """Return the answer with a key; None if there is none."""
        return self._replies.get(key)

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
            self._replies[request.key] = reply

    def _read(self) -> dict[str, Reply]:
        """Return the answers by key, and cut off a last line that a kill left incomplete."""
        self._file.seek(0)
        content, replies, start, number = self._file.read(), dict[str, Reply](), 0, 0
        while start < len(content):
            number += 1
            end = content.find(b"\n", start) + 1 or len(content)
            try:
                request, reply = _parsed(content[start:end])
            except (ValueError, TypeError, KeyError, RecursionError):
                is_torn = content[start:].lstrip(b"\0")[:1] in (b"", b"{") and end == len(content)
                if not is_torn or (start == 0 and b'"mase.chat/' not in content):
                    raise DataError(
                        f"archive {str(self.path)!r}, line {number}, is {content[start : start + 60]!r}, expected an "
                        f"answer of a chat model (schema {SCHEMA}); name another file"
                    ) from None
                self._file.truncate(start)
                self.repaired = True
                break
            replies.setdefault(request.key, reply)
            start = end
        return replies


def _parsed(line: bytes) -> tuple[Request, Reply]:
    """Return the request and the answer of a line."""
    if not line.endswith(b"\n"):
        raise ValueError
    record = json.loads(line)
    if record["schema"] != SCHEMA:
        raise ValueError
    names = ("address", "model", "parameters", "messages", "repeat")
    return Request(**{name: record[name] for name in names}), Reply(**record["reply"])

"""The process of a model, seen from the server."""

import asyncio
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import Self

import msgspec

from mase.errors import WorkerError
from mase.processes import command, ending
from mase.serve.messages import FromModel, ToModel, decode, encode

__all__ = ["ModelProcess"]

# Seconds that the process has to end after it has closed its pipe.
_GRACE = 1.0


class ModelProcess:
    """A process with one model. It ends when the server closes the pipe or ends itself."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._decode: Callable[[bytes], FromModel] = decode(FromModel)

    @classmethod
    async def start(cls) -> Self:
        """Start a process."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command("mase.serve.child"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if sys.stderr is None else None,
            )
        except OSError as error:
            raise WorkerError(f"a process for the model cannot be started ({error}); use fewer models") from error
        return cls(process)

    async def send(self, message: ToModel) -> None:
        """Send a message; do nothing if the process has ended."""
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(encode(message))
            await pipe.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # `receive` reports the end

    async def receive(self) -> FromModel | None:
        """Return the next message of the process; None if it has ended."""
        pipe = self._process.stdout
        assert pipe is not None
        try:
            length = int.from_bytes(await pipe.readexactly(4), "big")
            return self._decode(await pipe.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionResetError, msgspec.DecodeError):
            return None

    def kill(self) -> None:
        """Kill the process, if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self) -> str:
        """Wait until the process has ended, and say how; one that closed its pipe and goes on is killed."""
        for _ in range(2):
            try:
                async with asyncio.timeout(_GRACE):
                    return ending(await self._process.wait())
            except TimeoutError:
                self.kill()
        return "was ended"

"""Child processes: how one is started, what becomes of its standard streams, and how it ended."""

import os
import signal
import sys
from io import BytesIO, TextIOWrapper
from multiprocessing import spawn
from typing import BinaryIO

__all__ = ["command", "ending", "pipes"]

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
# A child ignores Ctrl-C, which the terminal sends to it as well: its parent ends it. The path for imports is the
# parent's. The script of the parent is not imported, so that it needs no `if __name__ == "__main__"`.
_PROGRAM = """\
import sys
sys.path[:] = {path!r}
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from {module} import main
main(*{arguments!r})
"""


def command(module: str, *arguments: str) -> list[str]:
    """Return the command of a new Python process that calls the function `main` of a module with these arguments."""
    program = _PROGRAM.format(path=sys.path, module=module, arguments=arguments)
    return [os.fsdecode(spawn.get_executable()), "-P", "-c", program]


def pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes from and to the parent, in the child, and keep other code away from them.

    They are the standard streams at first. Other code, such as a model, then has an empty standard input instead, and
    what it prints goes to standard error.
    """
    messages, answers = os.fdopen(os.dup(_INPUT), "rb"), os.fdopen(os.dup(_OUTPUT), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, _INPUT)
    os.close(null)
    os.dup2(_ERRORS, _OUTPUT)
    sys.stdin = TextIOWrapper(BytesIO(), encoding="utf-8")
    return messages, answers


def ending(code: int) -> str:
    """Return how a process ended, from its exit code as `subprocess` has it.

    Examples
    --------
    >>> ending(3), ending(-9)
    ('ended with exit code 3', 'was ended by SIGKILL, as the system does when memory runs out,')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", as the system does when memory runs out," if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"

"""Options of a command in named groups."""

from collections.abc import Callable
from typing import Any

__all__ = ["options"]


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that gives a command all these options, in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate

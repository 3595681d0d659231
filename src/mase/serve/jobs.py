"""A request to a model while it waits and while it is answered."""

import asyncio
from collections.abc import Callable
from typing import Any

from mase.serve.messages import Ask, Asked, Cancelled, Explain, Failed, FromModel, Regenerate, Round, Said

__all__ = ["Job"]


def _nobody(event: str, data: dict[str, Any]) -> None:
    del event, data


class Job:
    """A request, and what becomes of it.

    Parameters
    ----------
    number
        Its number, different for all requests to a model.
    ask
        What is asked.
    tell
        Is called with the name of an event and its data while the request waits and is answered.

    Attributes
    ----------
    answer
        The last message about the request, when there is one.
    """

    def __init__(self, number: int, ask: Ask, tell: Callable[[str, dict[str, Any]], None] = _nobody) -> None:
        self.number, self.ask, self._tell = number, ask, tell
        self.answer: asyncio.Future[FromModel] = asyncio.get_running_loop().create_future()

    @property
    def is_quick(self) -> bool:
        """Whether it takes no more than an evaluation or two."""
        return not isinstance(self.ask, Explain | Regenerate)

    def wait_behind(self, n: int) -> None:
        """Take note that n requests are before it."""
        self._tell("queued", {"ahead": n})

    def take(self, message: FromModel) -> None:
        """Take a message about the request."""
        if isinstance(message, Asked):
            self._tell("progress", {"asked": message.asked, "of": message.of})
        elif isinstance(message, Said):
            self._tell("answer", {"text": message.text})
        elif isinstance(message, Round):
            self._tell("round", {"html": message.html})
        elif not self.answer.done():
            self.answer.set_result(message)

    def fail(self, error: Exception) -> None:
        """End the request with an error."""
        self.take(Failed(self.number, type(error).__name__, str(error)))

    def cancel(self) -> None:
        """End the request."""
        self.take(Cancelled(self.number))

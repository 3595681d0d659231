"""When the requests to a server are sent: a rate limit, pauses that the server asks for, and pauses between retries."""

import asyncio
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["LONGEST_WAIT", "Pace", "retry_after"]

LONGEST_WAIT = 300.0  # seconds; a server that asks for more is given up
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0


class Pace:
    """The times of the requests of one model. All of its requests wait when the server asks one of them to.

    Parameters
    ----------
    requests_per_second
        Upper bound of the rate; None for no bound.
    """

    def __init__(self, requests_per_second: float | None) -> None:
        self._interval = 0.0 if requests_per_second is None else 1 / requests_per_second
        self._next = self._resume = 0.0
        self._random = random.Random()  # of its own: the global one is seeded for the user's functions

    async def turn(self) -> None:
        """Wait until a request may be sent."""
        start = max(time.monotonic(), self._next)
        self._next = start + self._interval
        while (pause := max(start, self._resume) - time.monotonic()) > 0:
            await asyncio.sleep(pause)

    async def pause(self, attempt: int, asked: float | None) -> None:
        """Wait before a request is sent again: as long as the server asked for, else longer with each attempt from 0.

        Half of the pause is random, so that the requests of several processes do not come at the same time again.
        """
        if asked is not None:
            self._resume = max(self._resume, time.monotonic() + asked)
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
        await asyncio.sleep(self._random.uniform(longest / 2, longest))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which is a number or a date; None if there is none.

    Examples
    --------
    >>> retry_after({"Retry-After": "3"})
    3.0
    >>> retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), retry_after({"Retry-After": "soon"})
    (0.0, None)
    """
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # numbers that no date has
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())

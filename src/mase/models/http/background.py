"""An event loop in a thread of its own, so that requests run side by side while other code waits for all of them."""

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["Background"]

T = TypeVar("T")


class Background:
    """An event loop that runs in a daemon thread until this object is collected.

    Parameters
    ----------
    close
        What to await when the loop ends.
    """

    def __init__(self, close: Callable[[], Awaitable[None]]) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop, close), name="mase-http", daemon=True).start()
        # Do not wait for the thread: an object can be collected anywhere, also inside a lock that the thread needs.
        weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine. It is cancelled if this thread is interrupted while it waits."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()


def _serve(loop: asyncio.AbstractEventLoop, close: Callable[[], Awaitable[None]]) -> None:
    loop.run_forever()
    loop.run_until_complete(_closed(close))
    loop.close()


async def _closed(close: Callable[[], Awaitable[None]]) -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await close()

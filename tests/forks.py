"""Forks of this process, made while another of its threads is in a block."""

import os
import signal
import warnings
from contextlib import contextmanager
from threading import Event, Thread

__all__ = ["forked", "held"]


def forked(check):
    """Return whether `check()` is true in a fork of this process, which ends after two minutes at the latest."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", ".*fork", DeprecationWarning
        )  # of newer versions of Python, where threads run
        pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    try:
        signal.alarm(120)
        os._exit(int(not check()))
    finally:
        os._exit(2)


@contextmanager
def held(block):
    """Let another thread be inside of a context manager."""
    entered, leave = Event(), Event()

    def hold():
        with block:
            entered.set()
            leave.wait(240)

    thread = Thread(target=hold)
    thread.start()
    try:
        assert entered.wait(240)
        yield
    finally:
        leave.set()
        thread.join()

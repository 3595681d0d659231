"""Tests of `mase.models.runtime`."""

import ctypes
import sys

import pytest
import torch

from mase.models.runtime import configure


class Recorded:
    """The C library, with what it answers to mallopt."""

    def __init__(self):
        self.library, self.answers = ctypes.CDLL(None), {}

    def mallopt(self, option, value):
        self.answers[option] = self.library.mallopt(option, value)


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc"
)
def test_a_settled_process_keeps_its_memory_from_batch_to_batch(monkeypatch):
    """Glibc takes both thresholds, and the threads are as many as were asked for."""
    recorded, threads = Recorded(), torch.get_num_threads()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: recorded)
    configure()
    assert torch.get_num_threads() == threads
    assert recorded.answers == {-1: 1, -3: 1}
    configure(threads + 1)
    assert torch.get_num_threads() == threads + 1
    torch.set_num_threads(threads)

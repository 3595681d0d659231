"""Tests of `mase.models.process_setting`."""

from contextlib import ExitStack, contextmanager, suppress

import torch
from tests.forks import forked, held

from mase.models.borrow import borrowed
from mase.models.devices import WITHOUT_CUDNN
from mase.models.process_setting import ProcessSetting


class Setting:
    """A value of the process, and a context in which it is another."""

    def __init__(self):
        self.value = "usual"

    @contextmanager
    def changed(self):
        found, self.value = self.value, "changed"
        try:
            yield
        finally:
            self.value = found


def test_the_last_thread_restores_what_the_first_one_found():
    setting = Setting()
    block = ProcessSetting(setting.changed)
    with ExitStack() as other:
        other.enter_context(held(block))
        with block:
            with block:
                assert setting.value == "changed"
            other.close()
            assert setting.value == "changed"
    assert setting.value == "usual"
    with suppress(KeyError), block:
        assert setting.value == "changed"
        raise KeyError
    assert setting.value == "usual"


def test_a_setting_that_appears_later_is_changed_then():
    setting, there = Setting(), []
    block = ProcessSetting(lambda: setting.changed() if there else None)
    with block:
        assert setting.value == "usual"
        there.append(True)
        with block:
            assert setting.value == "changed"
    assert setting.value == "usual"


def test_a_fork_has_the_blocks_of_its_own_thread_only():
    setting = Setting()
    block = ProcessSetting(setting.changed)

    def ends():
        inside = setting.value
        with block:
            pass
        return (inside, setting.value) == ("usual", "usual")

    with held(block):
        assert forked(ends)
        with block:
            assert forked(lambda: setting.value == "changed")
        assert setting.value == "changed"
    assert setting.value == "usual"


def test_compiled_code_is_used_again_after_explanations_in_two_threads():
    runs = []

    def counted(graph, _):
        return lambda *args: runs.append(graph) or graph(*args)

    double = torch.compile(lambda z: 2 * z, backend=counted)
    double(torch.ones(3))
    assert len(runs) == 1
    with ExitStack() as other:
        other.enter_context(held(borrowed(torch.nn.Linear(2, 2))))
        with borrowed(torch.nn.Linear(2, 2)):
            other.close()
            double(torch.ones(3))
            assert len(runs) == 1  # the other thread has left, and this one still wants the code as it is written
    double(torch.ones(3))
    assert len(runs) == 2


def test_cudnn_is_on_again_after_gradients_in_two_threads():
    found = torch.backends.cudnn.enabled
    with ExitStack() as other:
        other.enter_context(held(WITHOUT_CUDNN))
        with WITHOUT_CUDNN:
            other.close()
            assert not torch.backends.cudnn.enabled
    assert torch.backends.cudnn.enabled == found

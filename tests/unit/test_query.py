import numpy as np
import pytest

from mase.errors import ModelError, NonFiniteError, OptionError
from mase.models.batching import ask, ask_gradients, check_batch_size
from mase.testing import FunctionProbe, smooth


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_batch_size_changes_nothing(batch_size):
    probe, coordinates = smooth(5), np.random.default_rng(0).random((100, 5))
    whole = probe.function(coordinates)
    assert ask(probe, coordinates, batch_size)[:, 0] == pytest.approx(whole)
    scores, slopes = ask_gradients(probe, coordinates, "logit", 0, batch_size)
    assert scores[:, 0] == pytest.approx(whole)
    assert slopes == pytest.approx(probe.slope(coordinates))


def test_out_of_memory_halves_the_batch_and_loses_nothing():
    def hungry(c):
        if len(c) > 6:
            raise MemoryError
        return c.sum(axis=1)

    probe = FunctionProbe(hungry, 3)
    coordinates = np.random.default_rng(0).random((50, 3))
    assert ask(probe, coordinates, 32)[:, 0] == pytest.approx(coordinates.sum(axis=1))
    assert probe.batches[:4] == [25, 12, 6, 6]  # the last two batches of at most 32 rows are even


def test_out_of_memory_on_one_row_is_an_error():
    def starving(c):
        raise MemoryError

    with pytest.raises(ModelError, match="single input"):
        ask(FunctionProbe(starving, 3), np.ones((4, 3)))


def test_nan_names_the_row():
    def broken(c):
        return np.where(c[:, 0] > 0.5, np.nan, 1.0)

    with pytest.raises(NonFiniteError, match="row 2 of the design"):
        ask(FunctionProbe(broken, 1), np.array([[0.0], [0.0], [1.0]]))


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "large", True])
def test_bad_batch_size(batch_size):
    with pytest.raises(OptionError, match="batch_size"):
        check_batch_size(batch_size)

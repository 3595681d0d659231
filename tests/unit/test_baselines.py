"""Tests of `mase.baselines`."""

import mase.baselines
import mase.procedures


def test_the_earlier_name_of_procedures_has_the_same_names():
    names = mase.baselines.__all__
    assert names == mase.procedures.__all__
    assert all(getattr(mase.baselines, name) is getattr(mase.procedures, name) for name in names)

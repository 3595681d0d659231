"""Tests of `mase.attribution.frame`."""

import sys

import numpy as np
import pytest
from tests.attributions import attribution, two_fields

from mase.errors import MissingDependencyError


def test_a_frame_has_a_row_per_response_and_unit():
    pytest.importorskip("pandas")
    found = two_fields().to_frame()
    assert list(found.columns) == [
        "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank", "against",
        "total_error", "strength", "leave_one_out",
    ]  # fmt: skip
    assert found["response"].tolist() == ["pos"] * 3 + ["neg"] * 3
    assert found["text"].tolist() == ["Great", "film", "Dull"] * 2
    assert found["score"].tolist() == [1.0, 0.0, -0.5, -1.0, 0.25, 0.5]
    assert found["rank"].tolist() == [1, 2, 3, 3, 1, 2]
    assert found["strength"].tolist() == [1, 3, 2, 1, 3, 2]
    assert np.isnan(found["leave_one_out"]).tolist() == [True] * 3 + [False] * 3
    assert np.isnan(found["standard_error"]).tolist() == [False, True, False] * 2
    one = attribution().to_frame().sort_values("rank")
    assert one["text"].tolist() == [word.text for word in attribution().top(11)]


def test_without_pandas_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[data\]'"):
        attribution().to_frame()

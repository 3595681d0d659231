"""Tests of `mase.options`."""

from mase.options import merged
from mase.regression.precision import QueryOptions
from mase.regression.stopping import Stopping


def test_keywords_replace_single_fields_and_keep_the_others():
    query, stopping = QueryOptions(batch_size=7, precision="bfloat16"), Stopping(tolerance=0.2, stable_top=3)
    parts, asked, stopped, units = merged(
        query, stopping, "word", {"batch_size": 9, "stable_top": None, "granularity": "token", "design": "iid"}
    )
    assert parts == {"design": "iid"}
    assert (asked.batch_size, asked.precision) == (9, "bfloat16")
    assert (stopped.tolerance, stopped.stable_top) == (0.2, None)
    assert units == "token"

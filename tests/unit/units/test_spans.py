import re

import pytest

from mase.errors import DataError, UnitsError
from mase.units.spans import spans_of


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([(0, 3), (2, 4)], "returned the spans (0, 3) and (2, 4), which overlap"),
        ([(0, 9)], "returned the span (0, 9) for a text of 4 characters"),
        ([(-2, 2)], "returned the span (-2, 2)"),
        ([(2, 2)], "returned the span (2, 2)"),
        ([(0.0, 2.0)], "returned (0.0, 2.0), expected a span (start, end) of two integers"),
        ([(True, 2)], "returned (True, 2)"),
        ([3], "returned 3, expected a span"),
        (["ab"], "returned 'ab'"),
        (["abcd"], "returned 'abcd'"),
        (None, "raised TypeError"),
    ],
)
def test_anything_but_disjoint_spans_is_an_error(returned, message):
    with pytest.raises(UnitsError, match=re.escape(f"mine {message}")):
        spans_of(lambda text: returned, "abcd", "mine")


def test_what_the_splitter_raises_is_told():
    with pytest.raises(UnitsError, match="raised KeyError: 'x'"):
        spans_of(lambda text: {}["x"], "abcd", "mine")
    with pytest.raises(DataError):
        spans_of(lambda text: (_ for _ in ()).throw(DataError("gone")), "abcd", "mine")

import re

import pytest

from mase.errors import DataError, UnitsError
from mase.units.function import Function


def halves(text):
    return [(len(text) // 2, len(text)), (0, len(text) // 2)]


def test_spans_are_sorted():
    assert Function(halves).split("abcd") == [(0, 2), (2, 4)]


def test_a_function_is_known_by_its_qualified_name():
    assert Function(halves).name == f"{__name__}.halves"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([(0, 3), (2, 4)], "the spans (0, 3) and (2, 4), which overlap"),
        ([(0, 9)], "the span (0, 9) for a text of 4 characters"),
        ([(-2, 2)], "the span (-2, 2)"),
        ([(2, 2)], "the span (2, 2)"),
        ([(0.0, 2.0)], "returned (0.0, 2.0), expected a span (start, end) of two integers"),
        ([(True, 2)], "returned (True, 2)"),
        ([3], "returned 3, expected a span"),
        (["ab"], "returned 'ab'"),
        (["abcd"], "returned 'abcd'"),
        (None, "raised TypeError"),
    ],
)
def test_anything_but_disjoint_spans_is_an_error(returned, message):
    with pytest.raises(UnitsError, match=re.escape(message)):
        Function(lambda text: returned).split("abcd")


def test_what_the_function_raises_is_told():
    with pytest.raises(UnitsError, match="raised KeyError: 'x'"):
        Function(lambda text: {}["x"]).split("abcd")
    with pytest.raises(DataError):
        Function(lambda text: (_ for _ in ()).throw(DataError("gone"))).split("abcd")

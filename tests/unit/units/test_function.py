import pytest

from mase.errors import UnitsError
from mase.units.function import Function


def halves(text):
    return [(len(text) // 2, len(text)), (0, len(text) // 2)]


def test_spans_are_sorted():
    assert Function(halves).split("abcd") == [(0, 2), (2, 4)]


def test_a_function_is_known_by_its_qualified_name():
    assert Function(halves).name == f"{__name__}.halves"


def test_an_error_names_the_function():
    with pytest.raises(UnitsError, match="<lambda> returned the span"):
        Function(lambda text: [(0, 9)]).split("abcd")

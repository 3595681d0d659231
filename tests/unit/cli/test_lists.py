"""Tests of `mase.cli.lists`."""

import pytest

from mase.cli.lists import comma_separated, names


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a, b ,a,", ("a", "b")),
        ("a(x=1,y=2),b(z=3, w=4) ,c", ("a(x=1,y=2)", "b(z=3, w=4)", "c")),
        ("a+design=b(x=1,y=2)+n=5,c", ("a+design=b(x=1,y=2)+n=5", "c")),
        ("a(x=1,b", ("a(x=1", "b")),
        (" , ", ()),
        (None, None),
    ],
)
def test_a_comma_in_brackets_is_part_of_a_name(typed, expected):
    assert names(None, None, typed) == expected


def test_a_name_with_a_comma_is_quoted():
    assert comma_separated(None, None, 'a, "b, c",d=e') == ["a", "b, c", "d=e"]
    assert comma_separated(None, None, None) is None

import re

import pytest

from mase.errors import OptionError
from mase.units.regex import Regex


def test_empty_matches_are_no_units():
    assert Regex(re.compile("b*")).split("abba") == [(1, 3)]


@pytest.mark.parametrize(
    "pattern",
    [
        re.compile(r"\w+"),
        re.compile("a.b", re.I | re.S),
        re.compile("(?i)a"),
        re.compile("a b", re.X),
        re.compile("\\w", re.A),
    ],
)
def test_the_name_means_the_same_pattern(pattern):
    again = Regex.parse(Regex(pattern).name)
    assert again.pattern.flags == pattern.flags
    assert again.name == Regex(pattern).name


def test_what_is_no_pattern_of_text():
    with pytest.raises(OptionError, match="expected a regular expression after 're:': missing"):
        Regex.parse("re:(")
    with pytest.raises(OptionError, match="a pattern of bytes"):
        Regex(re.compile(b"a"))

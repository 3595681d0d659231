"""What static checkers make of the protocols: the classes of this library are accepted where a protocol is expected.

A protocol declares what may only be read as a property. Pyright does not accept a `ClassVar` or a `cached_property` in
its place, and mypy, which checks this library, does.
"""

from functools import cached_property
from inspect import get_annotations
from typing import ClassVar, get_origin

import pytest

from mase.spaces import SPACES, Space
from mase.units import UNITS
from mase.units.splitters import Function, Regex, Splitter

CASES = [
    *((Space, SPACES[name]) for name in SPACES),
    *((Splitter, kind) for kind in (Function, Regex, *(UNITS[name] for name in UNITS))),
]


@pytest.mark.parametrize(("protocol", "kind"), CASES)
def test_what_a_protocol_declares_as_a_property_is_no_class_variable_and_not_cached(protocol, kind):
    properties = {name for name, member in vars(protocol).items() if isinstance(member, property)}
    assert properties
    for base in kind.__mro__[:-1]:
        hints = get_annotations(base).items()
        class_variables = {name for name, hint in hints if ClassVar in (hint, get_origin(hint))}
        cached = {name for name, member in vars(base).items() if isinstance(member, cached_property)}
        assert not properties & (class_variables | cached), base

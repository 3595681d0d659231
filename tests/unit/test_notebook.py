"""Tests of `mase.notebook`."""

import re

import pytest

from mase.notebook import script, sheet


def test_the_script_is_one_module_without_imports():
    assert not re.search(r"^\s*import\b", script(), re.MULTILINE)
    assert script().count("export default") == 1


def test_nothing_comes_from_a_network():
    for content in (script(), sheet()):
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", content)


@pytest.mark.parametrize("kind", ["class", "function", "const"])
def test_no_name_is_declared_twice(kind):
    names = re.findall(rf"^(?:export )?(?:async )?{kind} (\w+)", script(), re.MULTILINE)
    assert names
    assert len(set(names)) == len(names)

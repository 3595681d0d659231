"""The lowest versions that are named are the ones that `make lowest` tests."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def version(text):
    """Return a version without zeros at its end."""
    return re.sub(r"(\.0)+$", "", text)


def test_make_lowest_tests_the_versions_that_are_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    floors = dict(one.split(">=") for one in named if ">=" in one)
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    tested = {name.lower(): found for name, _, found in (line.partition("==") for line in lines)}
    assert len(floors) > 10
    assert {name: version(tested[name]) for name in floors} == {name: version(floor) for name, floor in floors.items()}

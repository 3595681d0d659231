"""Tests of `mase.corpus.ids`."""

import pytest

from mase.corpus import ids


def repeated(names):
    found = ids.Ids()
    for name in names:
        found.add(name)
    return found.repeated(names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], None),
        (["a"], None),
        (["a", "b", "A"], None),
        (["a", "b", "b", "a"], (1, 2)),
        (["x", "y", "z", "x"], (0, 3)),
    ],
)
def test_the_first_repetition_is_found(names, expected):
    assert repeated(names) == expected


def test_equal_hashes_are_no_repetition(monkeypatch):
    monkeypatch.setattr(ids, "hash", len, raising=False)
    assert repeated(["ab", "cd", "efg"]) is None
    assert repeated(["ab", "cd", "cd"]) == (1, 2)

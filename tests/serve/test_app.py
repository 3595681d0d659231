"""Tests of `mase_serve.app`."""

from mase_serve.app import choices
from mase_serve.security import Limits


def test_a_path_is_labelled_by_its_last_part_unless_two_have_the_same():
    names = ["lstm-imdb", "/home/ada/judge.py:loans", "/home/ada/one.py:f", "/home/ada/b/one.py:f", "owner/model"]
    found = choices([{"name": name} for name in names], [], Limits())["models"]
    assert [model["name"] for model in found] == names
    labels = ["lstm-imdb", "judge.py:loans", "/home/ada/one.py:f", "/home/ada/b/one.py:f", "owner/model"]
    assert [model["label"] for model in found] == labels

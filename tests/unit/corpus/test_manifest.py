"""Tests of `mase.corpus.manifest`."""

import pytest

from mase.corpus.manifest import Asked, Manifest
from mase.errors import DataError


def manifest(labels=("0", "1"), **asked):
    settings = {"model": {"name": "m"}, "method": {}, "seed": 0, "target": None, "input": {}, "n_texts": 1}
    return Manifest(asked=Asked(**settings | asked, part_size=32), made_with={}, labels=labels, created="")


def test_names_that_are_no_utf8_are_written():
    name = {"name": "caf\udce9"}
    made = manifest(model=name, input={"tables": [name], "where": {"\udce9": "à"}})
    found = Manifest.decode(made.encode(), "run.json").asked
    assert found.model == {"name": "caf\ufffd"}
    assert found.input == {"tables": [{"name": "caf\ufffd"}], "where": {"\ufffd": "à"}}


def test_classes_that_are_no_unicode_are_refused():
    with pytest.raises(DataError, match=r"cannot be written as JSON: .*surrogates not allowed"):
        manifest(labels=("a", "\ud800")).encode()

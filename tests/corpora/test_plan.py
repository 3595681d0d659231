"""Tests of `mase_corpora.plan`."""

import pytest

from mase.errors import DataError
from mase_corpora.plan import Asked, Manifest, asked_sha256


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


def test_all_that_decides_the_tables_is_in_the_checksum():
    def checksum(labels=("0", "1"), **asked):
        return asked_sha256(manifest(**asked).asked, labels)

    others = [checksum(), checksum(labels=("1", "0")), checksum(seed=1), checksum(model={"name": "other"})]
    others += [checksum(method={"n_samples": 8}), checksum(target="1"), checksum(input={"limit": 1})]
    others += [checksum(n_texts=2), checksum(kept=("label",)), checksum(documents=False), checksum(against="0")]
    assert len(set(others)) == len(others)
    assert checksum(method={"b": 1, "a": 2}) == checksum(method={"a": 2, "b": 1})


def test_the_folder_of_a_model_is_not_in_the_checksum():
    of_folder = [asked_sha256(manifest(model={"name": name}).asked, ()) for name in ("/a/m", "b/m/", "C:\\m", "/a/n")]
    assert len(set(of_folder[:3])) == 1
    assert of_folder[3] != of_folder[0]

"""Tests of `mase.models.identity`."""

import hashlib
from dataclasses import replace

import pytest
from tests.labelled_texts import predict

import mase
from mase.errors import OptionError
from mase.models.code_reference import open_code
from mase.models.identity import as_recorded, has_checksum, identity, identity_in_run, is_same, unknown_model

CODE = "def predict(texts):\n    return [[0.3, 0.7] if 'good' in text else [0.6, 0.4] for text in texts]\n"


@pytest.fixture
def code(tmp_path):
    (tmp_path / "judge.py").write_text(CODE, encoding="utf-8")
    return open_code(f"{tmp_path}/judge.py:predict")


def test_code_has_a_checksum_of_its_own_which_does_not_tell_what_it_loads(code):
    found = identity(code)
    assert found == {"name": code.name, "sha256": None, "code_sha256": hashlib.sha256(CODE.encode()).hexdigest()}
    assert not has_checksum(found)
    assert has_checksum(found | {"sha256": "0123"})
    assert not has_checksum(identity(mase.models.Callable(predict)))
    assert "no checksum but that of its source file" in unknown_model(found, "the results", "begin again")


def test_attributions_of_earlier_releases_have_no_checksum_of_the_code(code):
    own = identity(code)
    assert as_recorded(own, {"name": code.name, "sha256": None}) == {"name": code.name, "sha256": None}
    assert as_recorded(own, {**own, "code_sha256": "0123"}) == own
    explainer = mase.Explainer(code, n_samples=8)
    found = explainer("a good film")
    assert found.model == own
    assert explainer.predict_without(found, [1]).label
    found.model.pop("code_sha256")
    assert explainer.predict_without(found, [1]).label


def test_the_checksum_of_code_counts_if_both_have_it(code):
    """A server opens a model from code, and a user imports the same one."""
    own, without = identity(code), {"name": code.name, "sha256": None}
    assert is_same(own, without)
    assert is_same(without, own)
    assert not is_same(own, {**own, "code_sha256": "0123"})
    assert not is_same(own, {**without, "sha256": "0123"})


def test_how_a_model_reads_texts_counts_if_both_say_so(lstm_model):
    own = identity_in_run(lstm_model)
    other = own | {"reads": own["reads"] | {"max_length": 3}}
    assert is_same(own, identity(lstm_model))
    assert not is_same(own, other)
    explainer = mase.Explainer(lstm_model, n_samples=8)
    found = replace(explainer("a good film"), model=own)
    assert explainer.predict_without(found, [1]).label
    with pytest.raises(OptionError, match="with another sha256 than"):
        explainer.predict_without(replace(found, model=own | {"sha256": "0123"}), [1])

"""Tests of `mase.explanation`."""

import pytest

import mase
from mase.errors import DataError


@pytest.mark.parametrize("model", ["a great film", "It works.\nIt lasts.", "./no such folder"])
def test_a_text_in_the_place_of_the_model_is_told_before_anything_is_opened(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase.explanation.Explainer", lambda *_, **__: pytest.fail("opens a model"))
    with pytest.raises(DataError, match=r"^model is .* tuple"):
        mase.explain("a dull film", model)


def test_the_name_of_a_folder_may_have_a_space(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my model").mkdir()
    with pytest.raises(DataError, match=r"config\.json"):
        mase.explain("a dull film", "my model")

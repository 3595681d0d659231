"""A path that leads nowhere is named as one, whatever is installed."""

import os
from pathlib import Path

import pytest

from mase.errors import DataError
from mase.models.language.open import load_language_model
from mase.models.names import check_local_path
from mase.models.open import load

NAMES = ["./model", "../model", "/no/model", "models/of/mine", "model/", "models/judge.onnx", "service.json", "a b"]
PATHS = [Path("model"), Path("models/judge")]  # the same strings may be names on the hub


@pytest.mark.parametrize("name", [*NAMES, *PATHS], ids=repr)
def test_a_path_that_leads_nowhere_is_an_error_before_any_package_is_asked_for(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for module in (load.__module__, load_language_model.__module__):
        monkeypatch.setattr(f"{module}.require", lambda *package: pytest.fail(f"asks for {package}"))
    for loading in (load, load_language_model):
        with pytest.raises(DataError) as caught:
            loading(name, download=True)
        assert repr(os.fspath(name)) in str(caught.value)


@pytest.mark.parametrize("name", ["model", "owner/model", "0owner/model-1.5_b", "lstm-imdb"])
def test_a_name_that_the_hub_allows_is_no_path(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    check_local_path(name)


@pytest.mark.parametrize("name", ["./model", "model.onnx", Path("model")])
def test_a_path_that_leads_somewhere_is_allowed(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    check_local_path(name)

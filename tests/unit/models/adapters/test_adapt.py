"""Tests of `mase.models.adapters.adapt`."""

import os
import sys

import pytest
import torch
from click.testing import CliRunner
from sklearn.dummy import DummyClassifier
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model
from tests.unit.models.tiny import family

import mase
from mase.cli import main
from mase.errors import DataError, MaseError, OptionError, UnknownNameError
from mase.models import HuggingFace, adapt, bundled, load
from mase.models.language.opening import language_model
from mase.testing import SmallLSTM, whitespace_ids


def test_a_name_as_long_as_a_text_is_no_model():
    with pytest.raises(UnknownNameError, match="unknown model"):
        load("x" * 300)


def test_a_module_without_tokenizer_or_of_no_kind():
    with pytest.raises(OptionError, match="TorchModule"):
        mase.Explainer(SmallLSTM())
    with pytest.raises(OptionError, match=r"a name, folder or URL, .* a function from texts"):
        mase.Explainer(3.5)


def test_a_compiled_module_is_the_one_inside():
    module, tokenizer = family("bert")
    found = adapt(torch.compile(module, backend="eager"), tokenizer)
    assert isinstance(found, HuggingFace)
    assert (found.module, found.name) == (module, adapt(module, tokenizer).name)
    assert HuggingFace(torch.compile(module, backend="eager"), tokenizer).name == found.name
    module = causal_model()
    assert language_model(torch.compile(module, backend="eager"), byte_tokenizer()).module is module


TEXTS = ["one", "two"]


ROWS = [[0.25, 0.75], [0.5, 0.5]]


def test_an_object_that_can_be_called_is_a_function_unless_it_has_classes():
    class Judge:
        def __call__(self, texts):
            return ROWS[: len(texts)]

        def fit(self, texts):
            return self

        def predict(self, texts):
            return ["pos"] * len(texts)

    assert adapt(Judge(), name="judge.py:it").predict(TEXTS).tolist() == ROWS
    assert adapt(Judge(), name="judge.py:it").name == "judge.py:it"


NAMES = [
    "x\0y",
    "x\0/y",
    "/",
    "a" * 5_000,
    "a/" + "b" * 5_000,
    "../../..",
    "",
    "a b/c",
    "--x/y",
    "owner/name/more",
    "\ud800/x",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none_are_typed_errors(name):
    for loading in (load, HuggingFace, bundled.load, bundled.load_adapted):
        with pytest.raises((DataError, UnknownNameError)):
            loading(name)
    with pytest.raises(MaseError):
        mase.Explainer(name)


def test_files_and_pipes_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("{}")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "file", "loop"):
        with pytest.raises(DataError, match="is a file"):
            load(tmp_path / name)
        found = CliRunner().invoke(main, ["models", str(tmp_path / name)])
        assert (found.exit_code, found.stderr.count("mase: error:")) == (1, 1)


@pytest.mark.parametrize("missing", [(), ("torch", "transformers")])
def test_a_file_of_another_tool_says_how_to_pass_its_model(missing, tmp_path, monkeypatch):
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    for name in ("pipeline.joblib", "model.keras", "weights.pt"):
        (tmp_path / name).write_bytes(b"PK")
        with pytest.raises(DataError, match=r"is a file, expected .* FILE\.py:NAME"):
            mase.Explainer(str(tmp_path / name))


def estimator():
    return DummyClassifier(strategy="prior").fit([[0], [1]], ["a", "b"])


MODELS = {
    "a model that is loaded by its name": "lstm-imdb",
    "a model of mase.models": mase.models.Callable(lambda texts: ROWS[: len(texts)]),
    "an estimator": estimator(),
    "a function": lambda texts: ROWS[: len(texts)],
}


@pytest.mark.parametrize("what", MODELS)
def test_a_tokenizer_beside_what_reads_texts_is_an_error(what):
    with pytest.raises(OptionError, match=f"tokenizer is of type str beside {what}, .* leave the tokenizer out"):
        mase.Explainer(MODELS[what], "not a tokenizer")


def test_a_module_has_the_name_that_is_given():
    for module, tokenizer in ((SmallLSTM(), whitespace_ids), family("bert")):
        assert adapt(module, tokenizer, name="code.py:module").name == "code.py:module"

"""Tests of `mase.models.user_code`."""

import hashlib
import pickle
import sys

import pytest

import mase
from mase.errors import DataError, MaseError, ModelError, OptionError, UnknownNameError
from mase.models import load
from mase.models.origin import dumps
from mase.models.user_code import is_code, open_code

CODE = """
import torch
from mase.models import Callable, TorchModule
from mase.models.base import Wrapper
from mase.testing import SmallLSTM, whitespace_ids

def predict(texts):
    return [[0.5 + 0.25 * ("good" in text), 0.5 - 0.25 * ("good" in text)] for text in texts]

class Net(SmallLSTM):
    pass

class Own(Wrapper):
    def bind(self, binding):
        return self.model.bind(binding)

own = Own(Callable(predict))

torch.manual_seed(0)
fixed = TorchModule(Net(), tokenize=whitespace_ids)
torch.seed()
different = TorchModule(Net(), tokenize=whitespace_ids)

class Shelf:
    @staticmethod
    def make():
        return predict

def needs_one(argument):
    return predict

def fails():
    import json
    return json.loads("{")
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with code, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_classifier.py").write_text(CODE)
    yield tmp_path
    sys.modules.pop("own_classifier", None)


@pytest.mark.parametrize(
    "typed", [f"own_classifier{name}" for name in (".py:predict", ":predict", ".py:fixed", ".py:own", ":Shelf.make()")]
)
def test_code_is_pickled_as_its_reference(typed, place, monkeypatch):
    explainer = mase.Explainer(open_code(typed), n_samples=32)
    content = dumps(explainer)
    assert explainer.model.origin.code_sha256 == hashlib.sha256(CODE.encode()).hexdigest()
    monkeypatch.chdir(place.parent)  # as in a process that begins elsewhere
    sys.path.remove(str(place))
    sys.modules.pop("own_classifier", None)
    again = pickle.loads(content)
    assert again.model.name == explainer.model.name
    assert again("a good film").scores.tolist() == explainer("a good film").scores.tolist()
    assert len(dumps(again)) < 5000


@pytest.mark.parametrize("typed", ["own_classifier.py:predict", "own_classifier:predict"])
def test_code_that_has_changed_is_refused(typed, place):
    content = dumps(open_code(typed))
    (place / "own_classifier.py").write_text(CODE + "\n# changed")
    sys.modules.pop("own_classifier", None)
    with pytest.raises(DataError, match=hashlib.sha256(CODE.encode()).hexdigest()) as caught:
        pickle.loads(content)
    assert hashlib.sha256((CODE + "\n# changed").encode()).hexdigest() in str(caught.value)


def test_code_that_makes_other_weights_each_time_is_refused(place):
    content = dumps(open_code("own_classifier.py:different"))
    with pytest.raises(DataError, match="sha256"):
        pickle.loads(content)


def test_code_that_is_gone_is_reported(place):
    content = dumps(open_code("own_classifier.py:predict"))
    (place / "own_classifier.py").unlink()
    with pytest.raises(UnknownNameError, match=r"own_classifier\.py"):
        pickle.loads(content)


def test_what_is_code(place):
    assert is_code("own_classifier.py:predict")
    assert is_code("package.module:name")
    assert not is_code("lstm-imdb")
    assert not is_code("C:\\models\\mine")
    (place / "a:b").mkdir()
    assert not is_code("a:b")
    assert not hasattr(load("lstm-imdb").origin, "code_sha256")
    with pytest.raises(OptionError, match=r"file\.py:name"):
        open_code("lstm-imdb")
    with pytest.raises(MaseError, match="predict"):
        open_code("own_classifier.py:predicted")


def test_what_a_factory_returns(place):
    made = open_code("own_classifier.py:Shelf.make()")
    assert made.name == "own_classifier.py:Shelf.make()"
    assert made.predict(["a good film"]).tolist() == [[0.75, 0.25]]
    assert is_code("own_classifier:Shelf.make()")
    assert not is_code("own_classifier:make(1)")
    with pytest.raises(OptionError, match=r"'own' is of type Own, expected a function to call"):
        open_code("own_classifier.py:own()")


def test_a_factory_that_is_not_called_is_refused_and_says_how(place):
    with pytest.raises(OptionError, match=r"write own_classifier\.py:fails\(\)"):
        open_code("own_classifier.py:fails")


def test_errors_of_a_factory_name_the_line_in_the_code_of_the_user(place):
    line = 1 + CODE.splitlines().index('    return json.loads("{")')
    with pytest.raises(ModelError, match=rf"fails\(\) raised JSONDecodeError: .*own_classifier\.py, line {line}\)"):
        open_code("own_classifier.py:fails()")
    with pytest.raises(ModelError, match=r"calling needs_one\(\) raised TypeError: .*argument"):
        open_code("own_classifier.py:needs_one()")

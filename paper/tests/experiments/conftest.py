"""A black box, its texts and its records."""

import pytest
from paper.tests.experiments.samples import bits, predict, write

import mase
from mase.methods import Configuration
from mase_paper.experiments.selection import Chosen
from mase_paper.experiments.trial import Trial

SENTENCE = "the plot is dull and slow but one actor is good in a grand way so i stayed to see how it would end"


WORDS = SENTENCE.split()


@pytest.fixture
def black_box():
    return mase.models.Callable(predict, labels=["dull", "good"], mask_token="_")


@pytest.fixture
def trial(black_box):
    """Return a trial, the text, and its result for three of the four methods."""
    text = " ".join(WORDS[:14])
    configurations = [Configuration(name) for name in ("occlusion", "random", "greedy", "gradient")]
    trial = Trial(black_box, configurations, operators=("auto", "delete"))
    return trial, text, trial.run(Chosen(4, 9, "dull/9", text, 0), configurations[:3])


@pytest.fixture
def records(tmp_path):
    """Return records of 40 texts: `mase` flips 30 of them at k = 5, `random` none, `lime` all at k = 1 and after."""
    folder = tmp_path / "records"
    every = bits(*range(1, 16))
    write(folder, "lstm-imdb", "mase", [bits(5, 10)] * 30 + [0] * 10)
    write(folder, "lstm-imdb", "random", [0] * 40)
    write(folder, "lstm-imdb", "lime", [every] * 40)
    write(folder, "lstm-imdb", "mase+seed=1", [0] * 20, order=(3, 1, 9))
    write(folder, "lstm-imdb", "beam", [every] * 20, probability=(), eraser=(), infidelity=())
    return folder

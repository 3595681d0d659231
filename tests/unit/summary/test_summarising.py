"""Tests of summaries on runs with known answers, made by the real pipeline."""

import corpora
import numpy as np
import pytest

import mase
from mase.errors import OptionError, UnknownNameError
from mase.testing import LogisticClassifier

FILLERS = tuple(f"filler{i}" for i in range(30))
# Weights for the second class, "1".
WEIGHTS = {"superb": 3.0, "good": 1.5, "dull": -2.0, "awful": -3.5}


def planted(rng, n):
    """Return texts of fillers, most of which have one or two planted words."""
    words = [*WEIGHTS]
    return [
        " ".join(rng.permutation([*rng.choice(FILLERS, 6), *rng.choice(words, rng.integers(0, 3))])) for _ in range(n)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rng = np.random.default_rng(0)
    texts = planted(rng, 300)
    texts[1] = texts[0].upper() if False else texts[0]  # a repeated text
    texts[2] = ""  # has no words
    explainer = mase.Explainer(LogisticClassifier(WEIGHTS), n_samples=64)
    kept = [(str(rng.integers(2)), str(rng.choice(["a", "b", "c"]))) for _ in texts]
    return corpora.write(tmp_path_factory.mktemp("planted") / "run", explainer, texts, kept)


@pytest.fixture(scope="module")
def summary(run):
    return mase.summarise(run, label_column="label", group_column="group", min_texts=20)


def test_planted_words_have_the_right_sign_rank_and_interval(summary):
    for response, sign in (("1", 1), ("0", -1)):
        listed = [row for row in summary.words if row.response == response]
        for row in listed:
            assert row.low - 1e-9 <= sign * WEIGHTS[row.word] <= row.high + 1e-9
        for direction in ("towards", "away"):
            effects = [abs(row.effect) for row in listed if row.direction == direction]
            assert effects == sorted(effects, reverse=True)
        assert {row.word for row in listed if row.direction == "towards"} == {
            word for word, weight in WEIGHTS.items() if sign * weight > 0
        }

"""Tests of `mase.designs.close_up`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.designs.close_up import CloseUp
from mase.errors import OptionError
from mase.testing import FunctionProbe, linear


def test_the_second_round_masks_the_strongest_words_alone():
    truth = np.linspace(3, -3, 30)
    found = run(linear(truth), "mase-cite", n_samples=128)
    rows = found.problem.z + 0.5
    assert len(rows) == 128
    assert rows[:96].mean(axis=0) == pytest.approx(np.full(30, 0.5), abs=0.1)
    assert rows[96:, :10].mean(axis=0) == pytest.approx(np.full(10, 0.5))
    assert (rows[96:, 10:] == 1).all()


@pytest.mark.parametrize(("n", "p", "expected"), [(32, 120, 31), (32, 60, 20), (16, 9, 4), (4, 9, 3), (16, 3, 3)])
def test_the_number_of_strong_words_suits_the_round(n, p, expected):
    """Fewer than the rows, and enough that no row need be asked twice."""
    design = CloseUp()
    sample = design.draw(np.random.default_rng(0), n, design.distribution(np.ones(p)), np.arange(float(p)))
    masked = (sample.coordinates == 0).any(axis=0)
    assert masked.sum() == expected
    assert masked[-expected:].all()
    assert len(np.unique(sample.coordinates, axis=0)) == min(n, 2**expected)


def test_the_close_up_finds_what_is_strong_close_to_the_text_only():
    """A word that counts while the others are there is weak among fair coins, and strong in what a reader sees."""
    probe = FunctionProbe(lambda c: c[:, 0] + 0.9 * c[:, 1] + 3 * c[:, 2] * c[:, 10:].mean(axis=1) ** 6, 40)
    options = {"n_samples": 128, "estimator": "least-squares"}
    coins = run(probe, "mase-cite", design="hadamard", **options).estimate.gamma
    both = run(probe, "mase-cite", design="close-up", **options).estimate.gamma
    assert coins[2] < 0.2
    assert both[2] > 3 * coins[2]


def test_a_word_that_changes_nothing_scores_nothing():
    """Words that need each other are kept together more often in one of the rounds; others have no part in that."""
    gamma = run(FunctionProbe(lambda c: 12 * c[:, :3].prod(axis=1), 4), "mase-cite", n_samples=64).estimate.gamma
    assert gamma[:3].min() > 2.5
    assert gamma[3] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_other_shares_are_refused(share):
    with pytest.raises(OptionError, match="share"):
        CloseUp(share=share)

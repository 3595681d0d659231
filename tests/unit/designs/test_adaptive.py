"""Tests of `mase.designs.adaptive`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.designs.adaptive import CloseUp, Focused
from mase.errors import OptionError
from mase.estimators.linear import LeastSquares
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


def test_adaptive_rounds_turn_to_the_words_with_high_scores():
    """On a linear model the second round already knows the order: high words are out often, low ones seldom.

    In the last quarter of its rows it is the other way round.
    """
    truth = np.linspace(3, -3, 30)
    found = run(linear(truth), "mase", n_samples=5000, design="focused(rounds=5, n_draws=0)", estimator="least-squares")
    assert found.estimate.gamma == pytest.approx(truth, abs=1e-8)
    rows = 0.5 - found.problem.z.reshape(5, 1000, 30)
    sparse = rows[0].mean(axis=1) > 0.75
    assert np.count_nonzero(sparse) == pytest.approx(500, abs=20)
    assert rows[0][sparse].mean(axis=0) == pytest.approx(0.9, abs=0.06)
    assert rows[0][~sparse].mean(axis=0) == pytest.approx(0.5, abs=0.08)
    expected = 0.1 + 0.8 / (1 + np.exp((np.arange(30) - 10) / 2))
    for later in rows[1:]:
        assert later[:750].mean(axis=0) == pytest.approx(expected, abs=0.06)
        assert later[750:].mean(axis=0) == pytest.approx(1 - expected, abs=0.1)


def test_what_differs_between_rounds_is_no_effect_of_a_word():
    """Rows of different components have intercepts of their own."""
    drawn = Focused().draw(np.random.default_rng(0), 400, Focused().distribution(np.ones(6)), np.arange(6.0))
    kinds = drawn.components.shares[1]
    assert drawn.problem(kinds, None).squares(kinds) == pytest.approx(0, abs=1e-12)
    assert LeastSquares().fit(drawn.problem(kinds, None)).gamma == pytest.approx(np.zeros(6), abs=1e-12)


@pytest.mark.parametrize("value", [-0.1, 1.5])
@pytest.mark.parametrize("name", ["complement", "sparse"])
def test_shares_are_from_0_to_1(name, value):
    with pytest.raises(OptionError, match=f"{name} is .*expected a number from 0 to 1"):
        Focused(**{name: value})


@pytest.mark.parametrize("value", [-1, 2.5, True])
@pytest.mark.parametrize("name", ["rounds", "n_top", "n_draws"])
def test_numbers_are_integers(name, value):
    with pytest.raises(OptionError, match=f"{name} is {value!r}, expected an integer"):
        Focused(**{name: value})


def test_the_first_round_has_sparse_rows():
    """Whatever number of rows is drawn at once, and whichever of them come first."""
    design, rng = Focused(sparse=0.25), np.random.default_rng(0)
    distribution = design.distribution(np.ones(400))
    whole = design.draw(rng, 400, distribution).coordinates.mean(axis=1)
    singly = np.array([design.draw(rng, 1, distribution).coordinates.mean() for _ in range(400)])
    for kept in (whole, whole[:40], singly):
        assert ((kept < 0.2) | (abs(kept - 0.5) < 0.15)).all()
        assert np.mean(kept < 0.2) == pytest.approx(0.25, abs=0.06)


def test_a_closed_form_moment_needs_rows_of_one_law():
    truth = np.linspace(2, -1, 20)
    with pytest.raises(OptionError, match="regression"):
        run(linear(truth), "mase", n_samples=4000, estimator="moment", design=Focused(rounds=1))
    found = run(linear(truth), "mase", n_samples=4000, estimator="moment", design=Focused(rounds=1, sparse=0))
    assert found.estimate.gamma == pytest.approx(truth, abs=0.4)


def test_redundant_words_show_in_an_adaptive_design_only():
    """Four words that say the same: a model that needs one of them hides all four from a sample of fair coins."""
    probe = FunctionProbe(lambda c: 3 * c[:, :6].max(axis=1) + 0.3 * c[:, 6:8].sum(axis=1), 40)
    blind = run(probe, "mase-mask", n_samples=1000).estimate.gamma
    focused = run(probe, "mase", n_samples=1000).estimate.gamma
    assert blind[:6].max() < 0.15 < blind[6:8].min()
    assert focused[:6].min() > 1.5 * blind[:6].max()


def test_draws_of_the_coefficients_are_averaged():
    design = Focused(n_draws=2)
    up = np.arange(30.0)
    later = design.draw(np.random.default_rng(0), 4, design.distribution(np.ones(30)), np.stack([up, -up]))
    rates = 0.1 + 0.8 / (1 + np.exp((np.arange(30) - 10) / 2))
    assert later.components.rates[0] == pytest.approx(1 - (rates + rates[::-1]) / 2)


@pytest.mark.parametrize("effect", ["removed", "kept"])
def test_effects_stand_for_laws_that_follow_from_them(effect):
    """One masks the strong words, and all words in some rows; the other keeps the strong words."""
    design, up = Focused(effect=effect), np.arange(30.0)
    sample = design.draw(np.random.default_rng(0), 20, design.distribution(np.ones(30)))
    rates = 0.1 + 0.8 / (1 + np.exp((np.arange(30)[::-1] - 10) / 2))
    wanted = {
        "removed": ([0.1, 0.3, 0.6], [np.full(30, 0.5), np.full(30, 0.1), 1 - rates]),
        "kept": ([0.1, 0.3, 0.6], [np.full(30, 0.5), 1 - rates, rates]),
    }
    problem = sample.problem(np.arange(20.0), None)
    (other,) = set(wanted) - {effect}
    for aims in (sample, problem):
        assert set(aims.other_effects) == {other}
        for name, target_mixture in ((effect, aims.target_mixture), (other, aims.other_effects[other])):
            shares, kept = wanted[name]
            first, second = target_mixture(np.stack([up, -up]))
            assert first.shares.mean(axis=1) == pytest.approx(shares)
            assert first.rates == pytest.approx(np.stack(kept))
            assert second.rates == pytest.approx(np.stack(kept)[:, ::-1])


def test_another_effect_is_refused():
    with pytest.raises(OptionError, match="effect is 'alone', expected 'removed' or 'kept'"):
        Focused(effect="alone")


@pytest.mark.parametrize(("n_redundant", "least"), [(5, 1.0), (8, 0.9)])
def test_redundant_words_are_found_among_others(n_redundant, least):
    """Any one of them is enough, and each of the other words has a small effect of its own."""
    others = 0.3 * np.random.default_rng(1).standard_normal(60)
    others[:n_redundant] = 0
    probe = FunctionProbe(lambda c: 4 * (1 - np.prod(1 - c[:, :n_redundant], axis=1)) + c @ others, 60)
    scores = [run(probe, "mase", n_samples=1000, seed=seed).estimate.gamma for seed in range(4)]
    assert np.mean([np.argsort(-gamma)[:n_redundant] < n_redundant for gamma in scores]) >= least


def test_a_rationale_is_of_words_that_suffice():
    """Each of three words is enough for 2, three others are needed together for 4; four words may be kept."""
    others = 0.1 * np.random.default_rng(1).standard_normal(40)
    others[:6] = 0

    def response(kept):
        return 2 * kept[:, :3].max(axis=1) + 4 * kept[:, 3:6].prod(axis=1) + kept @ others

    alone = {}
    for method in ("mase", "mase-rationale"):
        found = run(FunctionProbe(response, 40), method, n_samples=500).estimate
        kept = np.zeros((1, 40))
        kept[0, np.argsort(-found.gamma)[:4]] = 1
        alone[method] = response(kept)[0]
    assert alone["mase"] == pytest.approx(2, abs=0.3)
    assert alone["mase-rationale"] == pytest.approx(6, abs=0.3)


def test_all_rows_have_the_probabilities_of_a_round():
    design = Focused(sparse=0.3, p_high=0.9)
    found = design.exhaustive(design.distribution(np.ones(3)))
    chances = [0.7 / 8 + 0.3 * np.prod([0.1 if one else 0.9 for one in row]) for row in found.coordinates]
    assert found.weights / 8 == pytest.approx(chances)

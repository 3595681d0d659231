"""Tests of `mase.regression.promotion`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.designs.focused import Focused
from mase.measure import Effort, measure
from mase.methods import resolve
from mase.regression.promotion import Lead
from mase.regression.stopping import Stopping
from mase.testing import FunctionProbe
from mase.text import Tokens, Words


def test_the_lead_counts_words_that_cannot_move_too():
    """Coordinates that equal their reference are not asked about, and shift no index."""

    class Fixed(FunctionProbe):
        @property
        def widths(self):
            return np.array([0.0, 0.0, *np.ones(30)])

    def function(c):
        return 4 * c[:, 2:4].max(axis=1) + 1.4 * c[:, 4] + c[:, 5] + 0.1 * c[:, 6:].sum(axis=1)

    found = measure(Fixed(function, 32), resolve("mase", link="logit"), 0, np.random.default_rng(0))
    assert found.lead.coordinate == 4 == found.estimate.gamma.argmax()


def test_a_token_that_leads_is_named_with_its_word():
    tokens = Tokens("good playful", (1, 2, 3), ("good", "play", "ful"), ((0, 4), (5, 9), (9, 12)), (False,) * 3)
    words = Words(((0, 4), (5, 12)), (0, 1, 1))
    note = Lead(2, 1.0, 0.5).note(tokens, words, np.array([0, 1, 2]))
    assert note.word == 1
    assert '"ful"' in note.message
    assert '"playful"' in note.message
    whole = Lead(1, 1.0, 0.5).note(tokens, words, np.array([0, 1, 1]))
    assert whole.word == 1
    assert '"ful"' not in whole.message
    assert '"playful"' in whole.message


def both(c):
    """Words 0 and 1 stand in for one another: either does little alone, and much once the other is out."""
    return 4 * c[:, :2].max(axis=1) + 1.4 * c[:, 2] + c[:, 3] + 0.1 * c[:, 4:].sum(axis=1)


def note(found, code):
    return next((one.message for one in found.fit.warnings if one.code == code), None)


def test_the_word_that_does_most_alone_comes_first():
    asked = []

    def function(c):
        asked.append(c)
        return both(c)

    probe = FunctionProbe(function, 30)
    blind = run(probe, "mase", design="focused(n_alone=0)", n_samples=985)
    own = blind.estimate.gamma
    asked.clear()
    led = run(probe, "mase", n_samples=1000)
    assert np.argsort(-own)[:4].tolist() in ([0, 1, 2, 3], [1, 0, 2, 3])
    assert np.argsort(-led.estimate.gamma)[0] == 2
    assert np.delete(led.estimate.gamma, 2) == pytest.approx(np.delete(own, 2), abs=1e-12)
    assert own.max() < led.estimate.gamma[2] == pytest.approx(own.max(), rel=2e-6)
    alone = next(block for block in asked if len(block) == 15)
    assert (alone.sum(axis=1) == 29).all()
    assert np.flatnonzero((alone == 0).any(axis=0)).tolist() == sorted(np.argsort(-own)[:15])
    assert led.fit.n_queries == blind.fit.n_queries + 15
    assert led.fit.r2 == pytest.approx(blind.fit.r2)
    assert (led.lead.coordinate, led.lead.score) == (2, pytest.approx(own[2]))
    assert led.lead.alone == pytest.approx(1.4)
    assert blind.lead is None


def test_nobody_leads_who_alone_does_no_more():
    """Where no word does anything alone, but for rounding, the order is that of the regression."""

    def function(c):
        rounding = 1e-6 * np.sin(1e4 * c @ np.arange(20))
        return 3 * c[:, :3].max(axis=1) + 3 * c[:, 3:6].max(axis=1) + rounding

    probe = FunctionProbe(function, 20)
    one, other = (run(probe, "mase", design=f"focused(n_alone={n})", n_samples=985 + n) for n in (0, 15))
    assert one.estimate.gamma.tolist() == other.estimate.gamma.tolist()
    assert other.lead is None


def test_nobody_leads_by_next_to_nothing():
    """The most that a word does alone is to be a tenth of the highest score: below that the order is the regression's."""
    led = []
    for own in (0.05, 0.1, 0.15, 0.25, 0.3, 0.4):
        probe = FunctionProbe(
            lambda c, own=own: 4 * c[:, :2].max(axis=1) + own * c[:, 2] + 0.01 * c[:, 3:].sum(axis=1), 30
        )
        blind, found = (run(probe, "mase", design=f"focused(n_alone={n})", n_samples=985 + n) for n in (0, 15))
        led.append(found.lead is not None)
        assert led[-1] == (own >= 0.1 * blind.estimate.gamma.max())
    assert led == sorted(led)
    assert set(led) == {False, True}


def test_a_phrase_that_no_row_holds_leads_nobody():
    found = run(FunctionProbe(lambda c: 5 * c[:, 5:25].prod(axis=1), 30), "mase")
    assert note(found, "constant") is not None
    assert not found.estimate.gamma.any()


def test_words_against_the_class_never_lead():
    """With few words all are candidates; one whose coefficient is negative stays where it is, whatever it does alone."""
    probe = FunctionProbe(
        lambda c: c[:, 0] - c[:, 1] + 4 * c.prod(axis=1) * c[:, 1] + 2 * (c[:, 2] - 1) * (1 - c[:, 1]), 8
    )
    gamma = run(probe, "mase", design="focused(n_alone=0)", n_samples=992).estimate.gamma
    led = run(probe, "mase", n_samples=1000).estimate.gamma
    assert (led[gamma <= 0] == gamma[gamma <= 0]).all()


def test_how_many_words_compete_for_the_first_place():
    design = Focused()
    assert (design.candidates(1000, 40), design.candidates(1000, 9), design.candidates(100, 40)) == (15, 9, 12)
    # None where one alone would compete, and where fewer than two rows per word would be left.
    assert design.candidates(1000, 1) == design.candidates(15, 5) == Focused(n_alone=0).candidates(1000, 40) == 0
    assert (design.candidates(90, 40), design.candidates(91, 40)) == (0, 11)


def test_a_leader_is_one_of_the_words_that_are_certain():
    """A rule about the top words holds for what is returned: the leader comes from among them; few rows, few candidates."""
    probe = FunctionProbe(lambda c: c @ np.linspace(3, 0.1, 30) - 6 * ((1 - c[:, 8]) * (c.sum(axis=1) == 29)), 30)
    assert np.argmax(run(probe, "mase").estimate.gamma) == 8
    law, rng = resolve("mase", link="logit"), np.random.default_rng
    found = measure(probe, law, 0, rng(0), Effort(stopping=Stopping(stable_top=5)))
    assert set(np.argsort(-found.estimate.gamma)[:5]) == {0, 1, 2, 3, 4}
    found = measure(probe, law, 0, rng(0), Effort(stopping=Stopping(tolerance=0.1)))
    assert max(size for size in probe.batches[-2:]) <= found.fit.n_queries // 8 + 1

"""Tests of `mase.metrics.infidelity`."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.unit.metrics.additive import additive, case, worths

from mase import METHODS, Explainer
from mase.errors import CapabilityError, MaseError, OptionError
from mase.methods import resolve
from mase.metrics.evaluator import Evaluator
from mase.metrics.infidelity import Infidelity, infidelities
from mase.metrics.masking import masker
from mase.metrics.protocol import Instance
from mase.models import Callable, load
from mase.models.protocol import Binding
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample
from mase.spaces.token_scale import TokenScale
from mase.units.grouping import group
from mase.units.word import Word

TEXT = "the cast is superb but the plot is dull and that's all"


WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "good": 0.09, "all": 0.03, "but": -0.05}


def test_infidelity_in_one_slow_line_and_least_squares_is_its_minimum():
    rng = np.random.default_rng(0)
    z, d, gamma = rng.normal(size=(50, 4)), rng.normal(size=50), rng.normal(size=4)
    gamma *= np.sign(np.mean(d * (z @ gamma)))
    plain = np.mean([(d[i] - z[i] @ gamma) ** 2 for i in range(50)])
    beta = np.mean(d * (z @ gamma)) / np.mean((z @ gamma) ** 2)
    assert beta > 0
    scaled = np.mean((d - beta * (z @ gamma)) ** 2)
    assert np.allclose(infidelities(gamma, z, d), [plain, scaled, scaled / np.mean(d**2)])
    assert np.allclose(infidelities(7 * gamma, z, d)[1:], [scaled, scaled / np.mean(d**2)])
    best = np.linalg.lstsq(z, d, rcond=None)[0]
    assert infidelities(best, z, d)[0] < min(infidelities(best + step, z, d)[0] for step in 0.1 * np.eye(4))
    assert infidelities(best, z, d)[0] == pytest.approx(infidelities(best, z, d)[1])
    assert np.isnan(infidelities(gamma, z[:0], d[:0])).all()
    assert infidelities(0 * gamma, z, d)[2] == 1
    # No factor turns the scores round: their opposite explains nothing.
    assert infidelities(-gamma, z, d)[1:].tolist() == [np.mean(d**2), 1]
    assert infidelities(-best, z, d)[2] == 1


def test_infidelity_asks_once_for_all_methods_of_a_text():
    asked = []

    def count(texts):
        asked.append(len(texts))
        return additive(texts)

    evaluator = Evaluator(Callable(count, labels=["neg", "pos"]), methods=[], metrics={"inf": Infidelity(n_samples=64)})
    evaluator(TEXT, {"one": WORTH})
    alone, asked[:] = sum(asked), []
    both = evaluator(TEXT, {"one": WORTH, "two": {word: -worth for word, worth in WORTH.items()}})
    assert sum(asked) == alone
    assert both.by_method["one"].values[2] < 1e-20
    assert both.by_method["two"].values[2] == 1
    again = Instance(evaluator.model, TEXT, 1, masker(evaluator.model, TEXT), worths(), seed=1)
    shared = replace(again, seed=2)
    assert shared.cache is again.cache
    Infidelity(n_samples=64).evaluate(again)
    for other in (shared, replace(again, target=0)):  # another seed, another question: asked anew
        asked.clear()
        Infidelity(n_samples=64).evaluate(other)
        assert sum(asked) >= 64


def test_the_texts_of_one_sign_are_not_those_of_the_other(lstm_model):
    """The metrics of a text share what was asked of it, but x - Z and x + Z are different texts."""
    bound = masker(lstm_model, TEXT)
    scores = np.random.default_rng(0).normal(size=len(bound.words))
    shared = Instance(lstm_model, TEXT, 0, bound, scores)
    both = [Infidelity(n_samples=32, sign=sign).evaluate(shared) for sign in (-1, 1)]
    alone = [
        Infidelity(n_samples=32, sign=sign).evaluate(Instance(lstm_model, TEXT, 0, bound, scores)) for sign in (-1, 1)
    ]
    assert np.array_equal(both, alone)
    assert both[0][0] != both[1][0]


def test_tables_show_what_can_be_compared_between_links():
    assert [column.name for column in Infidelity().columns if column.headline] == ["scaled", "unexplained"]


def test_infidelity_asks_at_the_perturbed_texts(lstm_model, monkeypatch):
    """The plain number is the mean of (f(1 + z) - f(1) - z'gamma)^2 over the z that the model was asked about."""
    gamma = np.array(Explainer(lstm_model, method="mase-paper", n_samples=200)(TEXT, target=0).scores)
    bound = masker(lstm_model, TEXT)
    tokens = lstm_model.encode(TEXT)
    words = group(tokens, Word())
    probe = lstm_model.bind(Binding(tokens, TokenScale(), np.array(words.of_token), len(words), (0,), 0.0))
    asked, opened = [], type(probe).opened

    @contextmanager
    def watched(self):
        with opened(self) as scores:
            yield lambda c, rows: asked.append(c - 1) or scores(c, rows)

    def moves(metric, seed):
        asked.clear()
        with monkeypatch.context() as patch:
            patch.setattr(type(probe), "opened", watched)
            plain, *_ = metric.evaluate(Instance(lstm_model, TEXT, 0, bound, gamma, seed=seed))
        z = np.concatenate(asked)
        logits = probe.scores(1 + z, np.arange(len(z)))
        changes = np.exp(logits[:, 0]) / np.exp(logits).sum(axis=1) - bound.text_probabilities[0]
        assert plain == pytest.approx(((changes - z @ gamma) ** 2).mean(), rel=1e-4)
        return z

    z = moves(Infidelity(n_samples=64), 0)
    assert z.shape == (64, len(words))
    assert np.allclose(moves(Infidelity(n_samples=64, sign=1), 0), -z)
    assert not np.allclose(moves(Infidelity(n_samples=64), 1), z)


def test_mase_is_more_faithful_than_random_scores_and_than_its_opposite(lstm_model):
    gamma = np.array(
        Explainer(lstm_model, method="mase-paper", design="orthogonal", estimator="least-squares")(TEXT).scores
    )
    bound = masker(lstm_model, TEXT)
    rng = np.random.default_rng(0)
    unexplained = [
        Infidelity(n_samples=200).evaluate(Instance(lstm_model, TEXT, bound.target, bound, scores))
        for scores in (gamma, rng.permutation(gamma), -gamma)
    ]
    assert unexplained[0][0] < min(unexplained[1][0], unexplained[2][0])
    assert unexplained[0][2] < 0.1 < unexplained[1][2]


def test_infidelity_of_a_black_box_takes_words_out(additive_model):
    plain, scaled, unexplained = Infidelity(n_samples=64).evaluate(case(additive_model))
    assert max(plain, scaled, unexplained) < 1e-20
    for name in ("occlusion", "mase-cone"):
        if name in METHODS:
            with pytest.raises((OptionError, CapabilityError)):
                Infidelity(perturbation=name).evaluate(case(load("lstm-imdb"), scores=worths()))


def test_infidelity_of_a_law_beside_the_text_is_asked_where_it_draws(lstm_model):
    for distribution in ("mase-path", resolve("mase-nlgp", center=0.5)):
        with pytest.raises(OptionError, match=r"not symmetric about the text.*use sign=1"):
            Infidelity(perturbation=distribution, n_samples=20).evaluate(case(lstm_model))
        assert np.isfinite(Infidelity(perturbation=distribution, n_samples=20, sign=1).evaluate(case(lstm_model))).all()


@dataclass(frozen=True, slots=True)
class Coins:
    """The design of another package: fair coins, with a weight that may be larger for the first row."""

    first: float = 1.0
    rounds: int = 1

    def distribution(self, scale):
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(self, rng, n, distribution, gamma=None):
        rows = rng.integers(0, 2, (n, distribution.covariance.size)).astype(float)
        weights = np.r_[self.first, np.ones(n - 1)]
        return Sample(rows, rows - 0.5, weights, False, 0.5, distribution.covariance)


def test_designs_of_other_packages_perturb_if_their_rows_have_one_distribution(additive_model):
    coins = resolve("mase-mask", design=Coins())
    assert max(Infidelity(perturbation=coins, n_samples=64).evaluate(case(additive_model))) < 1e-20
    for design in (Coins(first=2.0), Coins(rounds=3), "leave-one-out", "lime", "focused"):
        method = resolve("mase-mask", design=design)
        with pytest.raises(OptionError, match="expected rows drawn from one distribution"):
            Infidelity(perturbation=method, n_samples=64).evaluate(case(additive_model))


@pytest.mark.parametrize("unit", [1e-200, 1e100])
def test_infidelity_at_the_best_scale_has_no_unit(unit):
    rng = np.random.default_rng(0)
    moves, scores = rng.standard_normal((50, 4)), rng.standard_normal(4)
    changes = moves @ scores + 0.1 * rng.standard_normal(50)
    assert infidelities(unit * scores, moves, changes)[1:] == pytest.approx(infidelities(scores, moves, changes)[1:])
    with pytest.raises(MaseError, match="overflows, expected smaller scores"):
        infidelities(1e200 * scores, moves, changes)


def test_perturbations_are_not_the_rows_that_were_explained():
    """Scores fit the rows that they were estimated from better than others, even those of a model without order."""
    asked = set()

    def predict(texts):
        asked.update(texts)
        return additive(texts)

    model, text = Callable(predict, labels=["neg", "pos"]), " ".join(f"word{number}" for number in range(20))
    found = Explainer(model, method="mase-mask", n_samples=64, seed=3)(text, target=1)
    bound, explained = masker(model, text), set(asked)
    asked.clear()
    Infidelity("mase-mask", n_samples=64).evaluate(Instance(model, text, 1, bound, np.array(found.scores), seed=3))
    assert len(asked) > 60
    assert len(asked & explained) < 6

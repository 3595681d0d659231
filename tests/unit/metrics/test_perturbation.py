"""Tests of `mase.metrics.perturbation`."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats
import torch
from tests.unit.metrics.additive import TEXT, additive, case, worths

from mase import METHODS, Explainer
from mase.attribution.response import ranking
from mase.errors import CapabilityError, MaseError, OptionError, ShapeError
from mase.methods import resolve
from mase.metrics import METRICS
from mase.metrics.base import Instance
from mase.metrics.evaluation import Evaluator, evaluate
from mase.metrics.masking import masker
from mase.metrics.perturbation import (
    Infidelity,
    MaxSensitivity,
    Nearby,
    SeedAgreement,
    infidelities,
    jaccard,
    spearman,
    top_overlap,
)
from mase.models import Callable, TorchModule, load
from mase.models.base import Binding
from mase.solve.distributions import Covariance
from mase.solve.problem import Design, Distribution, Sample
from mase.spaces import TokenScale
from mase.testing import whitespace_ids
from mase.units.splitters import Word, group


def test_agreement_against_scipy_and_sets():
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, two = rng.integers(0, 6, size=(2, 12)).astype(float)
        assert spearman(one, two) == pytest.approx(scipy.stats.spearmanr(one, two).statistic)
        a, b = set(ranking(one)[:4].tolist()), set(ranking(two)[:4].tolist())
        assert jaccard(one, two, 4) == len(a & b) / len(a | b)
        assert top_overlap(one, two, 4) == len(a & b) / 4
    assert jaccard(one, two, 99) == top_overlap(one, two, 99) == 1
    assert np.isnan(spearman([1.0, 1.0], [1.0, 2.0]))
    with pytest.raises(ShapeError, match="same words"):
        spearman([1.0], [1.0, 2.0])
    with pytest.raises(OptionError):
        jaccard([1.0], [1.0], 0)


def test_rounding_is_no_order():
    """Scores within 1e-9 of the largest are ties, as where words are ranked."""
    rng = np.random.default_rng(1)
    for size in (1e-6, 1.0, 1e6):
        one, two = rng.integers(0, 4, size=(2, 12)) * size
        noisy = one + rng.uniform(-1e-12, 1e-12, 12) * size
        assert spearman(noisy, two) == pytest.approx(scipy.stats.spearmanr(one, two).statistic)
        assert spearman(noisy, one) == pytest.approx(1)
    assert np.isnan(spearman([1.0, 1.0 + 1e-12, 1.0], [3.0, 2.0, 1.0]))


def test_seeds_agree_on_the_top_words_only_where_others_are_left(additive_model):
    """The ten best of ten words are the same in any order, so that they tell nothing."""
    words = TEXT.split()
    for n, k in ((12, 10), (10, 10), (3, 10), (3, 2)):
        text = " ".join(words[:n])
        drawn = [np.random.default_rng(seed).permutation(n) for seed in range(3)]
        one = case(additive_model, text, worths(text), rescore=lambda _, seed, drawn=drawn: drawn[seed].astype(float))
        correlation, overlap = SeedAgreement(k=k).evaluate(one)
        assert correlation == pytest.approx(np.mean([spearman(worths(text), other) for other in drawn[1:]]))
        expected = np.mean([jaccard(worths(text), other, k) for other in drawn[1:]]) if n > k else np.nan
        assert overlap == pytest.approx(expected, nan_ok=True)


INFIDELITY_TEXT = "the cast is superb but the plot is dull and that's all"


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
    evaluator(INFIDELITY_TEXT, {"one": WORTH})
    alone, asked[:] = sum(asked), []
    both = evaluator(INFIDELITY_TEXT, {"one": WORTH, "two": {word: -worth for word, worth in WORTH.items()}})
    assert sum(asked) == alone
    assert both.by_method["one"].values[2] < 1e-20
    assert both.by_method["two"].values[2] == 1
    again = Instance(evaluator.model, INFIDELITY_TEXT, 1, masker(evaluator.model, INFIDELITY_TEXT), worths(), seed=1)
    shared = replace(again, seed=2)
    assert shared.cache is again.cache
    Infidelity(n_samples=64).evaluate(again)
    for other in (shared, replace(again, target=0)):  # another seed, another question: asked anew
        asked.clear()
        Infidelity(n_samples=64).evaluate(other)
        assert sum(asked) >= 64


def test_the_texts_of_one_sign_are_not_those_of_the_other(lstm_model):
    """The metrics of a text share what was asked of it, but x - Z and x + Z are different texts."""
    bound = masker(lstm_model, INFIDELITY_TEXT)
    scores = np.random.default_rng(0).normal(size=len(bound.words))
    shared = Instance(lstm_model, INFIDELITY_TEXT, 0, bound, scores)
    both = [Infidelity(n_samples=32, sign=sign).evaluate(shared) for sign in (-1, 1)]
    alone = [
        Infidelity(n_samples=32, sign=sign).evaluate(Instance(lstm_model, INFIDELITY_TEXT, 0, bound, scores))
        for sign in (-1, 1)
    ]
    assert np.array_equal(both, alone)
    assert both[0][0] != both[1][0]


def test_tables_show_what_can_be_compared_between_links():
    assert [column.name for column in Infidelity().columns if column.headline] == ["scaled", "unexplained"]


def test_infidelity_asks_at_the_perturbed_texts(lstm_model, monkeypatch):
    """The plain number is the mean of (f(1 + z) - f(1) - z'gamma)^2 over the z that the model was asked about."""
    gamma = np.array(Explainer(lstm_model, method="mase-paper", n_samples=200)(INFIDELITY_TEXT, target=0).scores)
    bound = masker(lstm_model, INFIDELITY_TEXT)
    tokens = lstm_model.encode(INFIDELITY_TEXT)
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
            plain, *_ = metric.evaluate(Instance(lstm_model, INFIDELITY_TEXT, 0, bound, gamma, seed=seed))
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
        Explainer(lstm_model, method="mase-paper+design=orthogonal+estimator=least-squares")(INFIDELITY_TEXT).scores
    )
    bound = masker(lstm_model, INFIDELITY_TEXT)
    rng = np.random.default_rng(0)
    unexplained = [
        Infidelity(n_samples=200).evaluate(Instance(lstm_model, INFIDELITY_TEXT, bound.target, bound, scores))
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
class Coins(Design):
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


MAX_SENSITIVITY_TEXT = "the cast is superb but the plot is dull and that's all"


def test_max_sensitivity_is_the_largest_relative_change(lstm_model):
    bound, seen, seeds = masker(lstm_model, MAX_SENSITIVITY_TEXT), [], []

    def rescore(model, seed):
        found = Explainer(model, method="mase-paper", n_samples=64, seed=seed)(MAX_SENSITIVITY_TEXT, target=0).scores
        seen.append((model, np.array(found)))
        seeds.append(seed)
        return found

    base = np.array(rescore(lstm_model, 5))
    one = Instance(lstm_model, MAX_SENSITIVITY_TEXT, 0, bound, base, 5, rescore)
    (found,) = MaxSensitivity(radius=0.1, n_draws=3).evaluate(one)
    assert seeds == [5] * 4  # so that sampling error is no sensitivity
    assert found == pytest.approx(max(np.sqrt(((s - base) ** 2).sum() / (base**2).sum()) for _, s in seen[1:]))
    factors = np.array([model.factors for model, _ in seen[1:]])
    assert 0.9 <= factors.min() < 0.93
    assert 1.07 < factors.max() <= 1.1
    assert found > MaxSensitivity(radius=0.001, n_draws=3).evaluate(one)[0] > 0
    assert np.isnan(MaxSensitivity().evaluate(replace(one, scores=0 * base))).all()


def test_neighbours_in_half_precision(mlp_model, fast_bfloat16):
    """The neighbour's scores are those of half precision too, so that the metric compares like with like."""
    texts, metrics, n = [MAX_SENSITIVITY_TEXT], ["max-sensitivity"], 64
    exact, half = (
        evaluate(mlp_model, texts, ["lime"], metrics=metrics, n_samples=n, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    ours, theirs = exact.summaries("lime")[0].mean, half.summaries("lime")[0].mean
    assert ours / 2 < theirs < 2 * ours
    assert theirs != ours
    with pytest.raises(OptionError, match="precision"):
        evaluate(mlp_model, texts, [], metrics=metrics, precision="float16")


def test_neighbours_without_instructions_for_half_precision(lstm_model, slow_bfloat16):
    exact, asked = (
        evaluate(
            lstm_model,
            [MAX_SENSITIVITY_TEXT],
            ["mase-nlgp"],
            metrics=["max-sensitivity"],
            n_samples=64,
            precision=precision,
        )
        for precision in ("float32", "bfloat16")
    )
    assert asked.summaries("mase-nlgp")[0].mean == exact.summaries("mase-nlgp")[0].mean


def test_what_has_no_neighbours_is_said(additive_model, lstm_model):
    def rescore(model, seed):
        return Explainer(model, method="mase", seed=seed, n_samples=64)(MAX_SENSITIVITY_TEXT).scores

    with pytest.raises(CapabilityError, match="expected a model with embeddings"):
        MaxSensitivity().evaluate(case(additive_model, rescore=rescore))
    for metric in (METRICS["max-sensitivity"](), METRICS["seed-agreement"]()):
        with pytest.raises(CapabilityError, match="given attributions"):
            metric.evaluate(case(additive_model))
    with pytest.raises(CapabilityError, match="one per word"):
        Explainer(Nearby(lstm_model, np.ones(2)))(MAX_SENSITIVITY_TEXT)


@pytest.mark.parametrize("method", ["standard-gaussian", "smoothgrad", "mase-cone", "mase-paper", "mase"])
def test_the_neighbour_at_no_distance_is_the_model_itself(method, lstm_model):
    words = "one two three four five"
    ours, near = (
        Explainer(model, method=method, n_samples=64)(words, target=0)
        for model in (lstm_model, Nearby(lstm_model, np.ones(5)))
    )
    assert np.allclose(near.scores, ours.scores, atol=1e-6)
    assert near.prediction.probability == pytest.approx(ours.prediction.probability, abs=1e-6)


def test_answers_that_are_not_finite_where_words_are_deleted_are_an_error(small_lstm):
    class Short(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small_lstm

        def forward(self, ids):
            return self.inner(ids) if ids.shape[1] > 2 else torch.full((len(ids), 2), torch.nan)

    model = TorchModule(Short(), tokenize=whitespace_ids, labels=["neg", "pos"], embedding="inner.words", pad_id=0)
    bound = masker(model, "one two three four", "delete")
    bound.probabilities(np.array([[True, True, True, False]]))
    with pytest.raises(MaseError, match="not finite"):
        bound.probabilities(np.array([[True, False, False, False]]))


def test_a_neighbour_is_the_model_with_other_embeddings(small_lstm, lstm_model):
    words = "one two three four five"
    factors = np.array([1.3, 0.8, 1.1, 0.9, 1.2])
    near = Explainer(Nearby(lstm_model, factors), method="mase-paper", n_samples=64)(words, target=0)
    gradient = Explainer(Nearby(lstm_model, factors), method="mase-gradient", n_samples=8)(words, target=0)
    norms = Explainer(Nearby(lstm_model, factors), method="gradient")(words, target=0)
    with torch.no_grad():
        for index, factor in zip(whitespace_ids(words), factors, strict=True):
            small_lstm.words.weight[index] *= factor
    moved = Explainer(lstm_model, method="mase-paper", n_samples=64)(words, target=0)
    assert np.allclose(near.scores, moved.scores, atol=1e-5)
    assert near.prediction.probability == pytest.approx(moved.prediction.probability, abs=1e-6)
    by_gradient = Explainer(lstm_model, method="mase-gradient", n_samples=8)(words, target=0)
    assert np.allclose(gradient.scores, by_gradient.scores, atol=1e-5)
    assert np.allclose(norms.scores, Explainer(lstm_model, method="gradient")(words, target=0).scores, atol=1e-5)


def test_a_neighbours_own_scores_are_asked_once(lstm_model, monkeypatch):
    tokens = lstm_model.encode("one two three")
    binding = Binding(tokens, TokenScale(), np.arange(3), 3, (0,), 0.0)
    kind, asked = type(lstm_model.bind(binding)), []
    whole = kind.scores
    monkeypatch.setattr(kind, "scores", lambda self, c, rows: asked.append(len(c)) or whole(self, c, rows))
    probe = Nearby(lstm_model, np.full(3, 1.1)).bind(binding)
    assert np.array_equal(probe.start, probe.start)
    assert probe.n_setup - lstm_model.bind(binding).n_setup == sum(asked) == 1
    assert np.array_equal(probe.start, whole(probe.probe, np.full((1, 3), 1.1), np.zeros(1, dtype=int)))


@pytest.mark.parametrize(("method", "what"), [("permutation-importance", "exchange words"), ("deep-shap", "DeepLIFT")])
def test_methods_without_neighbours_say_so(method, what):
    model = load("lstm-imdb")
    metrics = {"sensitivity": MaxSensitivity(n_draws=1)}
    with pytest.raises(CapabilityError, match=rf"{what}.* cannot explain the neighbours of a text, which max-sens"):
        Evaluator(model, methods=[method], metrics=metrics, n_samples=20)("a superb film")
    (found,) = Evaluator(model, methods=["gradient"], metrics=metrics)("a superb film").by_method["gradient"].values
    assert 0 < found < 1


def test_infidelity_masks_words_by_the_operator():
    def predict(texts):
        scores = [0.4 + 0.3 * ("superb" in text) - 0.05 * text.count("[MASK]") for text in texts]
        return [[1 - score, score] for score in scores]

    text, by_token = "a superb film that is fine", Callable(predict, labels=["neg", "pos"], mask_token="[MASK]")
    options = {"methods": ["random"], "metrics": ["infidelity"]}
    plain = Callable(predict, labels=["neg", "pos"])
    masked, deleted = (
        evaluate(by_token, [text], operator=name, **options).values("random") for name in ("mask", "delete")
    )
    assert np.array_equal(deleted, evaluate(plain, [text], **options).values("random"))
    assert not np.allclose(masked, deleted)
    chosen = {"mine": Infidelity(resolve("mase-mask", reference="mask"), n_samples=64)}
    own = [
        evaluate(by_token, [text], ["random"], metrics=chosen, operator=name).values("random")
        for name in ("mask", "delete")
    ]
    assert np.array_equal(*own)

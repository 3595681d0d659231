"""Section "Connection to Existing Explanations" (R20 to R24) and R32: each proposition as an equality that can fail."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.linear_model import Ridge as SklearnRidge
from tests.regressions import run

import mase
from mase.designs import DESIGNS
from mase.estimators.linear import FixedRidge
from mase.estimators.sparse import Lasso
from mase.methods import METHODS, resolve
from mase.models import load
from mase.solve.distributions import covariance
from mase.solve.problem import Problem
from mase.testing import linear, smooth

TEXT = "slow and dull , yet good in places"
RNG = np.random.default_rng(7)


def ends(probe):
    return np.diff(probe.function(np.array([[0.0] * probe.size, [1.0] * probe.size])))[0]


# --- R20: LIME ------------------------------------------------------------------------------------


def lime_problem(name, p=9, n=300):
    design, probe = DESIGNS[name](), smooth(p)
    sample = design.draw(np.random.default_rng(1), n, design.distribution(np.ones(p)))
    return sample, sample.problem(probe.function(sample.coordinates), None)


def test_lime_of_the_paper_weighs_by_cosine_distance_and_bounds_the_l1_norm():
    sample, problem = lime_problem("lime-paper")
    cosine = [1 - row @ np.ones(9) / max(np.linalg.norm(row) * 3, 1e-12) for row in sample.coordinates]
    assert sample.weights == pytest.approx(np.exp(-np.square(cosine) / 0.25**2), rel=1e-9)
    for alpha in (1e-3, 1e-2, 5e-2):
        package = SklearnLasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(problem.z, problem.y, problem.weights)
        own = Lasso(radius=float(np.abs(package.coef_).sum())).fit(problem).gamma
        assert own == pytest.approx(package.coef_, abs=1e-7)
        assert 0 < np.count_nonzero(own) <= 9


def test_lime_of_the_package_is_a_weighted_ridge_regression():
    sample, problem = lime_problem("lime")
    kept = sample.coordinates.sum(axis=1)
    distance = 100 * (1 - np.sqrt(kept / 9))
    assert sample.weights == pytest.approx(np.sqrt(np.exp(-(distance**2) / 25**2)), rel=1e-9)
    package = SklearnRidge(alpha=1.0).fit(sample.coordinates, problem.y, sample.weights)
    assert FixedRidge().fit(problem).gamma == pytest.approx(package.coef_, abs=1e-10)


# --- R21: Kernel SHAP -----------------------------------------------------------------------------


def shapley(probe):
    """Return the average of what each word adds, over all orders of the words."""
    p, found, count = probe.size, np.zeros(probe.size), 0
    for order in permutations(range(p)):
        rows = np.zeros((p + 1, p))
        for place, word in enumerate(order):
            rows[place + 1 :, word] = 1
        found[list(order)] += np.diff(probe.function(rows))
        count += 1
    return found / count


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6, 7])
def test_kernel_shap_of_all_coalitions_is_the_shapley_value(p):
    probe = smooth(p, seed=p)
    found = run(probe, "kernel-shap", n_samples=max(4, 2**p))
    assert found.estimate.gamma == pytest.approx(shapley(probe), abs=1e-9)
    assert not found.estimate.covariance.any()  # nothing was drawn
    assert 2**p < found.cost.n_queries <= 2**p + 5  # each coalition, and some again


@pytest.mark.parametrize("p", [8, 9, 10])
def test_kernel_shap_of_all_coalitions_is_the_shapley_value_by_subsets(p):
    probe = smooth(p)
    masks = (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(float)
    values, sizes = probe.function(masks), masks.sum(axis=1).astype(int)
    factorial = np.array([float(np.prod(np.arange(1, k + 1))) for k in range(p + 1)])
    exact = []
    for word in range(p):
        without = masks[:, word] == 0
        k = sizes[without]
        added = values[np.flatnonzero(without) + 2**word] - values[without]
        exact.append(np.sum(factorial[k] * factorial[p - k - 1] / factorial[p] * added))
    assert run(probe, "kernel-shap", n_samples=2**p).estimate.gamma == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("p", [12, 40])
def test_kernel_shap_within_a_budget(p):
    probe = smooth(p)
    runs = [run(probe, "kernel-shap", seed=seed, n_samples=500) for seed in range(12)]
    gammas = np.array([each.estimate.gamma for each in runs])
    assert gammas.sum(axis=1) == pytest.approx(np.full(12, ends(probe)), abs=1e-9)  # exact, however few were asked
    assert all(each.cost.n_queries <= probe.n_setup + 501 for each in runs)
    many = run(probe, "kernel-shap", seed=99, n_samples=20_000).estimate.gamma
    spread = np.sqrt(np.mean([np.diag(each.estimate.covariance) for each in runs], axis=0))
    assert (np.abs(gammas.mean(axis=0) - many) < 4 * spread / np.sqrt(12) + 1e-3).all()
    assert (
        0.3 < np.mean(gammas.std(axis=0, ddof=1) / spread) < 1.5
    )  # whole sizes are not drawn, so errors are rather too large


def test_the_kernel_is_counted_once():
    sample = DESIGNS["shapley"]().draw(np.random.default_rng(0), 400, DESIGNS["shapley"]().distribution(np.ones(20)))
    sizes = sample.coordinates.sum(axis=1).astype(int)
    assert sample.coordinates[:2].tolist() == [[1.0] * 20, [0.0] * 20]
    assert np.array_equal(sample.coordinates[0::2], 1 - sample.coordinates[1::2])
    weight = np.array([sample.weights[2:][np.minimum(sizes[2:], 20 - sizes[2:]) == k].sum() for k in range(1, 11)])
    kernel = np.array([(2 if k < 10 else 1) / (k * (20 - k)) for k in range(1, 11)])
    assert weight[0] / weight.sum() == pytest.approx(kernel[0] / kernel.sum(), rel=1e-9)  # size 1: all asked
    assert weight[1:] / weight.sum() == pytest.approx(kernel[1:] / kernel.sum(), abs=0.05)  # the others: drawn
    assert len({row.tobytes() for row in sample.coordinates}) == len(sample.coordinates)  # no question twice


# --- R22: completeness ----------------------------------------------------------------------------


def test_integrated_gradients_are_complete_and_any_deterministic_z_is():
    probe = smooth(12)
    found = run(probe, "integrated-gradients")
    assert found.estimate.gamma.sum() == pytest.approx(ends(probe), abs=1e-10)
    steps = (np.arange(20_000)[:, None] + 0.5) / 20_000
    assert found.estimate.gamma == pytest.approx(probe.slope(np.repeat(steps, 12, axis=1)).mean(axis=0), abs=1e-7)
    # Z = x - x_base, the same in every draw: Z Z^T has rank 1, so Theorem 2's inverse does not exist.
    z = np.ones((50, 12))
    assert np.linalg.matrix_rank(z.T @ z) == 1
    y = np.full(50, ends(probe))
    smallest = np.linalg.pinv(z.T @ z) @ z.T @ y
    assert smallest == pytest.approx(z[0] * ends(probe) / (z[0] @ z[0]), abs=1e-12)
    for gamma in (smallest, found.estimate.gamma):  # both are minimisers: infidelity 0, complete
        assert z @ gamma == pytest.approx(y, abs=1e-9)
    assert np.abs(smallest - found.estimate.gamma).max() > 0.01  # and there are others: completeness does not choose


@pytest.mark.parametrize("reference", ["zero", "unk", "pad"])
@pytest.mark.parametrize("link", ["probability", "log-probability", "logit", "margin"])
def test_integrated_gradients_of_a_network_are_complete(reference, link):
    model = load("lstm-imdb")
    white = mase.Explainer(model, method="integrated-gradients", reference=reference, link=link, evidence=0)(TEXT)
    box = mase.Explainer(model, method="kernel-shap", reference=reference, link=link, n_samples=40, evidence=0)(TEXT)
    assert white.scores.sum() == pytest.approx(box.scores.sum(), abs=1e-5 * np.abs(white.scores).max())
    assert white.fit.n_gradients == 100


def test_integrated_gradients_converge_where_a_network_has_kinks(lstm_model):
    """Its maximum over time switches words along the path."""
    box = mase.Explainer(lstm_model, method="kernel-shap", reference="mask", link="logit", n_samples=40, evidence=0)(
        TEXT
    )
    sums = [
        mase.Explainer(
            lstm_model, method="integrated-gradients", reference="mask", link="logit", n_samples=n, evidence=0
        )(TEXT)
        for n in (10, 4000)
    ]
    errors = [abs(each.scores.sum() - box.scores.sum()) / np.abs(each.scores).max() for each in sums]
    assert errors[1] < 1e-3
    assert errors[1] < 0.1 * errors[0]


def test_integrated_gradients_of_a_transformer_are_complete(small_bert):
    for reference in ("zero", "mask", "pad"):
        settings = {"reference": reference, "link": "logit"}
        white = mase.Explainer(*small_bert, method="integrated-gradients", n_samples=100, **settings, evidence=0)(TEXT)
        box = mase.Explainer(*small_bert, method="partition-shap", n_samples=4, **settings, evidence=0)(TEXT)
        assert white.scores.sum() == pytest.approx(box.scores.sum(), abs=1e-4 * np.abs(white.scores).max())


def test_integrated_gradients_and_gradient_times_input_are_captums(lstm_model):
    captum = pytest.importorskip("captum.attr")
    module = lstm_model.module.eval()
    ids = torch.tensor([lstm_model.encode(TEXT).ids])
    vectors = module.words(ids).detach().requires_grad_(True)

    def forward(embedded):
        states, _ = module.lstm(embedded)
        return module.head(states.max(dim=1).values)

    zero = torch.zeros_like(vectors)
    theirs = captum.IntegratedGradients(forward).attribute(vectors, zero, target=1, n_steps=200, method="gausslegendre")
    ours = mase.Explainer(lstm_model, method="integrated-gradients", link="logit", n_samples=200, evidence=0)(
        TEXT, target=1
    )
    assert ours.scores == pytest.approx(theirs[0].sum(dim=1).tolist(), abs=1e-5)
    theirs = captum.InputXGradient(forward).attribute(vectors, target=1)
    ours = mase.Explainer(lstm_model, method="gradient-x-input", link="logit", evidence=0)(TEXT, target=1)
    assert ours.scores == pytest.approx(theirs[0].sum(dim=1).tolist(), abs=1e-6)
    assert (ours.fit.n_queries, ours.fit.n_gradients) == (2, 1)


def test_gradient_times_input_is_mase_without_noise(lstm_model):
    limit = mase.Explainer(lstm_model, method="gradient-x-input", evidence=0)(TEXT).scores
    errors = [
        np.abs(mase.Explainer(lstm_model, method=resolve("mase-nlgp", sigma=s), evidence=0)(TEXT).scores - limit).max()
        for s in (0.3, 0.1, 0.03)
    ]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


# --- R23: occlusion -------------------------------------------------------------------------------


def test_occlusion_is_theorem_1_with_one_word_at_a_time():
    probe, p = smooth(12), 12
    rows = np.ones((p + 1, p))
    rows[np.arange(p), np.arange(p)] = 0
    values = probe.function(rows)
    found = run(probe, "occlusion")
    assert found.estimate.gamma == pytest.approx(values[p] - values[:p], abs=1e-12)
    # Theorem 2's closed form, Z = -e_i with i uniform: (E Z Z^T)^-1 E Z (F(1 + Z) - F(1)).
    z = -np.eye(p)
    closed = np.linalg.inv(z.T @ z / p) @ (z.T @ (values[:p] - values[p]) / p)
    assert found.estimate.gamma == pytest.approx(closed, abs=1e-12)
    assert probe.n_setup + p < found.cost.n_queries <= probe.n_setup + p + 5
    assert not found.estimate.covariance.any()
    assert not found.notes


def test_occlusion_of_a_network_is_leaving_out_one_word(lstm_model):
    found = mase.Explainer(lstm_model, method="occlusion", reference="mask", link="logit", evidence=0)(TEXT, target=1)
    module = lstm_model.module.eval()
    ids = torch.tensor([lstm_model.encode(TEXT).ids])
    masked = ids.repeat(ids.shape[1], 1).fill_diagonal_(2)
    with torch.no_grad():
        expected = (module(ids) - module(masked))[:, 1]
    assert found.scores == pytest.approx(expected.tolist(), abs=1e-6)


# --- R24: SmoothGrad ------------------------------------------------------------------------------


def test_smoothgrad_is_the_mean_gradient_of_noisy_embeddings_times_the_input(lstm_model):
    n, share = 4000, 0.15
    found = mase.Explainer(lstm_model, method="smoothgrad", link="logit", n_samples=n, evidence=0)(TEXT, target=1)
    module = lstm_model.module.eval()
    vectors = module.words(torch.tensor([lstm_model.encode(TEXT).ids])).detach()[0]
    sigma = share * (vectors.max() - vectors.min())
    torch.manual_seed(0)
    noisy = (vectors + sigma * torch.randn(n, *vectors.shape)).requires_grad_(True)
    states, _ = module.lstm(noisy)
    module.head(states.max(dim=1).values)[:, 1].sum().backward()
    each = (noisy.grad * vectors).sum(dim=2).double().numpy()
    error = np.sqrt(each.var(axis=0) / n + found.standard_errors**2)
    assert (np.abs(found.scores - each.mean(axis=0)) < 4 * error).all()
    assert error.max() < 0.1 * np.abs(found.scores).max()


def test_smoothgrad_tends_to_gradient_times_input(lstm_model):
    limit = mase.Explainer(lstm_model, method="gradient-x-input", link="logit", evidence=0)(TEXT).scores
    near = mase.Explainer(lstm_model, method="smoothgrad+sigma=1e-4", link="logit", evidence=0)(TEXT).scores
    assert near == pytest.approx(limit, abs=1e-2 * np.abs(limit).max())


# --- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    ["lime", "kernel-shap", "partition-shap", "occlusion", "gradient-x-input", "integrated-gradients", "sequential-ig"],
)
def test_on_a_linear_model_all_agree(method):
    gamma = RNG.standard_normal(15)
    found = run(linear(gamma), method).estimate.gamma
    if method == "lime":  # its penalty shrinks
        assert np.corrcoef(found, gamma)[0, 1] > 0.999
    else:
        assert found == pytest.approx(gamma, abs=1e-9)


def test_problems_without_exact_rows_are_least_squares():
    z = RNG.standard_normal((60, 4))
    problem = Problem(
        z, z @ np.arange(4.0) + 0.1 * RNG.standard_normal(60), np.ones(60), None, True, covariance(1.0, np.ones(4))
    )
    one, two = (METHODS[name].strategy.estimator.fit(problem) for name in ("kernel-shap", "mase-nlgp"))
    assert np.array_equal(one.gamma, two.gamma)


def test_few_rows_for_kernel_shap_say_so():
    probe = smooth(40)
    found = run(probe, "kernel-shap", n_samples=40)
    assert found.estimate.gamma.sum() == pytest.approx(ends(probe), abs=1e-9)
    assert "fallback" in [note.code for note in found.notes]


def test_lime_and_shap_find_the_same_words_of_a_real_review():
    model = load("lstm-imdb")
    text = "I went in expecting a dull film and left delighted: superb acting, a clever story and a wonderful ending"
    scores = [
        mase.Explainer(model, method=m, evidence=0)(text).scores
        for m in ("lime", "kernel-shap", "partition-shap", "mase-mask")
    ]
    assert min(spearmanr(a, b).statistic for a in scores for b in scores) > 0.7

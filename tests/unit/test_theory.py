"""The paper's mathematics, each statement against the formula in one slow line, brute force or a second library."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mase.designs import DESIGNS
from mase.designs.focused import Focused
from mase.errors import OptionError
from mase.estimators.dantzig import minimum_l1
from mase.estimators.lasso import Lasso, solve_lasso
from mase.estimators.least_squares import LeastSquares
from mase.estimators.ridge import Ridge
from mase.estimators.sparse import Sparse, soft_threshold
from mase.measure import Effort, measure
from mase.methods import resolve
from mase.regression.covariance import covariance
from mase.regression.problem import OwnLaw, Problem
from mase.regression.stopping import Stopping
from mase.testing import FunctionProbe, linear, quadratic, smooth

P = 20
RNG = np.random.default_rng(11)
GAMMA = RNG.standard_normal(P)
HESSIAN = RNG.standard_normal((P, P))
HESSIAN = HESSIAN + HESSIAN.T
CORRELATED = 0.01 * 0.5 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P)))
GAUSSIAN = [name for name in DESIGNS if name not in ("bernoulli", "path") and not isinstance(DESIGNS[name](), OwnLaw)]


def run(probe, method="mase-nlgp", seed=0, **overrides):
    return measure(probe, resolve(method, link="logit", **overrides), 0, np.random.default_rng(seed))


@pytest.mark.parametrize("design", GAUSSIAN)
@pytest.mark.parametrize("sigma", [0.1, CORRELATED])
@pytest.mark.parametrize("center", [1.0, 0.4])
def test_least_squares_is_exact_on_a_linear_model(design, sigma, center):
    found = run(linear(GAMMA), design=design, estimator="least-squares", sigma=sigma, center=center, n_samples=200)
    assert np.abs(found.estimate.gamma - GAMMA).max() < 1e-6
    assert found.fit.r2 == pytest.approx(1.0)


@pytest.mark.parametrize("design", ["antithetic", "orthogonal"])
def test_mirrored_rows_are_exact_on_a_quadratic_model(design):
    found = run(quadratic(GAMMA, HESSIAN), design=design, sigma=0.5, n_samples=200)
    assert np.abs(found.estimate.gamma - GAMMA).max() < 1e-6
    iid = run(quadratic(GAMMA, HESSIAN), design="iid", sigma=0.5, n_samples=200)
    assert np.abs(iid.estimate.gamma - GAMMA).max() > 1e-2  # the check above is not idle


def test_moment_is_theorem_1_to_the_letter():
    probe, sigma = smooth(P), CORRELATED
    found = run(probe, "mase-paper", sigma=sigma, n_samples=50, seed=5)
    rng = np.random.default_rng(5)
    z = rng.standard_normal((50, P)) @ np.linalg.cholesky(sigma).T
    slow = np.linalg.inv(sigma) @ np.mean(
        [(probe.function(1 + row[None])[0] - probe.function(np.ones((1, P)))[0]) * row for row in z], axis=0
    )
    assert found.estimate.gamma == pytest.approx(slow, rel=1e-9)


def test_moment_error_on_a_linear_model_is_sqrt_p_plus_1_over_n():
    n, draws = 400, 300
    errors = [
        np.sum((run(linear(GAMMA), "mase-paper", seed=seed, n_samples=n).estimate.gamma - GAMMA) ** 2)
        for seed in range(draws)
    ]
    relative = np.sqrt(np.mean(errors) / np.sum(GAMMA**2))
    band = 3 * np.std(errors) / np.mean(errors) / np.sqrt(draws) / 2
    assert relative == pytest.approx(np.sqrt((P + 1) / n), rel=band)


def test_moment_subtracts_the_text_itself():
    # Without f(x0) a constant of 1,000 would drown the signal.
    low, high = (run(linear(GAMMA, constant), "mase-paper").estimate.gamma for constant in (0.0, 1000.0))
    assert low == pytest.approx(high, abs=1e-6)


def test_moment_matched_rows_make_theorem_1_equal_least_squares():
    for sigma in (0.3, CORRELATED):
        for n in (P + 1, 100):
            first = run(smooth(P), design="moment-matched", estimator="moment", sigma=sigma, n_samples=n)
            if n > P + 3:
                second = run(smooth(P), design="moment-matched", estimator="least-squares", sigma=sigma, n_samples=n)
                assert np.abs(first.estimate.gamma - second.estimate.gamma).max() < 1e-9
    sample = DESIGNS["moment-matched"]().draw(np.random.default_rng(0), P + 1, _law(CORRELATED))
    assert np.abs(sample.deviations.mean(axis=0)).max() < 1e-12
    assert np.abs(sample.deviations.T @ sample.deviations / (P + 1) - CORRELATED).max() < 1e-12


def _law(sigma):
    from mase.regression.problem import Law

    return Law(1.0, covariance(sigma, np.ones(P)))


def test_stein_gradients_and_perturbations_agree_within_their_joint_interval():
    for sigma in (0.3, CORRELATED * 9):
        box = run(smooth(P), design="antithetic", sigma=sigma, n_samples=8000)
        white = run(smooth(P), "mase-gradient", sigma=sigma, n_samples=8000, seed=1)
        spread = np.sqrt(np.diag(box.estimate.covariance) + np.diag(white.estimate.covariance))
        assert (np.abs(box.estimate.gamma - white.estimate.gamma) < 4 * spread).all()
        assert spread.max() < 0.05 * np.abs(white.estimate.gamma).max()  # a narrow interval, not an empty promise
        assert white.fit.n_gradients == 8000


def test_small_sigma_tends_to_the_gradient():
    probe = smooth(P)
    gradient = probe.slope(np.ones((1, P)))[0]
    errors = [np.linalg.norm(run(probe, sigma=sigma).estimate.gamma - gradient) for sigma in (0.1, 0.01, 0.001)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_path_completes_the_difference_between_text_and_reference():
    probe = smooth(P)
    found = run(probe, "mase-path", sigma=0.02, n_samples=40_000).estimate
    whole = float(np.diff(probe.function(np.array([[0.0] * P, [1.0] * P])))[0])
    error = np.sqrt(found.covariance.sum())
    assert abs(found.gamma.sum() - whole) < 3 * error < 0.2 * abs(whole)
    local = run(probe, sigma=0.02).estimate
    assert abs(local.gamma.sum() - whole) > 10 * np.sqrt(local.covariance.sum())


def test_soft_threshold_is_the_linear_program_of_a_diagonal_sigma():
    b, tol = RNG.standard_normal(P), 0.4
    deviations = RNG.uniform(0.1, 2, P)
    assert soft_threshold(b, tol, deviations**2) == pytest.approx(
        _whole_program(np.diag(deviations**2), b, tol), abs=1e-9
    )


def _whole_program(matrix, b, tol):
    p = len(b)
    solved = linprog(
        np.ones(2 * p),
        np.block([[matrix, -matrix], [-matrix, matrix]]),
        np.concatenate([b + tol, tol - b]),
        bounds=(0, None),
    )
    return solved.x[:p] - solved.x[p:]


@pytest.mark.parametrize("correlation", [0.3, 0.9])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_generated_program_is_the_whole_program(correlation, share):
    p = 60
    matrix = 0.01 * correlation ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    b = matrix @ np.where(RNG.random(p) < 0.2, RNG.standard_normal(p), 0) + 1e-3 * RNG.standard_normal(p)
    tol = share * np.abs(b).max()
    found = minimum_l1(matrix, b, tol)
    assert np.abs(found).sum() == pytest.approx(np.abs(_whole_program(matrix, b, tol)).sum(), rel=1e-7)
    assert (np.abs(b - matrix @ found) - tol).max() / np.abs(b).max() <= 1e-8


def test_program_of_512_correlated_coordinates_meets_its_optimality_conditions():
    p, rng = 512, np.random.default_rng(2)
    matrix = 0.01 * 0.7 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    z = rng.standard_normal((1000, p)) @ np.linalg.cholesky(matrix).T
    truth = np.where(rng.random(p) < 0.06, rng.standard_normal(p), 0)
    b = (z * (z @ truth)[:, None]).mean(axis=0)
    tol = 0.1 * np.abs(b).max()
    found = minimum_l1(matrix, b, tol)
    scale = np.abs(b).max()
    residual = b - matrix @ found
    support, tight = np.flatnonzero(found), np.flatnonzero(np.abs(residual) > tol - 1e-9 * scale)
    assert (np.abs(residual) - tol).max() / scale <= 1e-8  # primal feasible
    # A dual certificate on the tight rows, S_tight' d = sign(g) on the support and |S' d| <= 1: the optimum's price.
    price, *_ = np.linalg.lstsq(matrix[np.ix_(tight, support)].T, np.sign(found[support]))
    assert np.abs(matrix[:, tight] @ price).max() <= 1 + 1e-8
    assert (price * residual[tight] >= -1e-8).all()
    gap = b[tight] @ price - tol * np.abs(price).sum() - np.abs(found).sum()
    assert abs(gap) / np.abs(found).sum() <= 1e-8


def test_sparse_keeps_the_ranking_of_theorem_1():
    dense = run(smooth(P), "mase-paper", sigma=0.3).estimate.gamma
    sparse = run(smooth(P), "mase-sparse", sigma=0.3).estimate.gamma
    kept = np.flatnonzero(sparse)
    assert 0 < len(kept) < P
    assert np.argsort(np.abs(sparse[kept])).tolist() == np.argsort(np.abs(dense[kept])).tolist()


def test_sparse_tolerances():
    z = RNG.standard_normal((500, P)) * 0.1
    problem = Problem(z, 0.2 + z @ GAMMA, np.ones(500), 0.2, True, covariance(0.1, np.ones(P)))
    b = np.mean((problem.y - 0.2)[:, None] * z, axis=0)
    absolute = Sparse(tol=0.004, relative=False).fit(problem).gamma
    assert absolute == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - 0.004, 0) / 0.01)
    universal = np.std((problem.y - 0.2)[:, None] * z, axis=0).max() * np.sqrt(2 * np.log(P) / 500)
    automatic = Sparse(tol="auto").fit(problem).gamma
    assert automatic == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - universal, 0) / 0.01)
    assert not Sparse(tol=1.0).fit(problem).gamma.any()


def test_empirical_gram_beats_the_law_on_a_sparse_model():
    truth = np.where(np.arange(80) % 16 == 0, 1.0, 0.0)
    z = np.random.default_rng(3).standard_normal((1000, 80)) * 0.1
    problem = Problem(z, z @ truth, np.ones(1000), 0.0, True, covariance(0.1, np.ones(80)))
    errors = {
        gram: np.abs(Sparse(tol=0.02, gram=gram).fit(problem).gamma - truth).max() for gram in ("law", "empirical")
    }
    assert errors["empirical"] < errors["law"] / 2


def test_lasso_meets_its_optimality_conditions_and_agrees_with_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    z = RNG.standard_normal((200, P))
    y = z @ GAMMA + RNG.standard_normal(200)
    gram, cross = z.T @ z / 200, z.T @ y / 200
    for radius in (0.5, 3.0, 8.0):
        found = solve_lasso(gram, cross, radius)
        assert np.abs(found).sum() == pytest.approx(radius)
        level = np.abs(cross - gram @ found).max()
        assert np.abs(cross - gram @ found)[found != 0] == pytest.approx(level)
        theirs = linear_model.Lasso(alpha=level, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(z, y).coef_
        assert found == pytest.approx(theirs, abs=1e-5)
    assert solve_lasso(gram, cross, np.inf) == pytest.approx(np.linalg.solve(gram, cross))


def test_lasso_with_an_isotropic_gram_projects_onto_the_l1_ball():
    b = RNG.standard_normal(P)
    found = solve_lasso(np.eye(P), b, 2.0)
    level = np.abs(b).max() - np.abs(found).max()
    assert found == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - level, 0))


def test_lasso_bound_can_be_absolute_or_a_share():
    problem = Problem(
        RNG.standard_normal((100, P)), RNG.standard_normal(100), np.ones(100), 0.0, True, covariance(1.0, np.ones(P))
    )
    full = np.abs(LeastSquares().fit(problem).gamma).sum()
    assert np.abs(Lasso(share=0.3).fit(problem).gamma).sum() == pytest.approx(0.3 * full)
    assert np.abs(Lasso(radius=0.01).fit(problem).gamma).sum() == pytest.approx(0.01)
    for estimator in (Lasso(), Lasso(share=0.3), Lasso(radius=0.01)):
        assert estimator.solve(problem).tolist() == estimator.fit(problem).gamma.tolist()


@pytest.mark.parametrize("apart", [0, 1e-8])
@pytest.mark.parametrize("binary", [False, True])
def test_lasso_where_two_coordinates_are_one(binary, apart):
    """The factor of a singular matrix may exist, by rounding, and mean nothing: the optimum is met all the same."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, 2, (30, 4)) - 0.5 if binary else rng.standard_normal((30, 4))
        z[:, 1] = z[:, 0] + apart * rng.standard_normal(30)
        gram, cross = z.T @ z / 30, z.T @ (z @ [1, 1, -1, 0.5]) / 30
        for radius in (0.5, 1.0, 2.0):
            found = solve_lasso(gram, cross, radius)
            correlation = cross - gram @ found
            assert np.abs(found).sum() == pytest.approx(radius, rel=1e-6)
            assert correlation @ found == pytest.approx(np.abs(correlation).max() * radius, rel=1e-5)


def test_lasso_keeps_its_bound_where_there_are_fewer_rows_than_coefficients():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 20))
        z = rng.integers(0, 2, (n, int(rng.integers(n, 2 * n)))) - 0.5
        z = (z - z.mean(axis=0)) * rng.uniform(0.3, 1, (n, 1))
        y = z @ rng.standard_normal(z.shape[1]) + 0.3 * rng.standard_normal(n)
        radius = 0.9 * np.abs(np.linalg.lstsq(z, y)[0]).sum()
        assert np.abs(solve_lasso(z.T @ z / n, z.T @ y / n, radius)).sum() <= radius * (1 + 1e-8), seed


@pytest.mark.parametrize("n_samples", [80, 82])
def test_kernel_shap_of_hardly_more_coalitions_than_words_is_no_noise(n_samples):
    """A square system would be solved to the digit, and say nothing: ridge regression answers, and says so."""
    full = run(smooth(40), "kernel-shap", n_samples=4000).estimate.gamma
    for seed in range(5):
        found = run(smooth(40), "kernel-shap", seed=seed, n_samples=n_samples)
        assert np.linalg.norm(found.estimate.gamma - full) < np.linalg.norm(full)
        assert "fallback" in {note.code for note in found.fit.warnings}
        assert np.sqrt(np.diag(found.estimate.covariance)).max() > 0.05 * np.abs(full).max()


@pytest.mark.parametrize("method", ["mase", "lime", "lime-paper"])
@pytest.mark.parametrize("estimator", ["moment", "sparse"])
def test_a_moment_of_one_law_is_not_taken_of_rows_of_several(method, estimator):
    with pytest.raises(OptionError, match="expected an estimator that regresses"):
        measure(linear(GAMMA), resolve(method, link="logit", estimator=estimator), 0, np.random.default_rng(0))


def test_weighted_least_squares_and_hc3_follow_their_formulas():
    n, p = 60, 4
    z, weights = RNG.standard_normal((n, p)), RNG.uniform(0.1, 2, n)
    y = z @ np.arange(1.0, p + 1) + 0.5 + RNG.standard_normal(n) * np.abs(z[:, 0])
    found = LeastSquares().fit(Problem(z, y, weights, None, True, covariance(1.0, np.ones(p))))
    design = np.column_stack([np.ones(n), z])
    inverse = np.linalg.inv(design.T @ np.diag(weights) @ design)
    beta = inverse @ design.T @ (weights * y)
    hat = np.sqrt(weights)[:, None] * design @ inverse @ (design * np.sqrt(weights)[:, None]).T
    scaled = np.sqrt(weights) * (y - design @ beta) / (1 - np.diag(hat))
    half = inverse @ (design * np.sqrt(weights)[:, None]).T * scaled
    assert found.gamma == pytest.approx(beta[1:])
    assert found.covariance == pytest.approx((half @ half.T)[1:, 1:])


def test_ridge_follows_its_formula_and_answers_with_too_few_rows():
    z, y = RNG.standard_normal((50, P)) * 0.1, RNG.standard_normal(50)
    found = Ridge(penalty=0.3).fit(Problem(z, y, np.ones(50), None, False, covariance(0.1, np.ones(P))))
    assert found.gamma == pytest.approx(np.linalg.solve(z.T @ z / 50 + 0.3 * 0.01 * np.eye(P), z.T @ y / 50))
    few = run(linear(GAMMA), n_samples=20)
    assert np.isfinite(few.estimate.gamma).all()
    assert np.isfinite(few.estimate.covariance).all()
    assert {"fallback", "few-samples"} <= {note.code for note in few.fit.warnings}
    assert few.fit.r2 is None or few.fit.r2 > 0.5  # the truth is linear


def test_a_penalty_that_all_rows_fit_through_is_none():
    """About as many rows as coordinates: on noise alone the criterion may choose next to none, a perfect fit."""
    rng = np.random.default_rng(5)
    for seed in range(40):
        z, y = rng.integers(0, 2, size=(20, 19)) - 0.5, np.random.default_rng(seed).standard_normal(20)
        assert Ridge().fit(Problem(z, y, np.ones(20), None, True, covariance(0.5, np.ones(19)))).dof <= 0.8 * 19 + 1e-9


def test_ridge_does_not_shrink_what_every_penalty_explains_as_well():
    """Fewer orthogonal rows than coordinates: the least of the penalties that are as good, not any."""
    z, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 20)))
    truth = z.T[3]
    y = z.T @ truth
    found = Ridge().fit(Problem(z.T, y, np.ones(20), None, False, covariance(1.0, np.ones(40))))
    assert found.gamma == pytest.approx(truth, abs=0.3 * float(np.linalg.norm(truth)))


def test_least_squares_leaves_few_spare_rows_to_ridge():
    """Scores of 100 words, 10 of which count, from rows that hardly outnumber them: the ranking must not be noise."""
    truth = np.zeros(100)
    truth[:10] = 1.0
    jumpy = FunctionProbe(lambda c: c @ truth + 2.0 * (c[:, 20] * c[:, 30] - c[:, 40] * c[:, 50]), 100)
    for n_samples in (105, 115, 140):
        found = run(jumpy, "mase", n_samples=n_samples)
        assert np.isin(np.argsort(-found.estimate.gamma)[:10], range(10)).mean() >= 0.8
        assert "fallback" in {note.code for note in found.fit.warnings}
    assert "fallback" not in {note.code for note in run(jumpy, "mase", n_samples=200).fit.warnings}


def _coverage(truth, seeds, probe, **overrides):
    inside, widths = [], []
    for seed in range(seeds):
        found = run(probe, seed=seed, **overrides)
        error = np.sqrt(np.diag(found.estimate.covariance))
        inside.append(np.abs(found.estimate.gamma - truth) < 1.96 * error)
        widths.append(error)
    assert np.mean(widths) > 0
    return float(np.mean(inside))


@pytest.mark.parametrize("method", ["mase-nlgp", "mase-paper", "mase-path", "mase-gradient"])
def test_intervals_cover_the_long_run_value(method):
    probe, options = smooth(12, seed=4), {"n_samples": 300, "sigma": 0.3}
    runs = [
        run(probe, method, seed=10_000 + seed, **(options | {"n_samples": 20_000})).estimate.gamma for seed in range(8)
    ]
    assert 0.93 <= _coverage(np.mean(runs, axis=0), 200, probe, method=method, **options) <= 0.97


@pytest.mark.parametrize("design", ["iid", "antithetic", "orthogonal"])
def test_intervals_of_least_squares_cover_under_each_random_design(design):
    probe, options = smooth(12, seed=8), {"n_samples": 300, "sigma": 0.5, "design": design}
    runs = [run(probe, seed=10_000 + seed, **(options | {"n_samples": 20_000})).estimate.gamma for seed in range(8)]
    assert 0.93 <= _coverage(np.mean(runs, axis=0), 200, probe, **options) <= 0.97


def test_moment_covariance_is_that_of_a_mean():
    found = [run(smooth(P), "mase-paper", seed=seed, sigma=0.3, n_samples=200).estimate for seed in range(200)]
    actual = np.std([estimate.gamma for estimate in found], axis=0)
    stated = np.sqrt(np.mean([np.diag(estimate.covariance) for estimate in found], axis=0))
    assert np.median(stated / actual) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("n_samples", [20, 40, 60])
def test_intervals_of_ridge_with_too_few_rows_are_wide_enough(n_samples):
    """With fewer pairs than coordinates most of the truth is out of sight; the intervals must not pretend otherwise."""
    inside = []
    for seed in range(60):
        truth = np.random.default_rng(1000 + seed).standard_normal(40)
        found = run(linear(truth), seed=seed, n_samples=n_samples)
        inside.append(np.abs(found.estimate.gamma - truth) < 1.96 * np.sqrt(np.diag(found.estimate.covariance)))
    assert np.mean(inside) > 0.9


def test_intervals_of_an_adaptive_design_are_as_wide_as_its_repetitions_differ():
    """Later rows depend on earlier answers; the error bars must still say how much a repetition would differ."""
    found = [run(smooth(12, seed=4), "mase", seed=seed, n_samples=300).estimate for seed in range(150)]
    actual = np.std([estimate.gamma for estimate in found], axis=0)
    stated = np.sqrt(np.mean([np.diag(estimate.covariance) for estimate in found], axis=0))
    assert np.median(stated / actual) == pytest.approx(1, abs=0.15)


def test_adaptive_rounds_turn_to_the_words_with_high_scores():
    """On a linear model the second round already knows the order: high words are out often, low ones seldom."""
    truth = np.linspace(3, -3, 30)
    asked = []

    def function(c):
        asked.append(c)
        return c @ truth

    found = run(FunctionProbe(function, 30), "mase", n_samples=5000)
    assert found.estimate.gamma == pytest.approx(truth, abs=1e-8)
    rows = np.concatenate([block for block in asked if len(block) > 1])
    assert len(rows) == 5001
    rows = np.delete(rows, 1, axis=0)  # the text itself, asked once more to compare
    out = 1 - rows[:4985].reshape(5, 997, 30).mean(axis=1)
    assert out[0] == pytest.approx(0.5, abs=0.06)
    expected = 0.1 + 0.8 / (1 + np.exp((np.arange(30) - 10) / 4))
    for later in out[1:]:
        assert later == pytest.approx(expected, abs=0.06)


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


def test_redundant_words_show_in_an_adaptive_design_only():
    """Four words that say the same: a model that needs one of them hides all four from a sample of fair coins."""
    probe = FunctionProbe(lambda c: 3 * c[:, :6].max(axis=1) + 0.3 * c[:, 6:8].sum(axis=1), 40)
    blind = run(probe, "mase-mask", n_samples=1000).estimate.gamma
    focused = run(probe, "mase", n_samples=1000).estimate.gamma
    assert blind[:6].max() < 0.15 < blind[6:8].min()
    assert focused[:6].min() > 1.5 * blind[:6].max()

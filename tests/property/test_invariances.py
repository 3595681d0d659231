import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.document import Document
from mase.estimators import ESTIMATORS
from mase.methods import resolve
from mase.pipeline import measure
from mase.solve.distributions import covariance
from mase.solve.problem import Problem
from mase.testing import FunctionProbe, smooth
from mase.text import Tokens, find_words
from mase.units.splitters import Word, group

QUICK = settings(max_examples=30, deadline=None)


@QUICK
@given(
    st.sampled_from(sorted(set(DESIGNS) - {"moment-matched"})),
    st.integers(1, 12),
    st.integers(4, 60),
    st.integers(0, 99),
)
def test_any_design_of_any_size(name, p, n, seed):
    design = DESIGNS[name]()
    assume(name != "leave-one-out" or n >= p)  # every word has its row
    sample = design.draw(np.random.default_rng(seed), n, design.distribution(np.ones(p)))
    rows = n - n % 2 if sample.paired else n
    assert sample.coordinates.shape == (rows if isinstance(design, Gaussian) else min(rows, len(sample.coordinates)), p)
    assert sample.weights.shape == (len(sample.coordinates),)
    assert np.isfinite(sample.coordinates).all()


@QUICK
@given(
    st.sampled_from(["moment", "least-squares", "ridge", "lasso", "sparse"]),
    st.floats(-100, 100).filter(lambda x: abs(x) > 0.01),
    st.floats(-100, 100),
    st.integers(0, 20),
)
def test_affine_responses_scale_the_scores(name, scale, shift, seed):
    rng = np.random.default_rng(seed)
    z = 0.1 * rng.standard_normal((80, 6))
    y, base = np.tanh(5 * z @ rng.standard_normal(6)), 0.1
    distribution, weights = covariance(0.1, np.ones(6)), np.ones(80)
    first = ESTIMATORS[name]().fit(Problem(z, y, weights, base, True, distribution))
    second = ESTIMATORS[name]().fit(Problem(z, scale * y + shift, weights, scale * base + shift, True, distribution))
    assert second.gamma == pytest.approx(scale * first.gamma, rel=1e-5, abs=1e-6 * abs(scale))
    assert np.sqrt(np.diag(second.covariance)) == pytest.approx(
        abs(scale) * np.sqrt(np.diag(first.covariance)), rel=1e-4, abs=1e-6 * abs(scale)
    )


@QUICK
@given(st.sampled_from(["moment", "least-squares", "ridge", "sparse"]), st.permutations(range(40)))
def test_order_of_rows_does_not_matter(name, order):
    rng = np.random.default_rng(0)
    z, order = 0.1 * rng.standard_normal((40, 5)), np.array(order)
    y, distribution = np.tanh(z @ np.arange(5.0)), covariance(0.1, np.ones(5))
    first = ESTIMATORS[name]().fit(Problem(z, y, np.ones(40), 0.0, True, distribution))
    second = ESTIMATORS[name]().fit(Problem(z[order], y[order], np.ones(40), 0.0, True, distribution))
    assert second.gamma == pytest.approx(first.gamma, abs=1e-9)


@QUICK
@given(st.permutations(range(6)), st.integers(0, 5))
@pytest.mark.slow
def test_renaming_coordinates_renames_scores_in_the_long_run(order, seed):
    probe, order = smooth(6), np.array(order)
    renamed = FunctionProbe(lambda c: probe.function(c[:, np.argsort(order)]), 6)
    method = resolve("mase-nlgp", link="logit", sigma=0.05, n_samples=400)
    first = measure(probe, method, 0, np.random.default_rng(seed)).estimate.gamma
    second = measure(renamed, method, 0, np.random.default_rng(seed)).estimate.gamma
    assert second == pytest.approx(first[order], abs=0.02 * np.abs(first).max())


@QUICK
@given(st.text(max_size=200))
def test_words_cover_every_visible_character_once(text):
    spans = find_words(text)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    covered = "".join(text[s:e] for s, e in spans)
    assert sum(c.isalnum() for c in covered) == sum(c.isalnum() for c in text)


@QUICK
@given(st.text(min_size=1, max_size=60), st.data())
def test_every_token_finds_its_word(text, data):
    cuts = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text)), max_size=10))})
    spans = tuple(itertools.pairwise(cuts))
    n = len(spans)
    given = Tokens(Document.of(text), tuple(range(n)), ("",) * n, spans, (False,) * n)
    words = group(given, Word())
    for (start, end), word in zip(spans, words.of_token, strict=True):
        piece = text[start:end]
        if not piece.strip():  # joins the token after it, if there is one
            assert word == -1 or words.spans[word][0] >= start or words.spans[word][1] >= end
            continue
        assert words.spans[word][0] <= start + len(piece) - len(piece.lstrip())
        assert end - len(piece) + len(piece.rstrip()) <= words.spans[word][1]

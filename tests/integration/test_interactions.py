"""Interactions of a bundled model on short texts, against the exact indices of all subsets of their words."""

import pytest
from tests.exact_interactions import banzhaf, shapley

import mase
from mase.designs.placement import subsets
from mase.models import bundled

TEXTS = [
    "a boring and stupid waste",
    "not only boring but also stupid",
    "hardly the worst film of the year",
    "great fun and a wonderful cast",
    "awful and boring and stupid",
]


@pytest.fixture(scope="module")
def model():
    return bundled.load("lstm-imdb")


@pytest.mark.parametrize("text", TEXTS)
def test_pairs_are_near_the_exact_shapley_interactions(model, text):
    """Of a classifier that reads a few words, triples matter little, and so both indices are nearly the same."""
    found = mase.explain(text, model, method="mase-mask")
    words = text.split()
    kept = subsets(len(words))
    masked = [" ".join(word if one else "<unk>" for word, one in zip(words, row, strict=True)) for row in kept]
    response = model.predict(masked)[:, list(model.labels).index(found.target)]
    exact, of_shapley = banzhaf(response, len(words)), shapley(response, len(words))
    assert found.interactions
    for pair in found.interactions:
        assert pair.score == pytest.approx(exact[pair.units], abs=1e-5)
        assert pair.score == pytest.approx(of_shapley[pair.units], abs=0.01)
        assert abs(pair.score) > 0.05
    strongest = max(of_shapley, key=lambda pair: abs(of_shapley[pair]))
    assert found.interactions[0].units == strongest

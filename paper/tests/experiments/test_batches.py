"""Tests of `mase_paper.experiments.batches`."""

import numpy as np
import pytest

from mase_paper.experiments.batches import batches, share


def test_batches_are_separate_where_the_texts_suffice():
    found = batches(3_500, 3)
    assert not found.resampled
    assert found.members == tuple(tuple(range(start, start + 1000)) for start in (0, 1000, 2000))
    hits = np.random.default_rng(0).random(3_500) < 0.2
    assert share(hits, 3).sd == pytest.approx(
        np.std([hits[:1000].mean(), hits[1000:2000].mean(), hits[2000:3000].mean()], ddof=1)
    )


def test_drawn_batches_spread_as_batches_of_a_thousand_texts_do():
    found = batches(1_963, 400)
    assert found.resampled
    assert {len(batch) for batch in found.members} == {1000}
    assert set().union(*found.members) == set(range(1_963))
    hits = np.arange(1_963) % 10 < 3
    assert share(hits, 400).sd == pytest.approx(np.sqrt(0.3 * 0.7 / 1000), rel=0.12)  # four standard errors of an sd

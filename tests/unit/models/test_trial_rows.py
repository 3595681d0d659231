"""Tests of `mase.models.trial_rows`."""

import numpy as np
import pytest

from mase.document import Document
from mase.errors import ShapeError
from mase.models.trial_rows import trial_rows, trial_scores
from mase.text import Tokens


def tokens(*ids, fixed=(1, 2)):
    marks = tuple(token in fixed for token in ids)
    spans = tuple(None if mark else (index, index + 1) for index, mark in enumerate(marks))
    return Tokens(Document.of("abcdefghij"), ids, tuple(map(str, ids)), spans, marks)


def test_rows_are_varied_between_the_fixed_tokens():
    batches = list(trial_rows(tokens(1, 5, 6, 7, 8, 9, 2)))
    assert [batch.shape for batch in batches] == [(8, 7), (8, 6), (8, 5), (8, 4)]
    for batch in batches:
        assert set(batch[:, 0]) == {1}
        assert set(batch[:, -1]) == {2}
        assert set(batch[:, 1:-1].flat) <= {5, 6, 7, 8, 9}
    means = np.concatenate([batch.mean(axis=1) for batch in batches])
    assert len(set(means.round(9))) > 16  # of the same tokens in other orders there would be one


@pytest.mark.parametrize("ids", [(1, 5, 2), (5,), (1, 2)])
def test_a_short_text_has_rows_too(ids):
    assert [batch.shape for batch in trial_rows(tokens(*ids))] == [(8, len(ids))] * 4


@pytest.mark.parametrize(
    "run",
    [lambda ids, types: ids.astype(float), lambda ids, types: np.zeros((3, 2)), lambda ids, types: np.zeros((8, 0))],
)
def test_scores_are_of_whole_texts(run):
    with pytest.raises(ShapeError, match="one row per text, one column per class"):
        trial_scores(run, tokens(1, 5, 6, 7, 8, 9, 2), "it")

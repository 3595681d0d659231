"""Tests of `mase.regression.known_scores`."""

import numpy as np
import pytest

from mase.regression.known_scores import KnownScores


def doubled(asked):
    """Return a function that answers twice the sum of a row, and records the rows."""

    def ask(rows):
        asked.append(rows.tolist())
        return np.stack([2.0 * rows.sum(axis=1), np.zeros(len(rows))], axis=1)

    return ask


@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_new_rows_are_asked_once_in_the_order_of_their_first_appearance(kind):
    known, asked = KnownScores(), []
    rows = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=kind)
    assert known.complete(rows[:2], doubled(asked))[:, 0].tolist() == [4, 2]
    assert known.complete(rows, doubled(asked))[:, 0].tolist() == [4, 2, 4, 6]
    assert known.complete(rows, doubled(asked)).shape == (4, 2)
    assert asked == [rows[:2].tolist(), rows[3:].tolist()]


def test_the_first_answer_is_kept():
    known = KnownScores().with_text(np.array([[3.0, 1.0]]), 2)
    known.add(np.ones((1, 2)), np.array([[4.0, 1.0]]))
    text, other = known.get(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert text.tolist() == [3.0, 1.0]
    assert other is None

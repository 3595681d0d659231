"""Tests of `mase.regression.oracle`: no row is asked twice."""

import numpy as np
import pytest

import mase
from mase.regression.known_scores import KnownScores
from mase.regression.oracle import Oracle
from mase.regression.precision import AUTO
from mase.testing import FunctionProbe, smooth


def oracle_of(probe, moving=None, **options):
    moving = np.ones(probe.size, dtype=bool) if moving is None else moving
    return Oracle.of(probe, "mase", "logit", 0, moving, binary=True, options=AUTO, **options)


def recorded(p):
    """Return a probe and the list of the rows that it is asked, beginning with the text."""
    rows, inner = [], smooth(p)

    def function(c):
        rows.extend(map(tuple, c.tolist()))
        return inner.function(c)

    return FunctionProbe(function, p), rows


def test_each_distinct_row_is_asked_once_in_order_and_answered_wherever_it_stands():
    probe, rows = recorded(4)
    oracle = oracle_of(probe)
    wanted = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 1, 1, 0]], dtype=float)
    scores = oracle.scores(wanted)
    assert rows == [(1, 1, 1, 1), (0, 1, 1, 0), (0, 0, 1, 0)]
    assert scores.shape == (4, 2)
    assert oracle.respond(scores) == pytest.approx(smooth(4).function(wanted))
    again = oracle.responses(wanted[::-1])
    assert again == pytest.approx(smooth(4).function(wanted[::-1]))
    assert (len(rows), oracle.cost.n_queries, oracle.n_rows) == (3, 3, 2)


def test_answers_of_words_that_do_not_move_are_those_of_the_whole_text():
    probe, rows = recorded(3)
    oracle = oracle_of(probe, np.array([True, False, True]))
    oracle.scores(np.array([[0.0, 1.0], [1.0, 1.0]]))
    assert rows == [(1, 1, 1), (0, 1, 1)]


def test_an_oracle_that_begins_again_knows_the_text_only():
    probe, rows = recorded(3)
    first = oracle_of(probe, known=KnownScores())
    wanted = np.array([[0.0, 1, 1], [1, 1, 1], [0, 1, 1]])
    first.scores(wanted)
    first.again().scores(wanted)
    assert rows[2:] == [(0, 1, 1)]
    first.again(remember=False).scores(wanted)
    assert rows[3:] == list(map(tuple, wanted))


@pytest.mark.parametrize("method", ["mase", "mase-mask", "lime", "lime-paper", "kernel-shap", "occlusion"])
def test_a_torch_model_is_asked_for_each_subset_once(lstm_model, method):
    found = mase.explain("not a good film", lstm_model, method=method, reference="unk", evidence=3)
    setup, check = 2, 5  # the text and its reference; some subsets again, alone
    assert found.fit.n_queries <= 2**4 + setup - 1 + check


@pytest.mark.parametrize("method", ["mase", "partition-shap", "kernel-shap", "permutation-importance"])
def test_a_function_is_asked_for_no_text_twice_but_for_those_that_are_compared(method):
    texts = []

    def answer(some):
        texts.extend(some)
        return [[0.4 + 0.1 * ("good" in text), 0.6 - 0.1 * ("good" in text)] for text in some]

    found = mase.explain("not a good film", mase.models.Callable(answer, ["a", "b"]), method=method)
    assert len(texts) == found.fit.n_queries
    assert 0 < len(texts) - len(set(texts)) <= 5

"""Tests of `mase.solve.oracle`; Tests of `mase.solve.oracle`: no row is asked twice."""

from dataclasses import dataclass

import numpy as np
import pytest

import mase
from mase.errors import CapabilityError, OptionError
from mase.models import Callable
from mase.solve.oracle import AUTO_QUERY, KnownScores, Oracle
from mase.testing import FunctionProbe, LogisticClassifier, smooth


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


def oracle_of(probe, moving=None, **options):
    moving = np.ones(probe.size, dtype=bool) if moving is None else moving
    return Oracle.of(probe, "mase", "logit", 0, moving, binary=True, options=AUTO_QUERY, **options)


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


@dataclass(frozen=True)
class _Open(FunctionProbe):
    """A linear model with three coordinates that knows its derivatives and contributions, and exchanges words."""

    def exchanged(self, sources):
        return self.scores(1.0 + sources - np.arange(3), np.arange(len(sources)))

    def contributions(self, link, target):
        assert (link, target) == ("logit", 0)
        return np.array([3.0, 2.0, 1.0])


def test_what_an_open_model_tells_is_that_of_the_words_that_move_and_each_row_counts():
    gamma = np.array([3.0, -2.0, 1.0])
    probe = _Open(lambda c: c @ gamma, 3, lambda c: np.broadcast_to(gamma, c.shape))
    oracle, rows = oracle_of(probe, np.array([True, False, True])), np.array([[0.0, 1.0], [0.5, 2.0]])
    scores, slopes = oracle.gradients(rows)
    assert (scores[:, 0].tolist(), slopes.tolist()) == ([-1.0, 1.5], [[3.0, 1.0]] * 2)
    assert oracle.gradient_norms(np.ones((3, 2))).tolist() == [[3.0, 1.0]] * 3
    assert oracle.contributions().tolist() == [3.0, 1.0]
    assert (oracle.n_rows, oracle.cost.n_queries, oracle.cost.n_gradients) == (7, 1 + 7, 7)  # one for the text
    assert oracle.exchanged(np.array([[0, 1], [1, 0], [1, 1]])).tolist() == [2.0, 6.0, 8.0]
    assert oracle.scores_at(0.5)[0].tolist() == [0.0, 0.0]


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
    exact = not found.standard_errors.any()  # as every text is asked again before that is said
    assert 0 < len(texts) - len(set(texts)) <= 5 + exact * len(set(texts))


bag = LogisticClassifier({"good": 2.0, "bad": -2.0})


def test_half_precision_is_used_where_it_is_precise_enough(small_bert, fast_bfloat16):
    from scipy.stats import spearmanr

    text = "An unbelievably good film, isn't it? I would gladly see it again, although the middle drags."
    exact = mase.Explainer(*small_bert, method="mase-nlgp+sigma=0.3", n_samples=400)(text)
    half = mase.Explainer(*small_bert, method="mase-nlgp+sigma=0.3", n_samples=400, precision="bfloat16")(text)
    assert "float32-instead" not in {note.code for note in half.notes}
    assert half.scores.tolist() != exact.scores.tolist()
    assert spearmanr(half.scores, exact.scores).statistic > 0.99
    assert exact.fit.n_queries + 32 <= half.fit.n_queries <= exact.fit.n_queries + 36
    assert half.method["precision"] == half.fit.precision == "bfloat16"
    assert exact.fit.precision == "float32"
    procedure = mase.Explainer(*small_bert, method="partition-shap", precision="bfloat16")(text)
    assert (procedure.fit.precision == "float32") == ("float32-instead" in {note.code for note in procedure.notes})


def test_half_precision_falls_back_and_says_so(small_bert, fast_bfloat16):
    tiny = mase.Explainer(*small_bert, method="mase-nlgp+sigma=1e-4", n_samples=60, precision="bfloat16")("A good film")
    assert "float32-instead" in {note.code for note in tiny.notes}
    assert (tiny.method["precision"], tiny.fit.precision) == ("bfloat16", "float32")
    assert tiny.scores == pytest.approx(
        mase.Explainer(*small_bert, method="mase-nlgp+sigma=1e-4", n_samples=60)("A good film").scores
    )
    with pytest.raises(CapabilityError, match="half precision"):
        mase.Explainer(Callable(bag), precision="bfloat16")("A good film")
    with pytest.raises(OptionError, match="precision"):
        mase.Explainer(Callable(bag), precision="int8")


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "partition-shap", "occlusion", "mase-paper"])
def test_without_instructions_for_half_precision_float32_answers(small_bert, slow_bfloat16, method):
    asked, exact = (
        mase.Explainer(*small_bert, method=method, n_samples=60, precision=precision)("A good film")
        for precision in ("bfloat16", "float32")
    )
    assert asked.scores.tolist() == exact.scores.tolist()
    assert asked.fit.n_queries == exact.fit.n_queries
    (note,) = [note for note in asked.notes if note.code == "float32-instead"]
    assert "no bfloat16 instructions" in note.message
    assert asked.fit.precision == "float32"

"""Tests of the comparison of scores against scipy, on runs made by hand."""

import numpy as np
import pytest
from scipy import stats
from tests.attributions import attribution
from tests.runs import run_of

import mase
from mase.attribution import Fit

pytest.importorskip("duckdb")
N_WORDS, RATE = 8, 0.06
SIGNS = np.array([-1, 1] * 30)  # of the texts, whose classes alternate
WORDS = [f"w{number}" for number in range(N_WORDS)]
# The numbers of evaluations of each run, which few degrees of freedom are left of.
N_QUERIES = (13, 40)


@pytest.fixture(scope="module")
def scores():
    """Return the scores and errors `(2, 60, 8)` of two runs; "w0", "w1" and a tenth of the others differ."""
    rng = np.random.default_rng(3)
    errors = rng.uniform(0.1, 1, (2, 60, N_WORDS))
    truth = rng.normal(0, 1, (60, N_WORDS))
    both = np.stack([truth, truth + np.where(rng.random(truth.shape) < 0.1, 4.0, 0.0)])
    both[1, :, :2] += np.outer(SIGNS, (1.0, -2.0))
    return both + errors * rng.standard_normal(errors.shape), errors


@pytest.fixture(scope="module")
def found(scores, tmp_path_factory):
    """Return the comparison. The second run has no score of the last word of the first ten texts."""
    folder, runs = tmp_path_factory.mktemp("reasons"), []
    for index, (values, errors) in enumerate(zip(*scores, strict=True)):
        texts = []
        for number, (row, error) in enumerate(zip(values, errors, strict=True)):
            text = " ".join([*WORDS, str(number)])
            ends = np.cumsum([len(word) + 1 for word in WORDS]) - 1
            n = N_WORDS - (index == 1 and number < 10)
            spans = [(int(end) - 2, int(end)) for end in ends[:n]]
            made = attribution(
                text, row[:n].tolist(), spans=spans, standard_errors=tuple(error[:n].tolist()),
                fit=Fit(None, 1.25, N_QUERIES[index], 0, 0.2), label=("neg", "pos")[number % 2],
            )  # fmt: skip
            texts.append((made, ()))
        runs.append(run_of(folder / str(index), texts, part_size=25))
    return mase.compare(*runs, min_texts=5, rate=RATE)


def matched(scores):
    """Yield the scores and errors `(2, w)` of the words that both runs have, for each text."""
    for number in range(60):
        n = N_WORDS - (number < 10)
        yield scores[0][:, number, :n], scores[1][:, number, :n]


def p_values(text, errors, n_words, n_queries=N_QUERIES):
    """Return the p-values of Welch's tests of a text."""
    freedom = [n - words - 1 for n, words in zip(n_queries, n_words, strict=True)]
    squares = errors**2
    total = squares.sum(axis=0)
    welch = total**2 / (squares[0] ** 2 / freedom[0] + squares[1] ** 2 / freedom[1])
    return 2 * stats.t.sf(np.abs(text[1] - text[0]) / np.sqrt(total), welch)


def test_words_that_differ_are_those_of_welchs_test_at_the_rate(scores, found):
    every = [p_values(*pair, (N_WORDS, N_WORDS - (number < 10))) for number, pair in enumerate(matched(scores))]
    changed = stats.false_discovery_control(np.concatenate(every)) <= RATE
    by_text = [some.sum() for some in np.split(changed, np.cumsum([len(one) for one in every])[:-1])]
    assert found.reasons.noise.words_tested == len(changed)
    assert found.tables["reasons"]["words_changed"].to_pylist() == by_text
    assert found.reasons.noise.words_changed == sum(by_text) > 20
    assert found.reasons.noise.texts_changed == np.count_nonzero(by_text)


@pytest.mark.parametrize("n_queries", [(6, 40), (40, 6), (7, 8)])
def test_the_least_rate_at_which_one_score_differs_is_the_p_value_of_welchs_test(n_queries, tmp_path):
    scores, errors, runs = np.array([[0.1], [1.7]]), np.array([[0.3], [0.4]]), []
    for index, (score, error) in enumerate(zip(scores, errors, strict=True)):
        fit = Fit(None, 1.25, n_queries[index], 0, 0.2)
        made = attribution("w0", score.tolist(), standard_errors=tuple(error.tolist()), fit=fit)
        runs.append(run_of(tmp_path / str(index), [(made, ())]))
    (p,) = p_values(scores, errors, (1, 1), n_queries)
    assert 0.001 < p < 0.1
    changed = [mase.compare(*runs, rate=factor * p).reasons.noise.words_changed for factor in (0.97, 1.03)]
    assert changed == [0, 1]


def test_agreement_in_one_slow_line_each(scores, found):
    reasons, signs, overlaps, correlations = found.reasons, [], [], []
    for number, (text, errors) in enumerate(matched(scores)):
        clear = (np.abs(text) > 1.959964 * errors).any(axis=0)
        signs += [np.mean(np.sign(text[0]) == np.sign(text[1]), where=clear)] if clear.any() else []
        tops = [set(np.argsort(-scores[0][0, number])[:5]), set(np.argsort(-text[1])[:5])]
        overlaps.append(len(tops[0] & tops[1]) / 5)
        correlations.append(stats.spearmanr(*text).statistic)
    assert reasons.sign_agreement == pytest.approx(np.mean(signs))
    assert reasons.top_overlap == pytest.approx(np.mean(overlaps))
    assert reasons.rank_correlation == pytest.approx(np.mean(correlations))
    assert (reasons.n_texts, reasons.n_words, reasons.n_unmatched) == (60, 60 * N_WORDS - 10, 10)


def test_means_of_words_have_students_interval_of_paired_differences(scores, found):
    """Of two classes, the scores for "neg" count for "pos" with the sign turned."""
    table = {row["word"]: row for row in found.tables["words"].to_pylist()}
    assert len(table) == N_WORDS
    assert {row["response"] for row in table.values()} == {"pos"}
    for word, row in table.items():
        chosen = [n for n in range(60) if word != WORDS[-1] or n >= 10]
        first, second = scores[0][:, chosen, WORDS.index(word)] * SIGNS[chosen]
        test = stats.ttest_1samp(second - first, 0)
        assert (row["n_texts"], row["p_value"]) == (len(chosen), pytest.approx(test.pvalue, rel=1e-6))
        assert (row["low"], row["high"]) == pytest.approx(tuple(test.confidence_interval()))
        assert (row["first_mean"], row["second_mean"]) == pytest.approx((first.mean(), second.mean()))
    p = np.array([row["p_value"] for row in table.values()])
    shifted = [row["shifted"] for row in table.values()]
    assert shifted == (stats.false_discovery_control(p) <= RATE).tolist()
    assert sum(shifted) == found.shifts.shifted <= np.count_nonzero(p <= RATE)
    assert {shift.word for shift in found.shifts.listed} >= {"w0", "w1"}
    differences = [shift.difference for shift in found.shifts.listed]
    assert differences == sorted(differences, key=abs, reverse=True)
    assert differences[0] < 0 < max(differences)
    for shift in found.shifts.listed:  # with the texts in which its score differs most
        numbers = range(60)
        changes = np.abs(scores[0][1] - scores[0][0])[:, WORDS.index(shift.word)]
        most = sorted(numbers, key=lambda number, changes=changes: -changes[number])[:3]
        assert [int(one.after.split()[-1]) for one in shift.examples] == most

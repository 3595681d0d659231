"""Tests of `mase.procedures.games`."""

import itertools
from itertools import product

import numpy as np
import pytest
import torch
from tests.regressions import run

import mase
from mase.errors import OptionError, TooFewSamplesError
from mase.methods import METHODS, Method
from mase.models import Callable
from mase.procedures.games import PartitionShap, SobolIndices
from mase.testing import FunctionProbe, linear, smooth


def test_partition_shap_is_the_average_over_all_orders_of_its_tree():
    p, probe = 6, smooth(6)

    def orders(first, last):
        """Yield every order of the words that never interleaves two halves."""
        if last - first == 1:
            yield (first,)
            return
        middle = (first + last) // 2
        for left, right in itertools.product(orders(first, middle), orders(middle, last)):
            yield from (left + right, right + left)

    owen, count = np.zeros(p), 0
    for order in orders(0, p):
        rows = np.zeros((p + 1, p))
        for place, word in enumerate(order):
            rows[place + 1 :, word] = 1
        owen[list(order)] += np.diff(probe.function(rows))
        count += 1
    assert count == 2 ** (p - 1)
    assert run(probe, "partition-shap").estimate.gamma == pytest.approx(owen / count, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 10, 40, 200])
def test_partition_shap_keeps_its_budget_and_the_sum(n):
    probe = smooth(19)
    found = run(probe, "partition-shap", n_samples=n)
    ends = probe.function(np.array([[0.0] * 19, [1.0] * 19]))
    assert found.estimate.gamma.sum() == pytest.approx(ends[1] - ends[0], abs=1e-12)
    assert n - 2 * PartitionShap().per_round <= found.cost.n_queries - probe.n_setup - found.cost.n_compared <= n


@pytest.mark.parametrize("p", [2, 3, 6, 7, 19])
def test_a_note_says_that_words_share_the_value_of_a_part_and_how_many_samples_are_enough(p):
    def notes(n):
        return {note.code: note.message for note in run(smooth(p), "partition-shap", n_samples=n).notes}

    enough = int(notes(2)["fallback"].split("take ")[1].split(":")[0])
    assert "fallback" in notes(max(enough - 1, 2))
    assert "fallback" not in notes(enough)


@pytest.mark.parametrize("method", ["partition-shap", "permutation-importance"])
def test_with_evidence_a_note_says_how_many_samples_are_left_and_so_how_many_are_missing(method):
    def note(n):
        found = mase.explain(" ".join("abcdefghijklmnopqrstuvwxyz"), length, method=method, n_samples=n, evidence=5)
        return next((one.message for one in found.notes if one.code == "fallback"), None)

    n, told = 50, note(50)
    assert told is not None
    while told is not None:  # the evidence takes a share of what is added
        left, enough = (int(told.split(f"{word} ")[1].split()[0].strip(":,")) for word in ("leaves", "take"))
        assert left < enough
        n += enough - left
        told = note(n)
    assert n <= enough + 35


def length(texts):
    return [[1 / (2 + len(text)), 1 - 1 / (2 + len(text))] for text in texts]


def test_changes_that_cancel_are_not_said_to_be_none():
    """The pair matters only if one of both is there without the other: every Owen value is 0."""
    either = FunctionProbe(lambda c: (c[:, 0] != c[:, 1]).astype(float), 4)
    (note,) = run(either, "partition-shap").notes
    assert "or the changes cancel" in note.message


def test_partition_shap_cuts_where_most_is_at_stake():
    gamma = np.zeros(16)
    gamma[5] = 1.0  # the budget of 16 is spent on the way to this word, not on words of no weight
    found = run(linear(gamma), Method("one", "", METHODS["mase-mask"].space, PartitionShap(per_round=1)), n_samples=60)
    assert found.estimate.gamma == pytest.approx(gamma, abs=1e-12)


def test_permutation_importance_is_its_definition(lstm_model):
    text, n = "slow dull film", 3 * 40
    found = mase.Explainer(lstm_model, method="permutation-importance", n_samples=n, seed=2, evidence=0)(text)
    # With three words a cycle replaces each word by one of the two others, with equal chances.
    module, ids = lstm_model.module.eval(), torch.tensor([[10 + sum(map(ord, word)) % 490 for word in text.split()]])
    index = found.prediction.index

    def response(changed):
        with torch.no_grad():
            return float(torch.softmax(module(changed), dim=1)[0, index])

    def written(i, j):
        changed = ids.clone()
        changed[0, i] = ids[0, j]
        return response(changed)

    drops = [[response(ids) - written(i, j) for j in range(3) if j != i] for i in range(3)]
    spread = np.abs(np.diff(drops, axis=1))[:, 0]
    assert found.scores == pytest.approx(np.mean(drops, axis=1), abs=4 * spread.max() / 2 / np.sqrt(40))
    assert (found.scores <= np.max(drops, axis=1) + 1e-6).all()
    assert (found.scores >= np.min(drops, axis=1) - 1e-6).all()
    assert found.standard_errors == pytest.approx(spread / 2 / np.sqrt(39), rel=0.2)


def test_errors_include_the_noise_of_the_answer_to_the_text():
    """All permutations are compared with an answer to the text of their own."""
    rng, scores, errors = np.random.default_rng(0), [], []

    def answer(texts):
        p = np.array([0.5 + 0.15 * text.split().count("good") for text in texts]) + 0.02 * rng.standard_normal(
            len(texts)
        )
        return np.column_stack([1 - p, p])

    model = mase.models.Callable(answer, ["a", "b"])
    for seed in range(40):
        found = mase.explain(
            "a good film with a bad end",
            model,
            target="b",
            method="permutation-importance",
            n_samples=200,
            seed=seed,
            evidence=0,
        )
        scores.append(found.scores)
        errors.append(found.standard_errors)
    assert 0.75 < np.mean(np.std(scores, axis=0) / np.mean(errors, axis=0)) < 1.2


def test_the_errors_of_one_permutation_are_unknown(lstm_model):
    found = mase.Explainer(lstm_model, method="permutation-importance", n_samples=5, evidence=0)("slow dull film")
    assert np.isnan(found.standard_errors).all()
    assert [note.code for note in found.notes] == ["fallback"]
    assert not found.verdict.reliable


def test_permutation_importance_of_one_word_and_of_too_many(lstm_model):
    one = mase.Explainer(lstm_model, method="permutation-importance", evidence=0)("good")
    assert one.scores.tolist() == [0.0]
    assert [note.code for note in one.notes] == ["fallback"]
    with pytest.raises(OptionError, match="n_samples leaves 2 for the scores, expected at least 3"):
        mase.Explainer(lstm_model, method="permutation-importance", n_samples=2, evidence=0)("slow dull film")


@pytest.mark.slow
def test_random_orders_are_uniform_and_ask_nothing(lstm):
    first = [
        int(np.argmax(mase.Explainer(lstm, method="random", seed=s, evidence=0)("one two three").scores))
        for s in range(300)
    ]
    assert np.bincount(first, minlength=3).min() > 70  # 100 each; 70 is 3.7 standard deviations below
    found = mase.Explainer(lstm, method="random", evidence=0)("a xyzzyx film")  # an unknown word takes part, too
    assert (found.scores > 0).all()
    assert found.fit.n_queries <= 2


def function(c):
    """Return a response with a pair, a word that lowers it, and words that do nothing."""
    return 2 * c[:, 0] - c[:, 1] + 3 * c[:, 2] * c[:, 3]


def exact(p):
    """Return the total indices `(p,)` of fair coins, from all masks."""
    rows = np.array(list(product([0.0, 1.0], repeat=p)))
    y, total = function(rows), np.empty(p)
    for j in range(p):
        other = rows.copy()
        other[:, j] = 1 - other[:, j]
        total[j] = np.mean((y - function(other)) ** 2) / 4 / y.var()
    return total


def test_indices_of_a_short_text_are_exact():
    found = run(FunctionProbe(function, 6), "sobol-indices", n_samples=70)
    assert found.estimate.gamma == pytest.approx(exact(6), abs=1e-12)
    assert not found.estimate.variances.any()
    assert found.cost.n_queries <= 67  # all masks, and the text once more
    assert not found.signed
    assert found.exact


@pytest.mark.parametrize("p", [1, 2])
def test_a_word_or_two_have_the_whole_variance(p):
    found = run(FunctionProbe(lambda c: c.sum(axis=1), p), "sobol-indices", n_samples=10)
    assert found.estimate.gamma == pytest.approx(np.full(p, 1 / p), abs=1e-12)


def test_errors_cover_the_indices_of_all_masks():
    runs = [run(FunctionProbe(function, 12), "sobol-indices", n_samples=1500, seed=seed).estimate for seed in range(60)]
    truth = np.concatenate([exact(4), np.zeros(8)])
    gamma, errors = (np.array([getattr(one, name) for one in runs]) for name in ("gamma", "variances"))
    errors = np.sqrt(errors)
    assert gamma.mean(axis=0) == pytest.approx(truth, abs=0.03)
    assert 0.85 < (np.abs(gamma - truth) <= 1.96 * errors)[:, :4].mean() < 0.99
    assert not gamma[:, 4:].any()
    assert not errors[:, 4:].any()


@pytest.mark.parametrize("n_samples", [84, 130])
def test_few_rows_never_make_an_index_that_is_wrong_look_exact(n_samples):
    runs = [run(FunctionProbe(lambda c: c[:, 0], 20), "sobol-indices", n_samples=n_samples, seed=s) for s in range(60)]
    gamma, variances = (np.array([getattr(one.estimate, name)[0] for one in runs]) for name in ("gamma", "variances"))
    known = ~np.isnan(variances)
    assert known.mean() > 0.6  # in the others the first rows have the same response
    assert (np.abs(gamma - 1)[known] <= 1.96 * np.sqrt(variances[known]) + 1e-9).mean() > 0.9
    assert gamma.max() < 30


def test_rows_that_vary_by_rounding_say_nothing_of_the_variance():
    responses, changed = np.array([0.9, 0.9, 0.9 + 1e-16, 0.9]), np.full((4, 30), 0.9)
    changed[:, 0] = 0.1
    found = SobolIndices().estimate(responses, changed)
    assert found.gamma[0] < 30
    assert np.isnan(found.variances[0])


@pytest.mark.parametrize("n_samples", [124, 200, 1000])
def test_the_budget_is_used_up_but_for_less_than_a_row_with_its_changes(n_samples):
    p = 30
    spent = run(FunctionProbe(function, p), "sobol-indices", n_samples=n_samples + 3).cost.n_queries
    assert n_samples - p - 1 < spent - 3 <= n_samples


@pytest.mark.parametrize("p", [6, 20])
@pytest.mark.parametrize("rounding", [0.0, 1e-16])
def test_words_that_change_nothing_but_the_last_digit_score_zero(p, rounding):
    def response(c):
        return 0.6 + rounding * (c @ np.arange(p))

    found = run(FunctionProbe(response, p), "sobol-indices", n_samples=100)
    assert not found.estimate.gamma.any()
    assert "constant" in [note.code for note in found.notes]


def judge(texts):
    """Return probabilities that "good" raises and "bad" lowers."""
    chance = np.array([0.5 + 0.3 * ("good" in text.split()) - 0.3 * ("bad" in text.split()) for text in texts])
    return np.stack([1 - chance, chance], axis=1)


def test_a_word_counts_however_it_speaks():
    text = "a good film, a bad end, and a story that is told rather slowly"
    found = mase.Explainer(Callable(judge, ["neg", "pos"]), method="sobol-indices")(text)
    assert {word.text for word in found.top(2)} == {"good", "bad"}
    assert found.scores.min() == 0
    assert {"unsigned", "shares"} <= {note.code for note in found.notes}
    page = found.to_html()
    assert "in either direction" in page
    assert "doubles" not in page
    assert "+0." not in page
    assert "+0." not in str(found)
    assert "no standard errors" not in page


def test_too_few_samples_say_how_many_are_needed():
    explainer = mase.Explainer(Callable(judge, ["neg", "pos"]), method="sobol-indices", n_samples=39)
    with pytest.raises(TooFewSamplesError, match="expected at least 40"):
        explainer("a slow and rather dull film about nothing special")


def test_few_permutations_have_wide_intervals():
    """With three permutations, 1.96 standard errors of a normal deviate would cover four words of five."""
    weights = np.linspace(-1, 1, 40)
    words = [f"w{number}" for number in range(40)]
    worth = dict(zip(words, weights, strict=True))
    model = Callable(
        lambda texts: [[np.mean([worth[word] for word in text.split()])] for text in texts], outputs="values"
    )
    truth, covered = (weights - (weights.sum() - weights) / 39) / 40, []
    for seed in range(30):
        found = mase.Explainer(model, method="permutation-importance", n_samples=3 * 41 + 8, seed=seed, evidence=0)(
            " ".join(words)
        )
        covered.append(np.abs(found.scores - truth) <= 1.96 * found.standard_errors)
    assert 0.88 <= np.mean(covered) <= 0.98

"""Tests of `mase.procedures.partition_shap`."""

import itertools

import numpy as np
import pytest
from tests.regressions import run

import mase
from mase.methods import METHODS, Method
from mase.procedures.partition_shap import PartitionShap
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

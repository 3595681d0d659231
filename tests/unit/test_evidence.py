"""Tests of `mase.evidence`: predictions without the best units and from them alone, and sets that flip them."""

import copy

import numpy as np
import pytest

import mase
from mase.attribution.json import from_dict
from mase.errors import DataError, OptionError
from mase.evidence import MaskedPredictions
from mase.solve.oracle import KnownScores
from mase.testing import FunctionProbe

LABELS = ("class", "other")


def probe_and_test(function, p, *, known=None, budget=35):
    probe = FunctionProbe(function, p)
    units = [np.array([index]) for index in range(p)]
    return probe, MaskedPredictions(probe, units, LABELS, 0, "margin", known or KnownScores(), budget)


def asked(probe):
    """Return the number of rows that a probe was asked for, without the text itself, whose scores it knows."""
    return sum(probe.batches) - 1


def either_of_two(rows):
    """Return the logit of a class that holds while unit 0 or unit 1 is there; unit 2 helps a little."""
    return 4 * np.maximum(rows[:, 0], rows[:, 1]) + 0.5 * rows[:, 2] - 2


def test_predictions_without_and_with_only_the_best_units():
    _, test = probe_and_test(either_of_two, 6)
    found = test.evidence((0, 2, 1, 3, 4, 5), 3)
    assert [changed.units for changed in found.without] == [(0,), (0, 2), (0, 2, 1)]
    assert [changed.label for changed in found.without] == ["class", "class", "other"]
    assert [changed.label for changed in found.only] == ["class", "class", "class"]
    logit = either_of_two(np.array([[0, 1, 0, 1, 1, 1]]))[0]
    assert found.without[1].target_probability == pytest.approx(1 / (1 + np.exp(-logit)))
    assert found.without[1].response == pytest.approx(logit)


def test_a_flip_set_has_only_the_units_that_it_needs():
    _, test = probe_and_test(either_of_two, 6)
    flip_set = test.evidence((0, 2, 1, 3, 4, 5), 3).flip_set
    assert flip_set.units == (0, 1)
    assert flip_set.label == "other"
    assert flip_set.probability > 0.5
    assert not flip_set.smallest


def test_a_single_unit_is_the_smallest_set():
    _, test = probe_and_test(lambda rows: 4 * rows[:, 3] - 2, 6)
    flip_set = test.evidence((3, 0, 1, 2, 4, 5), 2).flip_set
    assert (flip_set.units, flip_set.smallest) == ((3,), True)


def every_row(p):
    return np.array(np.meshgrid(*[[0.0, 1.0]] * p)).reshape(p, -1).T


def test_what_was_asked_costs_nothing_and_shows_the_smallest_set():
    known, rows = KnownScores(), every_row(6)
    logits = either_of_two(rows)
    known.add(rows, np.column_stack([logits, np.zeros(len(rows))]))
    model, test = probe_and_test(either_of_two, 6, known=known, budget=35)
    flip_set = test.evidence((0, 2, 1, 3, 4, 5), 3).flip_set
    assert (flip_set.units, flip_set.smallest) == ((0, 1), True)
    assert (asked(model), test.n_asked) == (0, 0)


def test_a_smaller_set_that_was_asked_is_found_although_the_order_is_bad():
    known, rows = KnownScores(), every_row(5)
    function = lambda rows: 4 * rows[:, 4] + np.minimum(rows[:, 0], rows[:, 1]) * 6 - 7  # noqa: E731
    known.add(rows, np.column_stack([function(rows), np.zeros(len(rows))]))
    _, test = probe_and_test(function, 5, known=known)
    flip_set = test.evidence((2, 3, 0, 1, 4), 2).flip_set
    assert (len(flip_set.units), flip_set.smallest) == (1, True)


@pytest.mark.parametrize(("budget", "units"), [(9, None), (10, tuple(range(10)))])
def test_the_search_uses_the_whole_budget(budget, units):
    _, test = probe_and_test(lambda rows: rows.sum(axis=1) - 30.5, 40, budget=budget)
    found = test.evidence(tuple(range(40)), 0).flip_set
    assert (found and found.units) == units


def test_what_is_known_is_searched_without_a_budget():
    known, rows = KnownScores(), every_row(4)
    known.add(rows, np.column_stack([4 * rows[:, 3] - 2, np.zeros(len(rows))]))
    model, test = probe_and_test(lambda rows: 4 * rows[:, 3] - 2, 4, known=known, budget=0)
    assert test.evidence((0, 1, 2, 3), 2).flip_set.units == (3,)
    assert asked(model) == 0


def test_a_unit_is_put_back_that_only_another_unit_made_necessary():
    """Without unit 3 the class is lost, unless unit 0 is masked and unit 1 is not."""
    lost = lambda rows: (1 - rows[:, 3]) * (1 - (1 - rows[:, 0]) * rows[:, 1])  # noqa: E731
    _, test = probe_and_test(lambda rows: 2 - 4 * lost(rows), 12)
    assert test.evidence((0, 1, 2, 3, *range(4, 12)), 4).flip_set.units == (3,)


@pytest.mark.parametrize("budget", [0, 1, 2, 5, 11, 20, 35])
def test_no_more_is_asked_than_the_budget(budget):
    model, test = probe_and_test(lambda rows: rows.sum(axis=1) - 30.5, 40, budget=budget)
    test.evidence(tuple(range(40)), 5)
    assert asked(model) == test.n_asked <= budget


@pytest.mark.parametrize(
    ("answers", "target", "flips"),
    [
        ({True: [0.9, 0.89], False: [0.88, 0.89]}, "x", False),  # y is more probable then, which does not matter
        ({True: [0.9, 0.1], False: [0.2, 0.1]}, "x", True),
        ({True: [0.9, 0.1], False: [0.5, 0.1]}, "x", False),  # one half is still predicted
        ({True: [0.5, 0.1], False: [0.2, 0.1]}, "x", True),
        ({True: [0.95, 0.8], False: [0.95, 0.1]}, "y", True),
        ({True: [0.95, 0.3], False: [0.95, 0.1]}, "y", False),  # it was not predicted
    ],
)
def test_separate_questions_flip_by_themselves(answers, target, flips):
    model = mase.models.Callable(
        lambda texts: [answers["c" in text.split()] for text in texts], labels=["x", "y"], multilabel=True
    )
    found = mase.Explainer(model, evidence=2)("a b c", target=target).evidence
    assert {changed.label for changed in (*found.without, *found.only)} == {target}
    without = answers[False]["xy".index(target)]
    assert found.without[0].probability == found.without[0].target_probability == pytest.approx(without)
    assert (found.flip_set is not None) is flips
    if flips:
        assert (found.flip_set.units, found.flip_set.label) == ((2,), target)
        assert found.flip_set.probability == pytest.approx(without)


def test_there_is_no_flip_set_for_a_class_that_is_not_predicted():
    _, test = probe_and_test(lambda rows: rows[:, 0] - 5, 4)
    assert test.evidence((0, 1, 2, 3), 2).flip_set is None


TEXT = "a dull start but a wonderful and warm end of a film that many people like to see with all of their friends"


def judge(texts):
    odds = [2.0 * ("wonderful" in text) + ("warm" in text) - ("dull" in text) - 0.5 for text in texts]
    p = 1 / (1 + np.exp(-np.array(odds)))
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("method", ["mase", "lime", "kernel-shap"])
def test_evidence_is_what_the_model_says_and_stays_within_the_samples(method):
    found = mase.explain(TEXT, judge, method=method, n_samples=300, evidence=3)
    assert len(found.evidence.without) == len(found.evidence.only) == 3
    best = [found.words[unit] for unit in found.evidence.without[1].units]
    masked = " ".join(word for word in TEXT.split() if word not in best)
    assert found.evidence.without[1].target_probability == pytest.approx(judge([masked])[0, 1])
    alone = " ".join(word for word in TEXT.split() if word in best)
    assert found.evidence.only[1].target_probability == pytest.approx(judge([alone])[0, 1])
    assert [found.words[unit] for unit in found.evidence.flip_set.units] == ["wonderful"]
    assert found.fit.n_queries <= 300 + 3
    assert found.method["evidence"] == 3


def test_evidence_of_five_is_gathered_within_the_samples_unless_it_is_not_wanted():
    found = mase.explain(TEXT, judge, n_samples=100)
    assert len(found.evidence.without) == 5
    assert found.fit.n_queries <= 110  # with the checks of the model
    assert found.evidence == mase.explain(TEXT, judge, n_samples=100, evidence=5).evidence
    none = mase.explain(TEXT, judge, n_samples=100, evidence=0)
    assert none.evidence is None
    assert "evidence" not in none.method


@pytest.mark.parametrize("method", ["mase-nlgp", "gradient-x-input"])
def test_methods_that_scale_vectors_are_tested_by_masking_whole_words(method):
    text = "What a wonderful, warm film."
    found = mase.explain(text, method=method, reference="unk", evidence=1)
    alone = mase.explain(text, method="occlusion", reference="unk", evidence=0, link="probability")
    (best,) = found.evidence.without[0].units
    expected = found.target_probability - alone.scores[best]
    assert found.evidence.without[0].target_probability == pytest.approx(expected, abs=1e-6)


def test_words_are_masked_without_the_noise_of_the_method(monkeypatch, lstm):
    bound, bind = [], type(lstm).bind
    monkeypatch.setattr(type(lstm), "bind", lambda model, binding: bound.append(binding) or bind(model, binding))
    mase.explain("a wonderful film", lstm, method="standard-gaussian", n_samples=40, evidence=1)
    assert [(binding.space.binary, binding.sigma) for binding in bound] == [(False, 0.1), (True, 0.0)]


def test_evidence_survives_json_and_damage_is_found():
    found = mase.explain(TEXT, judge, n_samples=100, evidence=2)
    plain = found.to_dict()
    assert from_dict(plain) == found
    for change in (
        lambda evidence: evidence["without"][0].update(units=[999]),
        lambda evidence: evidence["only"][0].update(units=[]),
        lambda evidence: evidence["only"][0].update(units=[1, 1]),
        lambda evidence: evidence["flip_set"].update(label="none of them"),
        lambda evidence: evidence["without"][1].update(target_probability=1.5),
    ):
        damaged = copy.deepcopy(plain)
        change(damaged["evidence"])
        with pytest.raises(DataError):
            from_dict(damaged)


@pytest.mark.parametrize("wrong", [-1, 101, True, 1.5, "5"])
def test_the_number_of_units_is_checked(wrong):
    with pytest.raises(OptionError):
        mase.Explainer(judge, evidence=wrong)


def test_evidence_is_shown():
    found = mase.explain(TEXT, judge, n_samples=100, evidence=2)
    assert "“wonderful”" in repr(found)
    assert "“wonderful”" in found.to_html()

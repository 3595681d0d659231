"""Tests of `mase.procedures.permutation_importance`."""

import numpy as np
import pytest
import torch

import mase
from mase.errors import OptionError


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

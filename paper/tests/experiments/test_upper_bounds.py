"""Tests of `mase_paper.experiments.upper_bounds`."""

import dataclasses
import itertools

import numpy as np
from paper.tests.experiments.samples import predict

import mase
from mase.metrics.masking import masker
from mase_paper.experiments.records import DEPTH
from mase_paper.experiments.upper_bounds import search


def test_a_wide_search_is_exhaustive(black_box):
    text = "plot dull slow good end grand"
    bound = masker(black_box, text, "delete")
    words, target = text.split(), bound.target
    sizes = [
        size
        for size in range(1, len(words) + 1)
        for gone in itertools.combinations(range(len(words)), size)
        if predict([" ".join(word for index, word in enumerate(words) if index not in gone)])[0].argmax() != target
    ]
    found = search(bound, target, len(words), width=1000)
    assert found.flipped
    assert len(found.order) == min(sizes) == 2
    pairs = list(itertools.combinations(range(len(words)), 2))
    probabilities = predict([" ".join(word for index, word in enumerate(words) if index not in pair) for pair in pairs])
    assert set(found.order) == set(pairs[int(probabilities[:, target].argmin())])
    assert search(bound, target, 1, width=1000) == dataclasses.replace(search(bound, target, 1, 1), flipped=False)
    assert search(bound, target, len(words), width=1).n_queries == 6 + 5
    assert found.flips(4).tolist() == [False, True, True, True]
    assert not search(bound, target, 1, width=1).flips(4).any()


def test_each_step_keeps_the_sets_of_lowest_probability():
    """That of b and c has a lower sum over both steps than that of a and d, from which the prediction changes next."""
    chances = {"a": 0.8, "b": 0.75, "ab": 0.7, "ac": 0.56, "ad": 0.57, "bc": 0.6, "abd": 0.4, "abcd": 0.4}

    def answers(texts):
        gone = ["".join(word for word in "abcd" if word not in text.split()) for text in texts]
        found = np.array([chances.get(words, 0.9 - 0.1 * len(words)) for words in gone])
        return np.stack([found, 1 - found], axis=1)

    bound = masker(mase.models.Callable(answers), "a b c d", "delete")
    assert search(bound, 0, 4, width=2).order == (0, 3, 1)


def test_a_search_gives_up_when_the_words_are_gone():
    always = masker(mase.models.Callable(lambda texts: [[0.9, 0.1]] * len(texts), labels=["a", "b"]), "one two three")
    found = search(always, 0, DEPTH, width=5)
    assert (found.flipped, len(found.order), found.n_queries) == (False, 3, 3 + 3 + 1)


def test_the_search_ends_with_the_first_set_that_flips_a_separate_question():
    """Of separate questions the target's own probability decides, whatever the others say: one rule for all metrics."""

    def scores(texts):
        return [[0.9 - 0.2 * (3 - sum(word in text for word in ("x", "y", "z"))), 0.95] for text in texts]

    questions = masker(mase.models.Callable(scores, multilabel=True), "x y z", "delete")
    found = search(questions, 0, 3, 1)
    assert (found.flipped, len(found.order)) == (True, 3)
    assert search(questions, 0, 2, 1).flipped is False

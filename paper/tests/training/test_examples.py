"""Tests of `mase_paper.training.examples`."""

import numpy as np
import pytest

from mase.models.bundled.files import UNKNOWN_ID, Vocabulary
from mase_paper.training.examples import encode, learned_vocabulary, shuffled_batches, sorted_batches


@pytest.mark.parametrize(("keep", "kept"), [("start", (2, 3)), ("end", (3, 4))])
def test_encoding_keeps_one_end_and_reads_an_empty_text_as_one_unknown_word(keep, kept):
    vocabulary = Vocabulary.of(["a", "b", "c"])
    examples = encode(["A b, c", "!"], ["x", "z"], vocabulary, ["x", "y"], 2, keep)
    assert examples.ids == (kept, (UNKNOWN_ID,))
    assert examples.labels.tolist() == [0, -1]
    ids, labels = examples.batch(np.array([1, 0]))
    assert ids.tolist() == [[1, 0], list(kept)]
    assert labels.tolist() == [-1, 0]


def test_batches_hold_every_text_once():
    lengths = np.random.default_rng(0).integers(1, 9, 103)
    examples = encode(["a " * n for n in lengths], ["x"] * 103, Vocabulary.of(["a"]), ["x"], 80, "start")
    rng = np.random.default_rng(1)
    epochs = [shuffled_batches(examples, 8, 4, rng) for _ in range(2)]
    for batches in (*epochs, sorted_batches(examples, 8)):
        assert sorted(np.concatenate(batches)) == list(range(103))
        assert max(map(len, batches)) == 8
    assert not np.array_equal(np.concatenate(epochs[0]), np.concatenate(epochs[1]))


def test_a_vocabulary_is_learned_by_counts_and_then_the_alphabet():
    vocabulary = learned_vocabulary(["d a a c", "D b b a", "e"], size=3, min_count=2)
    assert dict(vocabulary.ids) == {"a": 2, "b": 3, "d": 4}  # b and d tie

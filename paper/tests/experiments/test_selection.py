"""Tests of `mase_paper.experiments.selection`."""

import dataclasses
import itertools

import numpy as np
import pytest
from paper.tests.experiments.samples import predict

from mase.errors import UnknownNameError
from mase_paper.datasets import Split
from mase_paper.experiments.selection import choose, later

SENTENCE = "the plot is dull and slow but one actor is good in a grand way so i stayed to see how it would end"


WORDS = SENTENCE.split()


@pytest.fixture
def split():
    rng = np.random.default_rng(7)
    texts = [" ".join(rng.permutation(WORDS)[: rng.integers(3, 16)]) for _ in range(600)]
    labels = ["dull" if rng.random() < 0.6 else "good" for _ in texts]
    texts[11] = "\x20\t"  # no word at all
    ids = tuple(f"{label}/{index}" for index, label in enumerate(labels))
    return Split("imdb", "test", tuple(texts), tuple(labels), ids, "0" * 64)


def test_chosen_texts_are_right_in_one_order_and_numbered(black_box, split):
    found = list(choose(black_box, split, 0))
    order = np.random.Generator(np.random.PCG64(np.random.SeedSequence((0, 600)))).permutation(600).tolist()
    says = [black_box.labels[index] for index in predict(split.texts).argmax(axis=1)]
    expected = [row for row in order if split.texts[row].strip() and says[row] == split.labels[row]]
    assert [chosen.row for chosen in found] == expected
    assert [chosen.number for chosen in found] == list(range(len(expected)))
    assert all(split.labels[one.row] == black_box.labels[one.target] and one.id == split.ids[one.row] for one in found)
    assert list(itertools.islice(choose(black_box, split, 0), 20)) == found[:20]
    assert [chosen.row for chosen in choose(black_box, split, 1)] != expected


def test_the_later_part_has_the_texts_that_come_last(black_box, split):
    part = later(split)
    first = {chosen.row for chosen in itertools.islice(choose(black_box, split, 0), 100)}
    assert (len(part), part.split, len(first)) == (270, "test-later", 100)
    assert not first & {split.ids.index(name) for name in part.ids}
    earliest = min(chosen.number for chosen in choose(black_box, split, 0) if chosen.id in part.ids)
    assert all(chosen.id in part.ids for chosen in choose(black_box, split, 0) if chosen.number >= earliest)


def test_labels_of_another_data_set_are_an_error(black_box, split):
    other = dataclasses.replace(split, labels=("earn",) * 600)
    with pytest.raises(UnknownNameError, match="labels in common"):
        next(choose(black_box, other, 0))

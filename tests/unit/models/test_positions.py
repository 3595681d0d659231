"""Tests of `mase.models.positions`."""

import pytest

from mase.models.positions import longest_input


@pytest.mark.parametrize(
    ("tokenizer", "family", "positions", "pad_id", "longest"),
    [
        (512, "bert", 128, 0, 128),
        (64, "bert", 128, 0, 64),
        (10**30, "bert", None, None, None),
        (None, "xlnet", -1, 5, None),
        (1e30, "roberta", 514, 1, 512),
        (None, "data2vec-text", 514, 1, 512),
        (None, "markuplm", 514, 1, 512),
        (None, "xlm-roberta", 514, None, 513),
        (None, "deberta", 514, 1, 514),
    ],
)
def test_the_longest_input_is_what_tokenizer_and_positions_allow(tokenizer, family, positions, pad_id, longest):
    assert longest_input(tokenizer, family, positions, pad_id) == longest

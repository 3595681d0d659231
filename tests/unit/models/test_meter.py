"""Tests of `mase.models.meter`."""

import pytest
from tests.model_folders import edit

from mase.errors import DataError
from mase.models import load


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 900},  # each is allowed, but the weights are not there
        {"hidden_size": 60_000},
        {"vocab_size": 4_000_000, "hidden_size": 4_096},
        {"intermediate_size": 1_000_000, "hidden_size": 4_096},
        {"max_position_embeddings": 10_000_000, "hidden_size": 4_096},
        {"num_attention_heads": 3},  # 8 is no multiple
        {"id2label": {str(index): str(index) for index in range(50_000)}, "hidden_size": 4_096},
        {"id2label": {"x": "y"}},
        {"id2label": {}},
        {"id2label": ["a", "b"]},
        {"id2label": 5},
        {"hidden_act": "no-such-function"},
        {"hidden_act": 5},
        {"problem_type": 5},
        {"model_type": "gpt2", "n_positions": 100_000},
        {"model_type": "t5gemma"},
        {"model_type": "vit"},
        {"model_type": ...},
        {"model_type": 5},
        {"model_type": ["bert"]},
    ],
)
def test_configurations_that_fit_no_weights_are_refused_without_building_them(changes, folder):
    edit(folder, **changes)
    with pytest.raises(DataError, match=r"model"):
        load(folder)


def test_a_hundred_layers_are_told_from_ten_by_what_is_stored(folder):
    edit(folder, num_hidden_layers=900, hidden_size=4_096)
    with pytest.raises(DataError, match="stored weights"):
        load(folder)

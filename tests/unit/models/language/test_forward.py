"""The cache in what a model returns."""

from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from mase.models.language.scoring import Cache, Forward


class Output:
    """What transformers returns from 5.24 on, where the former name has a warning."""

    cache = "states"

    @property
    def past_key_values(self):
        return "states of a name that is deprecated"


class Newer(torch.nn.Module):
    def forward(self, input_ids, cache=None, **others): ...


class Older(torch.nn.Module):
    def forward(self, input_ids, past_key_values=None, **others): ...


class States(torch.nn.Module):
    def forward(self, input_ids, cache_params=None): ...


class Wrapper(torch.nn.Module):
    def forward(self, *args, **kwargs): ...


@pytest.mark.parametrize(
    ("module", "output", "expected"),
    [
        (Newer, Output(), Cache("cache", "states")),
        (Older, Output(), Cache("past_key_values", "states of a name that is deprecated")),
        (Wrapper, Output(), Cache("cache", "states")),
        (Wrapper, SimpleNamespace(past_key_values="states"), Cache("past_key_values", "states")),
        (States, SimpleNamespace(cache_params="states"), Cache("cache_params", "states")),
        (Newer, SimpleNamespace(cache=None), None),
    ],
)
def test_a_cache_has_the_name_of_the_argument_that_takes_it_again(module, output, expected):
    """Under another name it would be one of the other arguments, which a model may ignore."""
    assert Forward(module()).cache_of(output) == expected

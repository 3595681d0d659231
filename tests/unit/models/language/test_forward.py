"""The cache in what a model returns."""

from types import SimpleNamespace

import pytest

pytest.importorskip("transformers")

from mase.models.language.forward import Cache, cache_of


class Output:
    """What transformers returns from 5.24 on, where the former name has a warning."""

    cache = "states"

    @property
    def past_key_values(self):
        pytest.fail("the name that is deprecated was read")


def test_a_cache_has_the_name_that_the_version_of_transformers_gives_it():
    assert cache_of(Output()) == Cache("cache", "states")
    for name in ("past_key_values", "cache_params"):
        assert cache_of(SimpleNamespace(**{name: "states"})) == Cache(name, "states")
    assert cache_of(SimpleNamespace(cache=None)) is None

"""Tests of `mase.links.value`: numbers that are no class scores."""

import numpy as np
import pytest
import torch

from mase.errors import CapabilityError
from mase.links import LINKS, Contrast, Output, floored, predictions, probabilities, respond, value_names
from mase.models.torch_links import response

SCORES = np.array([[0.0, 7.5], [-3.0, 1e9]])
VALUES = Output("values")


@pytest.mark.parametrize("output", [VALUES, Output(), Output("probabilities")])
def test_the_value_is_the_column_of_any_model(output):
    assert respond(SCORES, output, "value", 1).tolist() == SCORES[:, 1].tolist()
    assert response(torch.tensor(SCORES), output, "value", 0).tolist() == SCORES[:, 0].tolist()
    assert not floored(SCORES, output, "value", 0).any()


@pytest.mark.parametrize("link", [link for link in LINKS if link != "value"])
def test_values_have_no_other_link_and_no_probabilities(link):
    for ask in (
        lambda: respond(SCORES, VALUES, link, 0),
        lambda: response(torch.tensor(SCORES), VALUES, link, 0),
        lambda: respond(SCORES, VALUES, Contrast(link, 1), 0),
        lambda: probabilities(SCORES, VALUES),
    ):
        with pytest.raises(CapabilityError, match="values"):
            ask()


def test_what_a_model_of_values_predicts_are_the_values():
    assert predictions(SCORES, VALUES) is SCORES
    assert predictions(SCORES, Output())[0].sum() == pytest.approx(1)


def test_names_of_values():
    assert (value_names(1), value_names(2)) == (("value",), ("value 0", "value 1"))

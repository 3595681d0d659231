"""Tests of `mase.links`: a class rather than another one."""

import numpy as np
import pytest
import torch

from mase.errors import CapabilityError
from mase.links import LINKS, Contrast, Output, value_names
from mase.models.torch.probe import response
from mase.responses import clipped, predictions, probabilities, respond

LOGITS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 3.0]])


P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


SIGMOID = 1 / (1 + np.exp(-LOGITS))


DIFFERENCE = LOGITS[:, 2] - LOGITS[:, 1]


@pytest.mark.parametrize(
    ("output", "scores", "link", "expected"),
    [
        (Output(), LOGITS, "margin", DIFFERENCE),
        (Output(), LOGITS, "log-probability", DIFFERENCE),
        (Output("probabilities"), P, "margin", np.log(P[:, 2] / P[:, 1])),
        (Output("logits", True), LOGITS, "margin", DIFFERENCE),
        (Output("probabilities", True), SIGMOID, "margin", DIFFERENCE),
        (Output(), LOGITS, "probability", P[:, 2] - P[:, 1]),
        (Output("logits", True), LOGITS, "log-probability", np.log(SIGMOID[:, 2] / SIGMOID[:, 1])),
        (Output("values"), LOGITS, "value", DIFFERENCE),
    ],
)
def test_a_contrast_is_a_difference(output, scores, link, expected):
    contrast = Contrast(link, 1)
    assert respond(scores, output, contrast, 2) == pytest.approx(expected, rel=1e-12)
    assert response(torch.tensor(scores), output, contrast, 2).numpy() == pytest.approx(expected, rel=1e-12)


def test_a_contrast_stays_exact_where_other_classes_take_all():
    scores = np.array([[2.0, -1.0, 800.0]])
    assert respond(scores, Output(), Contrast("margin", 1), 0) == pytest.approx([3.0])


def test_a_contrast_raises_the_probabilities_of_both_classes():
    scores, contrast = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]), Contrast("margin", 1)
    assert clipped(scores, Output("probabilities"), contrast, 0).tolist() == [True, True, False]


SCORES = np.array([[0.0, 7.5], [-3.0, 1e9]])


VALUES = Output("values")


@pytest.mark.parametrize("output", [VALUES, Output(), Output("probabilities")])
def test_the_value_is_the_column_of_any_model(output):
    assert respond(SCORES, output, "value", 1).tolist() == SCORES[:, 1].tolist()
    assert response(torch.tensor(SCORES), output, "value", 0).tolist() == SCORES[:, 0].tolist()
    assert not clipped(SCORES, output, "value", 0).any()


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

"""Tests of `mase.links.contrast`: a class rather than another one."""

import numpy as np
import pytest
import torch

from mase.links import Contrast, Output, floored, respond
from mase.models.torch_links import response

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
    assert floored(scores, Output("probabilities"), contrast, 0).tolist() == [True, True, False]

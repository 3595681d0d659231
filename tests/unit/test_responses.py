"""Tests of `mase.responses` and of what torch differentiates."""

from typing import get_args

import numpy as np
import pytest
import torch

import mase
from mase.errors import NonFiniteError, UnknownNameError
from mase.links import LINKS, Link, Output
from mase.models.torch.probe import response
from mase.responses import clipped, probabilities, respond

LOGITS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 3.0]])
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
SIGMOID = 1 / (1 + np.exp(-LOGITS))


@pytest.mark.parametrize(
    ("output", "scores", "link", "expected"),
    [
        (Output(), LOGITS, "probability", P[:, 0]),
        (Output(), LOGITS, "log-probability", np.log(P[:, 0])),
        (Output(), LOGITS, "logit", LOGITS[:, 0]),
        (Output(), LOGITS, "margin", np.log(P[:, 0] / P[:, 1:].max(axis=1))),
        (Output("probabilities"), P, "probability", P[:, 0]),
        (Output("probabilities"), P, "log-probability", np.log(P[:, 0])),
        (Output("probabilities"), P, "logit", np.log(P[:, 0] / (1 - P[:, 0]))),
        (Output("probabilities"), P, "margin", np.log(P[:, 0] / P[:, 1:].max(axis=1))),
        (Output("logits", True), LOGITS, "probability", SIGMOID[:, 0]),
        (Output("logits", True), LOGITS, "log-probability", np.log(SIGMOID[:, 0])),
        (Output("logits", True), LOGITS, "margin", LOGITS[:, 0]),
        (Output("probabilities", True), SIGMOID, "margin", LOGITS[:, 0]),
    ],
)
def test_links(output, scores, link, expected):
    assert respond(scores, output, link, 0) == pytest.approx(expected)


def test_saturated_logits_stay_exact():
    scores = np.array([[60.0, 0.0]])
    assert respond(scores, Output(), "log-probability", 0)[0] == pytest.approx(-np.exp(-60))
    assert respond(scores, Output(), "margin", 0)[0] == 60


def test_a_response_that_is_not_finite_is_an_error():
    with pytest.raises(NonFiniteError, match="log-probability"):
        respond(np.array([[-np.inf, 1.0]]), Output(), "log-probability", 0)


@pytest.mark.parametrize("value", [1e76, -1e200, np.nan])
def test_a_response_whose_square_overflows_is_an_error(value):
    scores = np.array([[1e74], [value], [2.0]])
    assert respond(scores[::2], Output("values"), "value", 0).tolist() == [1e74, 2.0]
    with pytest.raises(NonFiniteError, match="1 of 3 evaluations"):
        respond(scores, Output("values"), "value", 0)


def test_unknown_link():
    for answer in (
        lambda: respond(LOGITS, Output(), "odds", 0),
        lambda: response(torch.ones(1, 2), Output(), "odds", 0),
    ):
        with pytest.raises(UnknownNameError, match="margin"):
            answer()
    assert tuple(LINKS) == get_args(Link)


@pytest.mark.parametrize(
    "output", [Output(kind, multi) for kind in ("logits", "probabilities") for multi in (False, True)]
)
@pytest.mark.parametrize("link", LINKS)
def test_derivatives_are_of_the_same_number(link, output):
    """What torch differentiates is what NumPy answers, and its derivative that of the difference quotient."""
    scores = LOGITS if output.kind == "logits" else (SIGMOID if output.multilabel else P)
    leaf = torch.tensor(scores, requires_grad=True)
    found = response(leaf, output, link, 0)
    assert found.detach().numpy() == pytest.approx(respond(scores, output, link, 0), rel=1e-12)
    (slopes,) = torch.autograd.grad(found.sum(), leaf)
    for column, unit in enumerate(1e-6 * np.eye(3)):
        near = respond(scores[:1] + unit, output, link, 0) - respond(scores[:1] - unit, output, link, 0)
        assert slopes[0, column].item() == pytest.approx(near[0] / 2e-6, abs=1e-6)


def test_probabilities_sum_to_one():
    assert probabilities(LOGITS, Output()).sum(axis=1) == pytest.approx(1)
    assert probabilities(LOGITS, Output("logits", True)) == pytest.approx(SIGMOID)


def test_probabilities_of_zero_and_one_have_finite_log_odds():
    """Trees, neighbours and votes answer so; a default that raised on them would be no default."""
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.25], [1e-10, 1 - 1e-10]])
    output = Output("probabilities")
    bound = np.log(1e9)
    assert respond(scores, output, "margin", 0) == pytest.approx([bound, -bound, np.log(3), -bound])
    assert respond(scores, output, "log-probability", 0) == pytest.approx([0, -bound, np.log(0.75), -bound])
    assert clipped(scores, output, "margin", 0).tolist() == [True, True, False, True]
    assert clipped(scores, output, "log-probability", 0).tolist() == [False, True, False, True]
    assert not clipped(scores, output, "probability", 0).any()
    assert not clipped(scores, Output("logits"), "margin", 0).any()
    assert clipped(scores, Output("probabilities", multilabel=True), "margin", 1).tolist() == [True, True, False, True]


def test_a_black_box_of_hard_labels_is_explained_and_told():
    found = mase.Explainer(lambda texts: [[1.0, 0.0] if "dull" in text else [0.0, 1.0] for text in texts])(
        "a dull film"
    )
    assert found.top(1)[0].text == "dull"
    assert found.link == "probability"
    assert [note.code for note in found.notes] == ["hard-labels"]

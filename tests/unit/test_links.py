import numpy as np
import pytest

from mase.errors import NonFiniteError, OptionError
from mase.links import Output, links, probabilities, respond

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


def test_probability_zero_has_no_logarithm():
    with pytest.raises(NonFiniteError, match="log-probability"):
        respond(np.array([[0.0, 1.0]]), Output("probabilities"), "log-probability", 0)


def test_unknown_link():
    with pytest.raises(OptionError, match="margin"):
        respond(LOGITS, Output(), "odds", 0)
    assert set(links()) == {"probability", "log-probability", "logit", "margin"}


def test_probabilities_sum_to_one():
    assert probabilities(LOGITS, Output()).sum(axis=1) == pytest.approx(1)
    assert probabilities(LOGITS, Output("logits", True)) == pytest.approx(SIGMOID)

"""A few labelled texts, and a black box that knows their labels."""

from mase.testing import AdditiveClassifier

TEXTS = [
    "a good film",
    "a dull film",
    "good, not dull",
    'the film\nof "all" time; dull',
    "such a good good cast",
    "a film",
]


LABELS = ["pos", "neg", "pos", "neg", "pos", "pos"]


SENTIMENT = AdditiveClassifier({"good": 0.4, "dull": -0.4}, constant=0.55)


def predict(texts):
    """The probability of "pos" is higher with "good" and lower with "dull"; "crash" raises."""
    if any("crash" in text for text in texts):
        raise RuntimeError("the model fell over")
    return SENTIMENT(texts)

"""Summaries made by hand, for the tests of the report."""

from mase_corpora.effects import Example, Family, GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase_corpora.summary import (
    Confusion,
    Distribution,
    Failures,
    NoteCount,
    Overview,
    PredictedClass,
    Settings,
    Summary,
)


def example(row=0, text="good", score=0.4):
    return Example(f"id {row}", row, "this is a ", text, " film, and so on", score, cut_after=True)


def word(word="good", response="pos", direction="towards", effect=0.5, examples=3, n_texts=120):
    signed = effect if direction == "towards" else -effect
    return WordEffect(
        response, direction, word, n_texts, n_texts + 7, signed, signed - 0.1, signed + 0.1, 0.45, 1e-4, 1e-3,
        tuple(example(row, word, signed) for row in range(examples)),
    )  # fmt: skip


def phrase(phrase="not good", response="pos", direction="away", effect=0.3):
    signed = effect if direction == "towards" else -effect
    return PhraseEffect(
        response, direction, phrase, 40, 41, signed, signed - 0.1, signed + 0.1, 0.45, signed - 0.45, signed - 0.6,
        signed - 0.3, 0.2, 1e-4, 1e-3, (example(2, phrase, signed),),
    )  # fmt: skip


def push(word="plot", prediction="pos", difference=0.2):
    return PushDifference(
        prediction, word, 30, 50, 0.2, 0.1, 0.3, 0.1, difference, difference - 0.05, difference + 0.05, 0.001, 0.01,
        (example(1, word, 0.3),),
    )  # fmt: skip


def group(word="app", group="mobile", response="pos", difference=-0.2):
    return GroupDifference(
        response, group, word, 30, 50, 0.1, 0.3, difference, difference - 0.05, difference + 0.05, 0.001, 0.01,
        (example(1, word, 0.3),),
    )  # fmt: skip


def summary(
    *,
    labels=("neg", "pos"),
    words=None,
    model="lstm-imdb",
    label_column="label",
    group_column="source",
    n=6,
    message="a message",
    **changed,
):
    """Return a summary of n texts in which two words push towards and one away from every label."""
    made = [
        effect
        for label in labels
        for effect in (word("good", label), word("wonderful", label, effect=0.2), word("bad", label, "away"))
    ]
    values = {
        "settings": Settings(label_column, group_column, 20, 20, 0.05, low_confidence=0.6, groups=("mobile", "web")),
        "overview": Overview(model, "mase", n, n - 1, 1, n - 1, 40, 1_000, accuracy=0.75, n_labelled=4),
        "predictions": tuple(PredictedClass(label, 3, 0.5, 0.9) for label in labels),
        "quality": (
            Distribution("r2", 5, 0.9, -0.2, 0.7, 0.8, 0.93, 0.97, 0.99, 1.0),
            Distribution("split_half", 5, 0.9, 0.5, 0.7, 0.8, 0.93, 0.97, 0.99, 1.0),
        ),
        "notes": (NoteCount("few-samples", 2, 0.4, message),),
        "failures": (Failures("InvalidTextError", 1, "id 3", message),),
        "words": tuple(made if words is None else words),
        "phrases": tuple(phrase(response=label) for label in labels),
        "confusion": tuple(Confusion(label, labels[0], 2, 0.25, 0.8) for label in labels),
        "wrong": tuple(push(prediction=label) for label in labels),
        "low_confidence": tuple(push(prediction=label, difference=-0.1) for label in labels),
        "groups": tuple(group(response=label) for label in labels),
        "families": (Family("words", 300, 6), Family("phrases", 80, 2)),
        "run": None,
    }
    return Summary(**values | changed)

"""Tests of what a summary counts."""

import pytest
from tests.attributions import attribution
from tests.runs import run_of

import mase


@pytest.mark.parametrize("label", ["caf\xe9", "cafe\u0301"])
def test_a_label_may_be_in_another_normal_form_than_the_class(tmp_path, label):
    texts = [
        (attribution("film", [0.5], label="caf\xe9"), (label,)),
        (attribution("end", [0.5], label="noir"), (label,)),
    ]
    run = run_of(tmp_path / "run", texts, kept=("label",), labels=("noir", "caf\xe9"))
    found = mase.summarise(run, label_column="label")
    assert [(row.label, row.prediction) for row in found.confusion] == [("caf\xe9", "caf\xe9"), ("caf\xe9", "noir")]


def test_shares_are_of_the_explained_texts_and_of_those_with_a_label(tmp_path):
    """Of three texts with the label "pos" one is predicted as "neg"; one of the four explained texts has a note."""
    rows = [("pos", "pos", ()), ("pos", "pos", [("few-samples", "beware")]), ("neg", "pos", ()), ("neg", "neg", ())]
    texts = [
        (attribution(f"film {number}", [0.5, 0.1], label=predicted, notes=notes), (label,))
        for number, (predicted, label, notes) in enumerate(rows)
    ]
    texts.append((("broken", ValueError("no")), ("pos",)))
    found = mase.summarise(run_of(tmp_path / "run", texts, kept=("label",)), label_column="label")
    assert [(row.label, row.prediction, row.n_texts) for row in found.confusion] == [
        ("neg", "neg", 1), ("pos", "pos", 2), ("pos", "neg", 1),
    ]  # fmt: skip
    assert [row.share for row in found.confusion] == pytest.approx([1, 2 / 3, 1 / 3])
    assert [(note.code, note.n_texts, note.share) for note in found.notes] == [("few-samples", 1, 1 / 4)]
    assert [(row.prediction, row.n_texts, row.share) for row in found.predictions] == [("neg", 2, 0.5), ("pos", 2, 0.5)]

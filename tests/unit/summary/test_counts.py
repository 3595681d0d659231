"""Tests of what a summary counts."""

import numpy as np
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


def test_distributions_are_those_of_numpy(tmp_path):
    values = np.arange(8) ** 2 / 50
    texts = [(attribution(f"film {number}", [0.5, 0.1], r2=value), ()) for number, value in enumerate(values.tolist())]
    (found,) = [one for one in mase.summarise(run_of(tmp_path / "run", texts)).quality if one.name == "r2"]
    quantiles = (found.minimum, found.q10, found.q25, found.median, found.q75, found.q90, found.maximum)
    assert quantiles == pytest.approx(np.quantile(values, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]))
    assert (found.n, found.mean) == (8, pytest.approx(values.mean()))


@pytest.mark.parametrize(("min_texts", "groups"), [(2, ("a", "b")), (3, ("a",))])
def test_groups_of_at_least_so_many_texts_are_compared(tmp_path, min_texts, groups):
    texts = [(attribution(f"film {number}", [0.5, 0.1]), (group,)) for number, group in enumerate("aaabbc")]
    run = run_of(tmp_path / "run", texts, kept=("group",))
    settings = mase.summarise(run, group_column="group", min_texts=min_texts).settings
    assert (settings.groups, settings.n_groups_left_out) == (groups, 3 - len(groups))

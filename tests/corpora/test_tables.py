"""Tests of which texts of a run are compared."""

import pyarrow as pa
import pytest
from tests.attributions import attribution
from tests.corpora import corpora
from tests.runs import run_of

import mase
from mase.errors import OptionError
from mase_corpora.database import database
from mase_corpora.schema import bare
from mase_corpora.tables import Compared, batches, load


@pytest.mark.parametrize(
    ("probabilities", "n_low"),
    [
        ([0.6 + n / 100 for n in range(20)], 2),
        ([0.6 + n / 100 for n in range(25)], 3),
        ([0.6] * 5 + [0.9] * 15, 5),
        ([0.6, 0.7, 0.7, 0.7] + [0.9] * 16, 4),
        ([0.6] + [0.9] * 19, 1),
        ([0.9] * 20, None),
    ],
)
def test_low_confidence_is_a_tenth_of_the_texts_and_their_ties(tmp_path, probabilities, n_low):
    chances = {f"text {number}": p for number, p in enumerate(probabilities)}
    model = mase.models.Callable(lambda texts: [[1 - chances.get(one, 0.5), chances.get(one, 0.5)] for one in texts])
    run = corpora.write(tmp_path / "run", mase.Explainer(model, method="random"), list(chances))
    with database() as tables:
        threshold = load(tables, run, None, None, 20).low_confidence
        ((low, n),) = tables.run("SELECT count(*) FILTER (low), count(low) FROM explained")
    assert (low, n) == ((0, 0) if n_low is None else (n_low, len(chances)))
    assert (threshold is None) == (n_low is None)


@pytest.mark.parametrize(("groups", "n_left_out", "n_sides"), [("", 0, 0), ("ab", 0, 1), ("ab", 1, 2), ("abc", 0, 3)])
def test_of_two_groups_the_other_one_is_the_rest(groups, n_left_out, n_sides):
    assert Compared(None, tuple(groups), n_left_out).n_sides == n_sides


def test_a_run_without_kept_columns_says_how_to_keep_them(tmp_path):
    run = corpora.write(tmp_path / "run", mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts)), ["a film"])
    with pytest.raises(
        OptionError, match=r"make it with keep=\['label'\] in Python, or --keep label on the command line"
    ):
        mase.summarise(run, label_column="label")
    with pytest.raises(OptionError, match="kept no columns"):
        mase.summarise(run, label_column=["label"])


def test_labels_that_are_indices_are_not_read_as_names_of_other_classes(tmp_path):
    model = mase.models.Callable(lambda texts: [[0.2, 0.8]] * len(texts), labels=["1", "2"])
    table = [{"text": f"a good film {row}", "label": str(row % 2)} for row in range(4)]
    run = mase.run(table, tmp_path / "run", model=model, n_samples=16, keep=["label"], engine="here")
    with pytest.raises(OptionError, match=r"whose labels are indices, of which '1' is also the name"):
        mase.summarise(run, label_column="label")


@pytest.mark.parametrize("kept", [("Prediction", "Label", "label"), ("ERROR", "Row", "ID")])
@pytest.mark.slow
def test_kept_columns_of_earlier_runs_may_have_names_in_other_letters(tmp_path, kept):
    """Such columns can no longer be kept. To the database they had the name of another column."""
    texts = [(attribution(f"good film {row}", [0.5, 0.1, 0.1], label="pos"), ("pos", "neg", "pos")) for row in range(4)]
    run = run_of(tmp_path / "run", texts, kept=kept)
    accuracies = [mase.summarise(run, label_column=column).overview.accuracy for column in kept]
    assert accuracies == [1.0, 0.0, 1.0]
    assert mase.summarise(run, group_column=kept[1]).settings.groups == ()


def test_words_that_punctuation_outside_of_units_divides_are_no_neighbours(tmp_path):
    spans = [(0, 2), (3, 6), (7, 10), (12, 16), (17, 21), (24, 28)]
    made = attribution("It was not. Good film 0 dull", [0.5] * 6, spans=spans)
    (found,) = batches(run_of(tmp_path, [(made, ())]))
    assert found.units["next_end"].to_pylist() == [6, 10, None, 21, None, None]


def test_flags_that_end_with_tags_are_words():
    flags = [
        "".join(map(chr, (0x1F3F4, *(0xE0000 + ord(letter) for letter in name), 0xE007F)))
        for name in ("gbeng", "gbsct")
    ]
    assert bare(pa.array([*flags, f"({flags[0]}),", "a\u200b"])).to_pylist() == [*flags, flags[0], "a"]

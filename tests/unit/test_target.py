"""Tests of `mase.target`."""

import numpy as np
import pytest

from mase.errors import OptionError, UnknownNameError
from mase.target import Question, listed

LABELS = ("neg", "neu", "pos")
RANKED = (2, 0, 1)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (None, (2,)),
        ("neu", (1,)),
        (0, (0,)),
        ("1", (1,)),
        (["pos", 0], (2, 0)),
        (("neu",), (1,)),
        ("all", (2, 0, 1)),
    ],
)
def test_the_leading_class_comes_first(target, expected):
    assert Question(target).indices(LABELS, RANKED) == expected


def test_a_label_comes_before_an_index_and_before_all():
    labels = ("2", "1", "all")
    for target in ("2", 2, np.int64(2)):
        assert Question(target).indices(labels, (1, 0, 2)) == (0,)
        assert Question([1, target]).indices(labels, (1, 0, 2)) == (1, 0)
        assert Question(None, target).against_index(labels) == 0
    assert Question(0).indices(labels, (1, 0, 2)) == (0,)
    assert Question("all").indices(labels, (1, 0, 2)) == (2,)


COMPOSED, IN_PARTS = "caf\xe9", "cafe\u0301"


@pytest.mark.parametrize(("label", "target"), [(COMPOSED, IN_PARTS), (IN_PARTS, COMPOSED)])
def test_a_label_may_be_in_another_normal_form(label, target):
    labels = ("noir", label)
    assert Question(target).indices(labels, (0, 1)) == (1,)
    assert Question(0, target).against_index(labels) == 1
    assert Question([target, 0]).named(labels) == Question([label, "noir"])


def test_a_label_with_a_comma_may_be_in_another_normal_form():
    assert listed(f"{IN_PARTS}, noir", ["blanc", f"{COMPOSED}, noir"]) == f"{IN_PARTS}, noir"


def test_a_label_that_reads_as_two_others_is_taken_literally():
    labels = ("e\u0301\u0323", COMPOSED, "\xe9\u0323", IN_PARTS)
    assert [Question(label).indices(labels, range(4)) for label in labels] == [(0,), (1,), (2,), (3,)]
    with pytest.raises(UnknownNameError):
        Question("\u1eb9\u0301").indices(labels, range(4))


def test_what_is_neither_a_label_nor_an_index_is_refused_with_the_labels():
    with pytest.raises(OptionError, match=r"neg.*neu.*pos"):
        Question(7).indices(LABELS, RANKED)


def test_all_but_the_class_to_compare_with():
    assert Question("all", "neg").indices(LABELS, RANKED) == (2, 1)
    assert Question("pos", 0).against_index(LABELS) == 0


@pytest.mark.parametrize(
    ("question", "error"),
    [
        (Question("good"), UnknownNameError),
        (Question(["pos", "good"]), UnknownNameError),
        (Question("pos", "good"), UnknownNameError),
        (Question(3), OptionError),
        (Question("-1"), OptionError),
        (Question(True), OptionError),
        (Question(b"\x01"), OptionError),
        (Question([]), OptionError),
        (Question(["pos", 2]), OptionError),
        (Question(["neg", "pos"], "pos"), OptionError),
        (Question(None, "pos"), OptionError),
    ],
)
def test_a_question_about_no_class(question, error):
    with pytest.raises(error):
        question.indices(LABELS, RANKED)


def test_runs_record_labels():
    assert Question(2, "0").named(LABELS) == Question("pos", "neg")
    assert Question([0, "pos"]).named(LABELS) == Question(["neg", "pos"])
    assert Question("all").named(LABELS) == Question("all")
    assert Question().named(LABELS) == Question()
    with pytest.raises(UnknownNameError):
        Question("good").named(LABELS)
    with pytest.raises(OptionError, match="ndarray"):
        Question(np.array(["pos", "neg"])).named(LABELS)


def test_a_label_with_a_comma_is_not_split():
    assert listed("pos, neg", LABELS) == ["pos", "neg"]
    assert listed("yes, sir", ("no", "yes, sir")) == "yes, sir"
    assert listed(None, LABELS) is None

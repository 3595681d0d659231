"""Tests of `mase_paper.experiments.results`."""

import pytest
from paper.tests.experiments.samples import HEADER, write

from mase.errors import DataError
from mase.methods import Configuration
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.records import DEPTH
from mase_paper.experiments.results import gather
from mase_paper.experiments.tables import TABLE1


def test_outcomes_are_the_records_as_arrays(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [0b101, 0, 0b10])
    (one,) = gather(
        tmp_path, "lstm-imdb", {Configuration("mase"): range(2), Configuration("random"): range(2)}
    ).values()
    assert one.flips.shape == (2, 3, DEPTH)
    assert one.flips[0, 0, :4].tolist() == [True, False, True, False]
    assert one.flips.sum() == 2
    assert one.probability.shape == (2, 4)
    assert one.probability[0].tolist() == [0.9, 0.5, 0.01, 0.0]
    assert one.start.tolist() == [0.95, 0.95]


@pytest.mark.parametrize(
    "changed", [{"text_seed": 1}, {"data": {"split": "validation", "sha256": "b"}}, {"model": {"sha256": "c"}}]
)
def test_records_of_other_texts_or_weights_are_not_compared(tmp_path, changed):
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    write(tmp_path, "lstm-imdb", "random", [1, 2], header=HEADER | changed)
    with pytest.raises(DataError, match=f"have {next(iter(changed))}"):
        TABLE1.report(Scope(("lstm-imdb",), (Configuration("mase"), Configuration("random")), 40), tmp_path)


def test_only_the_same_texts_are_paired(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3])
    write(tmp_path, "lstm-imdb", "lime", [1, 2, 3], row=8)
    one, other = gather(
        tmp_path, "lstm-imdb", {Configuration("mase"): range(9), Configuration("lime"): range(9)}
    ).values()
    here, there = one.common(other)
    assert len(here) == len(there) == 0
    here, there = one.common(one)
    assert here.tolist() == there.tolist() == [0, 1, 2]


def test_two_seeds_without_a_text_in_common_have_no_overlap(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    write(tmp_path, "lstm-imdb", "mase+seed=1", [1, 2], row=8)
    assert FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), tmp_path).data["stability"] == []

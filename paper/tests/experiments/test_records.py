"""Tests of `mase_paper.experiments.records`."""

import json

import pytest
from paper.tests.experiments.samples import record

from mase.errors import DataError
from mase_paper.experiments.records import dumps, loads


def test_records_survive_the_file():
    for one in (
        record(),
        record(half=True, probability=(), eraser=(), infidelity=(), areas=()),
        record(flips=(32767, 1, 0)),
    ):
        line = dumps(one)
        assert loads(json.loads(line), "here") == one
        assert line.count("\n") == 1
    assert len(dumps(record())) < 110
    for n_values in (2, 13, 16):
        with pytest.raises(DataError, match="expected 15"):
            loads([0] * n_values, "here")


def test_a_line_of_an_earlier_version_has_no_areas():
    *values, areas = json.loads(dumps(record()))
    assert areas
    assert loads(values, "here") == record(areas=())


@pytest.mark.parametrize("values", [[None] * 15, [0] * 15, [0, 7, 20, 1, ["x"], 1, 0, 0.2, 0, [0], [0], 9, [0], []]])
def test_a_line_that_is_not_a_record_is_an_error(values):
    with pytest.raises(DataError, match="is not a record"):
        loads(values, "line 3")

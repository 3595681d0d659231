"""Tests of `mase_paper.experiments.result_tables`."""

import dataclasses

import numpy as np
import pytest
from paper.tests.experiments.samples import bits, write

from mase.methods import parse
from mase_paper.experiments.result_tables import by_evaluations, by_operator, panels
from mase_paper.experiments.results import gather
from mase_paper.experiments.testbeds import TARGETS

TARGET = TARGETS["lstm-imdb"]


def outcomes(folder, **n_texts):
    return gather(folder, "lstm-imdb", {parse(name): range(n) for name, n in n_texts.items()})


def test_the_best_are_marked_for_each_operator_and_k(records):
    """`lime` flips all 40 texts, `mase` 30 of them at k = 5, `random` none."""
    unk, *others = by_operator(TARGET, outcomes(records, mase=40, random=40, lime=40), 2)
    assert [len(table.columns) for table in (unk, *others)] == [4, 4, 4]
    assert unk.where == "LSTM-IMDB, masked by the model's unknown token"
    by_name = {column.name: column.standings for column in unk.columns}
    assert {name: one.mark for name, one in by_name["T-5"].items()} == {"mase": "", "random": "", "lime": "best"}
    assert by_name["T-5"]["mase"].p_value == pytest.approx(2 * 0.5**10)  # the largest of the three
    assert by_name["T-5"]["random"].p_value == pytest.approx(3 * 2 * 0.5**40)
    assert {one.mark for one in others[0].columns[0].standings.values()} == {""}  # nothing flips: all are equal
    assert [panel.title for panel in panels(TARGET, unk)] == ["LSTM-IMDB"] * 4


def test_explainers_are_compared_on_the_texts_that_both_have(records):
    write(records, "lstm-imdb", "occlusion", [bits(1)] * 5)
    (table, *_) = by_operator(TARGET, outcomes(records, lime=40, occlusion=40, random=40), 2)
    first = table.columns[0].standings
    assert {name: one.mark for name, one in first.items()} == {"lime": "best", "occlusion": "tied", "random": ""}
    assert table.n_texts["occlusion"] == 5


def test_a_table_over_evaluations_has_gaps(records):
    known = outcomes(records, mase=40, lime=40)
    mase, lime = known
    table = by_evaluations(
        TARGET, {mase: {100: known[mase]}, lime: {100: known[lime], 200: known[lime]}}, (100, 200), 1, 2
    )
    assert [column.name for column in table.columns] == ["N=100", "N=200"]
    assert [row[1].text[:5] for row in table.table().rows] == ["0.000", "1.000"]
    assert table.table().rows[0][2].text == "-"


def test_a_mean_has_a_spread_from_a_batch_of_a_thousand_texts_on(records):
    ((mase, one),) = outcomes(records, mase=40).items()
    spreads = []
    for n in (999, 1000):
        more = {name: np.resize(getattr(one, name), (n, *getattr(one, name).shape[1:])) for name in ("flips", "rows")}
        (table, *_) = by_operator(TARGET, {mase: dataclasses.replace(one, numbers=np.arange(n), **more)}, 2)
        spreads.append(table.columns[1].standings["mase"].summary.sd)
    assert spreads[0] is None
    assert spreads[1] == pytest.approx((0.75 * 0.25 / 1000) ** 0.5, rel=1)

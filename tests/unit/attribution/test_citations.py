"""Tests of `mase.attribution.citations`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.answers import cited as answered
from tests.attributions import attribution

from mase.attribution import Answer, Citation, Part, Response
from mase.attribution.citations import cited


def response(scores, errors, link="probability", **changed):
    return Response.of("answer", link, 1.0, np.array(scores), np.array(errors), r2=0.9, **changed)


def units(scores, errors, link="probability", **changed):
    return [citation.unit for citation in cited(response(scores, errors, link, **changed))]


def test_the_sources_are_the_strongest_units_that_raise_the_part():
    assert cited(response([4.0, -9.0, 6.0, 0.5], [0.1] * 4)) == (Citation(2, 6.0, 0.1), Citation(0, 4.0, 0.1))
    assert units([1.0, 2.0, 3.0, 4.0], [0.1] * 4) == [3, 2, 1]
    assert units([0.9, -9.1], [0.0, 0.0]) == []  # less than a tenth
    assert units([2.0, 2.0], [0.0, 0.0]) == [0, 1]
    assert units([], []) == []


def test_a_source_is_beyond_the_error_of_all_units_together():
    assert units([2.1], [1.0]) == [0]
    assert units([2.1, 0.0], [1.0, 1.0]) == []  # beyond 1.96 standard errors, but not beyond 2.24
    noise = np.random.default_rng(0).standard_normal((400, 100))
    wrong = np.mean([len(cited(response(row, np.ones(100)))) > 0 for row in noise])
    assert 0.005 < wrong < 0.05  # 2.5 % are expected


@pytest.mark.parametrize("link", ["logit", "log-probability"])
def test_a_source_makes_the_odds_ten_times_as_high(link):
    assert units([2.31, 2.29], [0.01, 0.01], link) == [0]
    assert units([0.2, 0.1], [0.01, 0.01], "mean-log-probability") == [0, 1]


def test_scores_without_sign_or_error_are_no_ground():
    assert units([3.0, 1.0], [0.1, 0.1], signed=False) == []
    assert units([3.0, 1.0], [np.nan, np.nan]) == []


def test_every_part_has_its_own_sources():
    found = answered()
    assert [[one.unit for one in sources] for sources in found.citations] == [[0], [2, 0], []]
    assert found.of(found.answer.parts[1].response).citations == found.citations
    assert attribution().citations == ()
    whole = attribution(label="answer", answer=Answer("Fine.", (Part(0, 5, "answer"),), generated=False))
    assert [[whole.words[one.unit] for one in sources] for sources in whole.citations] == [["superb", "cast"]]


def test_tables_say_which_units_are_cited():
    pytest.importorskip("pandas")
    frame = answered().to_frame()
    assert frame.columns[-1] == "cited"
    assert frame["cited"].tolist() == [None] * 4 + [True, False, False, False, True, False, True, False, *[False] * 4]
    one = replace(answered(), answer=None).to_frame()
    assert "cited" not in one.columns

"""Tests of `mase.attribution.response`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.answers import cited as answered
from tests.attributions import attribution, two_fields

from mase.attribution import Answer as CitationsAnswer
from mase.attribution import Citation, Prediction, Response, ranking
from mase.attribution import Part as CitationsPart
from mase.attribution.response import Answer, Part, cited, in_order

ANSWER = Answer("Ada sings. Ben reads.", (Part(0, 10, "pos"), Part(11, 21, "neg")), generated=True)


def test_an_answer_has_the_one_part_that_a_response_explains():
    assert ANSWER.about("neg").parts == (Part(11, 21, "neg"),)
    assert ANSWER.about("whole") == Answer(ANSWER.text, (Part(0, 21, "whole"),), generated=True)


def test_an_effect_has_the_sources_of_its_part():
    made = two_fields()
    kept = {"kept": (5.0, -1.0, 0.5), "kept_error": (0.1, 0.2, 0.3)}
    responses = tuple(replace(response, effects=kept) for response in made.responses)
    found = replace(made, responses=responses, answer=ANSWER)
    for response in responses:
        ((source,),) = found.of(response.name).effect("kept").citations
        assert (source.unit, source.score) == (0, 5.0)


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
    whole = attribution(
        label="answer", answer=CitationsAnswer("Fine.", (CitationsPart(0, 5, "answer"),), generated=False)
    )
    assert [[whole.words[one.unit] for one in sources] for sources in whole.citations] == [["superb", "cast"]]


def test_tables_say_which_units_are_cited():
    pytest.importorskip("pandas")
    frame = answered().to_frame()
    assert frame.columns[-1] == "cited"
    assert frame["cited"].tolist() == [None] * 4 + [True, False, False, False, True, False, True, False, *[False] * 4]
    one = replace(answered(), answer=None).to_frame()
    assert "cited" not in one.columns


def test_the_first_of_the_most_probable_classes_is_predicted():
    assert Prediction.of(("a", "b", "c"), np.array([0.2, 0.4, 0.4])) == Prediction(
        "b", 1, 0.4, {"a": 0.2, "b": 0.4, "c": 0.4}
    )


def test_ranking_is_descending_with_ties_by_position():
    scores = np.random.default_rng(0).integers(-3, 4, size=200).astype(float)
    assert ranking(scores).tolist() == sorted(range(200), key=lambda index: (-scores[index], index))


def test_a_response_made_of_arrays():
    made = Response.of(
        "pos", "margin", 2.0, np.array([0.5, 1.0]), np.array([0.1, np.nan]), r2=None, token_scores=np.array([0.0, 1.5])
    )
    assert (made.scores, made.standard_errors, made.order) == ((0.5, 1.0), (0.1, None), (1, 0))
    assert (made.token_scores, made.intercept, made.signed, dict(made.effects)) == ((0.0, 1.5), 0.5, True, {})


def test_scores_that_differ_by_rounding_are_tied():
    scores = np.array([0.3, 1 - 1e-15, 0.3 + 1e-16, 1.0, -1e-20, 0.0])
    assert ranking(scores).tolist() == [1, 3, 0, 2, 4, 5]
    assert ranking(scores * 1e-200).tolist() == [1, 3, 0, 2, 4, 5]
    assert ranking([0.0, 0.0]).tolist() == [0, 1]
    assert in_order(scores, [3, 1, 2, 0, 5, 4])
    assert not in_order(scores, [0, 1, 2, 3, 4, 5])

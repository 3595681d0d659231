"""Tests of `mase.attribution.answer`."""

from dataclasses import replace

from tests.attributions import two_fields

from mase.attribution.answer import Answer, Part

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

import numpy as np
import pytest
from tests.unit.models.language.fake import Fake

import mase
from mase.document import Document, Field
from mase.errors import CapabilityError, OptionError
from mase.models.language.given import GivenAnswer, columns_of
from mase.models.language.protocol import Continuation
from mase.models.language.template import Template

TEMPLATE = Template("{context} | {query}")


def given(model, answer="Red. Blue sky.", **options):
    return GivenAnswer(model, model.continuation(answer), template=TEMPLATE, **options)


def test_columns_are_the_answer_its_parts_and_the_other_answer():
    model = Fake({"rose": 0.5, "sea": 0.25}, {"rose": (0,), "sea": (1, 2)})
    bound = given(model, parts=[(0, 4), (5, 14)], against=model.continuation("Green."))
    assert bound.labels == ("answer", "Red.", "Blue sky.", "Green.")
    assert bound.output.n_tokens == (3, 1, 2, 1)
    rows = bound.predict([{"a": "rose sea", "query": "?"}, {"a": "sea", "query": "?"}, {"a": "", "query": "?"}])
    assert rows == pytest.approx(np.array([[-8, -1.5, -6.5, -1.5], [-8.5, -2, -6.5, -2], [-9, -2, -7, -2]]))
    assert model.prompts[0] == "rose sea | ?"


def test_links_read_the_same_columns():
    model = Fake({"rose": 0.5})
    document = Document((Field("a", "rose is here now"), Field("query", "?", fixed=True)))
    found = {
        link: mase.Explainer(given(model), method="mase-cite", n_samples=64, link=link)(document)
        for link in ("logit", "log-probability", "mean-log-probability", "probability")
    }
    full, without = -9 + 1.5, -9.0
    expected = {
        "logit": (full - np.log1p(-np.exp(full))) - (without - np.log1p(-np.exp(without))),
        "log-probability": 1.5,
        "mean-log-probability": 0.5,
        "probability": np.exp(full) - np.exp(without),
    }
    for link, one in found.items():
        assert one.link == link
        assert one.scores == pytest.approx([expected[link], 0, 0, 0], abs=1e-9)
        assert 2**4 < one.fit.n_queries <= 2**4 + 4
    with pytest.raises(CapabilityError, match="log-probability"):
        mase.Explainer(given(model), link="margin")


def test_a_field_of_the_answer_is_no_part_of_the_prompt():
    model = Fake({})
    given(model).predict([{"a": "rose", "query": "?", "answer": "Red."}])
    assert model.prompts == ["rose | ?"]


def test_a_part_has_the_tokens_that_overlap_it():
    answer = Continuation("A b, c", (1, 2, 3, 4, 5), ((0, 1), (1, 3), (3, 4), (4, 5), (5, 6)))
    assert [tokens.tolist() for tokens in columns_of(answer, [(0, 3), (2, 4), (5, 6)])] == [[0, 1], [1, 2], [4]]
    for wrong in ((4, 5), (3, 3), (-1, 2), (0, 7)):
        with pytest.raises(OptionError, match="part"):
            columns_of(answer, [wrong])


def test_equal_parts_have_names_of_their_own():
    assert given(Fake({}), "Yes. Yes. answer", parts=[(0, 4), (5, 9), (10, 16)]).labels == (
        "answer", "Yes.", "Yes. (2)", "answer (2)"
    )  # fmt: skip


def test_an_answer_is_not_compared_with_itself():
    model = Fake({})
    with pytest.raises(OptionError, match="against"):
        given(model, "Red.", against=model.continuation("Red."))

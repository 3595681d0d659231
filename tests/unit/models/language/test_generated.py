import pickle

import pytest
from tests.unit.models.language.fake import Fake

import mase
from mase.errors import InvalidTextError, OptionError
from mase.models.code_reference import code_sha256, open_code
from mase.models.language.generated import Generated
from mase.models.portable import dumps


def test_the_answer_of_each_document_is_given_or_generated():
    model = Fake({"rose": 1.0}, says="Red it is")
    explainer = mase.Explainer(Generated(model), fixed=["query"], method="mase-cite")
    documents = [{"a": "a rose", "query": "?", "answer": "Sure thing"}, {"a": "a rose", "query": "?"}]
    given, generated = explainer(documents)
    assert (given.answer.text, given.answer.generated) == ("Sure thing", False)
    assert (generated.answer.text, generated.answer.generated) == ("Red it is", True)
    assert model.n_generated == 1
    assert given.words == generated.words == ("a", "rose")
    assert [field.fixed for field in given.document] == [False, True, True]
    assert given.of("answer").scores[1] > 1 > abs(given.scores[0])
    assert given.answer.parts[0].response == given.target == "answer"


def test_an_empty_answer_is_generated():
    model = Fake({}, says="Red it is")
    found = mase.Explainer(Generated(model, max_new_tokens=2), method="mase-cite")({"a": "a rose", "answer": " "})
    assert found.answer.text == "Red it"
    assert [note.code for note in found.notes].count("answer-cut") == 1


def test_a_language_model_is_explained_by_its_answer():
    found = mase.Explainer(Fake({"rose": 1.0}), method="mase-cite")("a rose")
    assert (found.target, found.answer.text) == ("answer", "Yes.")


def test_wrong_answers_and_options_are_refused():
    with pytest.raises(InvalidTextError, match="answer"):
        mase.Explainer(Generated(Fake({})))({"a": "a rose", "answer": 3})
    for wrong in (0, True, 1.5):
        with pytest.raises(OptionError, match="max_new_tokens"):
            Generated(Fake({}), max_new_tokens=wrong)


@pytest.mark.parametrize("dumped", [dumps, pickle.dumps])
def test_code_that_is_opened_again_keeps_the_number_of_tokens_that_was_set(dumped):
    model = open_code("tests.language_models:parrot")
    model.max_new_tokens = 2
    again = pickle.loads(dumped(model))
    assert (again.max_new_tokens, code_sha256(again)) == (2, code_sha256(model))
    assert again.language_model is model.language_model  # it was imported, and not pickled

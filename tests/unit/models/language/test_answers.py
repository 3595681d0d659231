"""Tests."""

import pickle

import numpy as np
import pytest
import torch
from scipy.special import softmax
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model, one_by_one
from tests.unit.models.language.fake import Fake

import mase
from mase.document import Document, Field
from mase.errors import CapabilityError, InvalidTextError, ModelError, OptionError
from mase.models import CausalLM, LabelWords
from mase.models.language.answers import Generated, GivenAnswer, columns_of
from mase.models.language.base import Continuation
from mase.models.language.prompts import Template
from mase.models.origin import dumps
from mase.models.user_code import open_code


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
    assert (again.max_new_tokens, again.origin.code_sha256) == (2, model.origin.code_sha256)
    assert again.language_model is model.language_model  # it was imported, and not pickled


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


LABEL_WORDS_TEMPLATE = "{context} It:"


@pytest.fixture(scope="module")
def module():
    return causal_model()


@pytest.fixture(scope="module")
def colours(module):
    return LabelWords(CausalLM(module, byte_tokenizer()), ["is", "no 😀"], template=LABEL_WORDS_TEMPLATE)


class Spacing(Fake):
    """Its tokenizer puts a space before each text, so that a further one is a token of its own."""

    def continuation(self, answer):
        words = answer.split(" ")
        return Continuation(answer, tuple(map(hash, words)), ((0, 0),) * len(words))


def test_probabilities_are_those_of_all_tokens_divided_by_their_sum(module, colours):
    lm = colours.language_model
    texts = ["the sky", "a red, red sky"]
    expected = []
    for text in texts:
        prompt = lm.tokenizer.prompt(f"{text} It:")
        words = [lm.continuation(f" {word}").ids for word in ("is", "no 😀")]
        expected.append(softmax([one_by_one(module, prompt, ids).sum() for ids in words]))
    np.testing.assert_allclose(colours.predict(texts), expected, atol=1e-5)
    assert colours.labels == ("is", "no 😀")


def answers_of(model, **settings):
    return [answer.text for answer in LabelWords(model, ["yes", "no"], **settings).answers]


def test_words_begin_with_a_space_after_a_text_that_ends_without_one(module):
    chat, plain = (CausalLM(module, byte_tokenizer(), chat=chat) for chat in (True, False))
    for model in (chat, plain):
        assert answers_of(model, template="{context}") == answers_of(model, template="A: {b}.") == [" yes", " no"]
        assert answers_of(model, template="{context}\n") == ["yes", "no"]
    turns = [{"role": "user", "content": "{context}"}]
    assert answers_of(chat) == answers_of(chat, template=turns) == ["yes", "no"]
    assert answers_of(plain) == answers_of(plain, template=turns) == [" yes", " no"]
    assert answers_of(Spacing({}), template="{context}") == ["yes", "no"]


def test_a_word_that_begins_another_one_is_refused(module):
    lm = CausalLM(module, byte_tokenizer())
    for words in (["yes", "no", "none"], ["none", "no"], {"a": "no", "b": "no"}):
        with pytest.raises(OptionError, match="begin"):
            LabelWords(lm, words)
    assert LabelWords(lm, ["no.", "none."]).labels == ("no.", "none.")


@pytest.mark.parametrize("labels", ["yes", ["yes"], ["yes", "yes"], ["yes", " "], 3, {"a": "yes"}])
def test_wrong_labels_are_refused(labels):
    with pytest.raises(OptionError):
        LabelWords(Fake({}), labels)


def test_each_label_may_have_a_word(module):
    lm = CausalLM(module, byte_tokenizer())
    named = LabelWords(lm, {"positive": "is", "negative": "no"})
    assert named.labels == ("positive", "negative")
    np.testing.assert_array_equal(named.predict(["red"]), LabelWords(lm, ["is", "no"]).predict(["red"]))
    assert named.sha256 != LabelWords(lm, ["is", "no"]).sha256


def test_label_words_of_a_model_make_a_classifier(module):
    lm = CausalLM(module, byte_tokenizer(), labels=["is", "no 😀"], template=LABEL_WORDS_TEMPLATE)
    explainer = mase.Explainer(lm, n_samples=20)
    found = explainer("a red, red sky")
    assert found.words == ("a", "red,", "red", "sky")
    assert [*found.prediction.probabilities] == ["is", "no 😀"]
    expected = explainer.model.predict(["a red, red sky"])[0]
    np.testing.assert_allclose([*found.prediction.probabilities.values()], expected, atol=1e-6)
    cited = mase.cite(lm, context="the sky is red", answer="It is", units="word", n_samples=8)
    assert cited.answer.text == "It is"  # the words are for the classifier only


def test_fields_fill_the_template():
    model = Fake({"rose": 3.0}, {"rose": (1,)})
    labelled = LabelWords(model, ["yes", "no way"], template=[{"role": "user", "content": "{flower}? {query}"}])
    found = mase.Explainer(labelled, fixed=["query"], n_samples=8)({"flower": "a rose", "query": "is it"})
    assert found.words == ("a", "rose")
    assert model.prompts[0] == [{"role": "user", "content": "a rose? is it"}]
    # The second word of "no way" is exp(3) times as probable with the rose.
    np.testing.assert_allclose([*found.prediction.probabilities.values()], softmax([-2.0, -2 - 3 + 3.0]), atol=1e-9)
    np.testing.assert_allclose(np.abs(found.scores), [0.0, 3.0], atol=1e-6)
    with pytest.raises(OptionError, match="template names"):
        mase.Explainer(labelled)("a rose")


def test_what_it_was_taken_for_and_the_prompt_are_told(colours):
    assert "LlamaForCausalLM" in colours.description.kind
    found = mase.Explainer(colours, n_samples=8)("the sky is red")
    assert found.model["template"] == LABEL_WORDS_TEMPLATE
    assert found.model["words"] == {"is": " is", "no 😀": " no 😀"}


def test_it_can_be_sent_to_another_process(colours):
    text = ["the sky"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(colours)).predict(text), colours.predict(text))


def test_half_precision_is_that_of_the_language_model(colours, monkeypatch):
    monkeypatch.setattr("mase.models.language.torch.multiplies_bfloat16", lambda _: True)
    half = colours.half()
    full = colours.predict(["the sky is red"])
    np.testing.assert_allclose(half.predict(["the sky is red"]), full, atol=0.1)
    assert LabelWords(Fake({}), ["yes", "no"]).half() is None


class Wrong(Fake):
    """A language model that returns something else than log-probabilities."""

    def __init__(self, change):
        super().__init__({"old": 1.0})
        self.change = change

    def log_probabilities(self, prompts, answers):
        return self.change(super().log_probabilities(prompts, answers))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda tables: [-table for table in tables], "as a log-probability, expected numbers <= 0"),
        (lambda tables: [np.exp(table) for table in tables], "as a log-probability, expected numbers <= 0"),
        (lambda tables: None, "returned None, expected arrays"),
        (lambda tables: [table[1:] for table in tables], "of the shapes .*, expected .*: prompts by tokens"),
        (lambda tables: [table.sum(axis=1) for table in tables], "of the shapes"),
    ],
)
def test_what_is_no_log_probability_is_refused(change, match):
    with pytest.raises(ModelError, match=match):
        mase.cite(Wrong(change), context="The old house. A new one.", query="Which?")


def test_lists_are_arrays():
    context = {"context": "The old house. A new one.", "query": "Which?"}
    lists = Wrong(lambda tables: [table.tolist() for table in tables])
    assert mase.cite(lists, **context).scores.tolist() == mase.cite(Fake({"old": 1.0}), **context).scores.tolist()


def test_a_wrapped_language_model_is_that_inside_of_it():
    model, words = causal_model("GPT2"), byte_tokenizer()
    assert CausalLM(torch.nn.DataParallel(model), words).module is model

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model, one_by_one
from tests.unit.models.language.fake import Fake

import mase
from mase.errors import OptionError
from mase.models import CausalLM, LabelWords
from mase.models.language.protocol import Continuation

TEMPLATE = "{context} It:"


@pytest.fixture(scope="module")
def module():
    return causal_model()


@pytest.fixture(scope="module")
def colours(module):
    return LabelWords(CausalLM(module, byte_tokenizer()), ["is", "no 😀"], template=TEMPLATE)


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
    lm = CausalLM(module, byte_tokenizer(), labels=["is", "no 😀"], template=TEMPLATE)
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
    assert found.model["template"] == TEMPLATE
    assert found.model["words"] == {"is": " is", "no 😀": " no 😀"}


def test_it_can_be_sent_to_another_process(colours):
    text = ["the sky"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(colours)).predict(text), colours.predict(text))


def test_half_precision_is_that_of_the_language_model(colours, monkeypatch):
    monkeypatch.setattr("mase.models.language.transformers_model.multiplies_bfloat16", lambda _: True)
    half = colours.half()
    full = colours.predict(["the sky is red"])
    np.testing.assert_allclose(half.predict(["the sky is red"]), full, atol=0.1)
    assert LabelWords(Fake({}), ["yes", "no"]).half() is None

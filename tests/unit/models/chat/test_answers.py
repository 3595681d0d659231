"""Tests of `mase.models.chat.answers`: a chat model with labels is a classifier of texts."""

import itertools
import json
import threading

import numpy as np
import pytest
from tests.chat_server import chat_served

import mase
from mase.attribution.evidence import NO_LABEL, FlipSet
from mase.errors import CapabilityError, ModelError, OptionError
from mase.metrics import METRICS
from mase.models import Chat

TEXT = "The cast is superb, but the plot is dull, and the end is long."
LABELS = ["positive", "negative"]


def sentiment(messages):
    """A model that knows two words."""
    text = messages[-1]["content"]
    return "Positive." if ("superb" in text) - ("dull" in text) * 0.5 > 0 else "negative"


def classifier(call=sentiment, **options):
    return Chat(call, name="judge", labels=LABELS, prompt="Sentiment of: {text}", **options)


def codes(found):
    return [note.code for note in found.notes]


def test_a_text_is_explained_like_by_any_classifier():
    found = mase.explain(TEXT, classifier())
    assert (found.target, found.target_probability) == ("positive", 1.0)
    assert found.top(1)[0].text == "superb,"
    assert found.link == "probability"
    assert "hard-labels" in codes(found)
    assert found.evidence.flip_set.units == (found.words.index("superb,"),)
    assert mase.Attribution is type(found)


def test_every_request_is_part_of_the_budget():
    for n_samples in (20, 40, 80):
        chat = classifier()
        found = mase.explain(TEXT, chat, n_samples=n_samples)
        assert chat.n_sent <= found.fit.n_queries <= n_samples


def test_the_automatic_number_is_small_and_stays_so():
    for call in (sentiment, lambda messages: "positive" if len(messages[0]["content"]) % 2 else "negative"):
        assert mase.explain(TEXT, classifier(call)).fit.n_queries <= 32 + 14


def test_other_methods_explain_it_too():
    found = mase.explain(TEXT, classifier(), method="occlusion", n_samples=100)
    assert found.top(1)[0].text == "superb,"
    with pytest.raises(CapabilityError):
        mase.explain(TEXT, classifier(), method="gradient")


def test_the_prompt_has_the_text_or_the_fields():
    seen = []

    def call(messages):
        seen.append(messages)
        return "positive"

    mase.Explainer(Chat(call, labels=LABELS), n_samples=4)("Well done.")
    assert seen[0][0]["content"].endswith("positive or negative? Answer with the label alone.\n\nWell done.")
    seen.clear()
    prompt = [{"role": "system", "content": "Judge {title}."}, {"role": "user", "content": "{body}"}]
    mase.Explainer(Chat(call, labels=LABELS, prompt=prompt), fixed=["title"], n_samples=4)(
        {"title": "A", "body": "B C"}
    )
    assert [message["content"] for message in seen[0]] == ["Judge A.", "B C"]


def test_unreadable_answers_are_counted_and_told():
    def call(messages):
        return sentiment(messages) if "cast" in messages[-1]["content"] else "I can't help with that."

    found = mase.explain(TEXT, classifier(call))
    (note,) = [note for note in found.notes if note.code == "unreadable"]
    assert "I can't help with that." in note.message
    assert {word.text for word in found.top(2)} == {"superb,", "cast"}


@pytest.mark.parametrize("labels", [("positive", "negative"), ("negative", "positive")])
def test_an_answer_without_a_label_is_no_answer_for_another_label(labels, tmp_path):
    explainer = mase.Explainer(Chat(lambda messages: "positive" if "superb" in str(messages) else "hm", labels=labels))
    found = explainer("The cast is superb today.")
    assert found.evidence.flip_set == FlipSet((3,), NO_LABEL, 1.0, smallest=True)
    assert explainer.predict_without(found, [3]).label == NO_LABEL
    assert "no label" in str(found)
    found.save(tmp_path / "a.json")
    assert mase.load(tmp_path / "a.json") == found
    evaluation = mase.evaluate(
        explainer.model, [found.text], ["mase-chat"], metrics=[METRICS["delta-accuracy"](ks=(1,))]
    )
    assert evaluation.summaries("mase-chat")[0].mean == 1


def test_a_text_without_a_label_is_refused():
    with pytest.raises(ModelError, match=r"'I do not know' to the text itself, expected one of positive, negative"):
        mase.explain(TEXT, classifier(lambda messages: "I do not know"))


def test_a_chat_model_without_labels_is_no_classifier():
    with pytest.raises(OptionError, match="labels="):
        mase.explain(TEXT, Chat(sentiment))


def varying(p, seed=0):
    """Return a chat model whose answer is positive with the probability p(text)."""
    rng, lock = np.random.default_rng(seed), threading.Lock()

    def call(messages):
        with lock:
            return LABELS[int(rng.random() >= p(messages[-1]["content"]))]

    return call


def test_the_share_of_repeated_answers_is_the_probability():
    call = itertools.cycle(["positive", "positive", "negative"])
    found = mase.explain(TEXT, classifier(lambda messages: next(call), varies=True, concurrency=1))
    assert found.target_probability == pytest.approx(2 / 3)
    assert "not-deterministic" in codes(found)


def test_answers_that_vary_are_noticed():
    call = itertools.cycle(LABELS)
    found = mase.explain(TEXT, classifier(lambda messages: next(call)))
    assert "not-deterministic" in codes(found)
    assert "not-deterministic" not in codes(mase.explain(TEXT, classifier()))


def test_a_strong_word_stands_out_of_the_noise():
    chat = classifier(varying(lambda text: 0.95 if "superb" in text else 0.05), varies=True)
    found = mase.explain(TEXT, chat, n_samples=60, target="positive")
    assert found.top(1)[0].text == "superb,"
    assert 0 < found.word_scores[3].standard_error < 0.2


def test_all_classes_come_from_the_same_requests():
    chat = classifier()
    one = mase.explain(TEXT, classifier(), n_samples=40)
    both = mase.explain(TEXT, chat, n_samples=40, target="all")
    assert [response.name for response in both.responses] == LABELS
    assert chat.n_sent <= 40
    assert both.scores.tolist() == one.scores.tolist()
    assert both.of("negative").scores == pytest.approx(-one.scores)


def test_it_is_the_same_from_an_archive_and_in_json(tmp_path):
    def run():
        chat = classifier(archive=tmp_path / "a")
        found = mase.explain(TEXT, chat)
        chat.close()
        return found, chat.n_sent

    first, second = run(), run()
    assert first[0] == second[0]
    assert (first[1] > 0, second[1]) == (True, 0)
    first[0].save(tmp_path / "x.json")
    assert mase.load(tmp_path / "x.json") == first[0]
    assert "Positive" not in json.dumps(first[0].to_dict()["model"])


def test_a_server_is_a_classifier():
    with chat_served(sentiment) as (url, double):
        chat = Chat.openai(url, labels=LABELS, prompt="Sentiment of: {text}", concurrency=4)
        found = mase.explain(TEXT, chat)
        assert found.top(1)[0].text == "superb,"
        assert len(double.asked("/v1/chat/completions")) == chat.n_sent

"""Tests of `mase.conversations`: `mase.cite` of chat models that only answer."""

import json
import re
import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.chat_server import ROUTE, TOOL, answered, chat_served, look_up, told
from tests.servers import status

import mase
from mase.errors import BudgetSpentError, EmptyTextError, ModelError, OptionError
from mase.models import Chat
from mase.models.chat.archive import Reply
from mase.options import Stopping
from mase.testing.models import lookups

ONE = lookups(1, n_sources=12)[0]
BEST = ONE.sources[ONE.used[0]]
CONTEXT = {"context": ONE.context, "query": ONE.query}


class Counted:
    """A look-up model that counts its requests."""

    def __init__(self, answer=look_up):
        self.n, self.answer, self.lock = 0, answer, threading.Lock()

    def __call__(self, messages):
        with self.lock:
            self.n += 1
        return self.answer(messages)


def codes(found):
    return [note.code for note in found.notes]


def test_the_source_of_an_answer_comes_first():
    call = Counted()
    found = mase.cite(Chat(call, name="look-up"), **CONTEXT)
    assert found.answer.text == ONE.answer
    assert found.answer.generated
    assert found.top(1)[0].text == BEST
    assert [found.words[source.unit] for source in found.citations[0]] == [BEST]
    assert call.n == found.fit.n_queries <= 32 + 12
    assert found.verdict.reliable


@pytest.mark.parametrize("n_samples", [24, 33, 60])
def test_every_request_counts(n_samples):
    call = Counted()
    found = mase.cite(Chat(call), n_samples=n_samples, **CONTEXT)
    assert call.n <= n_samples
    assert call.n == found.fit.n_queries


def test_requests_that_failed_and_were_charged_count_too(tmp_path):
    body = b'{"usage": {"prompt_tokens": 10}}'
    with chat_served() as (url, double):
        double.faults = [status(500, body=body) if i in (0, 9) else told(answered(ONE.answer)) for i in range(40)]
        found = mase.cite(Chat.openai(url, "m", concurrency=1), archive=tmp_path / "a", n_samples=24, **CONTEXT)
        assert len(double.asked(ROUTE)) == found.fit.n_queries == 24
        assert mase.cite(Chat.openai(url, "m"), archive=tmp_path / "a", n_samples=24, **CONTEXT) == found


def test_few_parts_are_asked_in_all_subsets():
    call = Counted()
    found = mase.cite(Chat(call, varies=False), context="Ada sings. Ben cooks. Cleo swims.", query="What does Ben do?")
    assert found.responses[0].exact
    assert call.n == 8
    assert found.measured_by("exact").scores.tolist() == [0.0, 1.0, 0.0]
    assert found.scores.tolist() == [0.0, 0.5, 0.0]


def test_evidence_that_rows_have_asked_for_is_not_counted_again():
    one = lookups(1, n_sources=6)[0]
    for seed in range(5, 9):
        chat = Chat(look_up, varies=False)
        found = mase.cite(chat, context=one.context, query=one.query, seed=seed)
        assert found.fit.n_queries == chat.n_sent


def test_another_measure_asks_nothing():
    call = Counted()
    found = mase.cite(Chat(call), measure="exact", **CONTEXT)
    n = call.n
    other = found.measured_by("overlap")
    assert (found.target, other.target, call.n) == ("exact", "overlap", n)
    assert found.top(1)[0].score == pytest.approx(1.0)
    assert other.top(1)[0].score == pytest.approx(0.5)


def test_a_function_and_an_embedding_are_measures():
    def length(one, other):
        return len(one) / len(other)

    def embed(texts):
        return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]

    found = mase.cite(Chat(look_up), measure=length, embedding=embed, **CONTEXT)
    assert [response.name for response in found.responses] == ["length", "exact", "overlap", "embedding"]
    assert found.measured_by("embedding").top(1)[0].text == BEST


def test_labels_are_a_measure():
    def call(messages):
        return "Yes, he does." if "Ben cooks" in messages[-1]["content"] else "No."

    found = mase.cite(Chat(call, labels=["yes", "no"]), context="Ada sings. Ben cooks.", query="Does Ben cook?")
    assert (found.target, found.top(1)[0].text, found.top(1)[0].score) == ("label", "Ben cooks.", 1.0)
    with pytest.raises(ModelError, match="expected one of yes, no"):
        mase.cite(Chat(lambda messages: "Perhaps.", labels=["yes", "no"]), **CONTEXT)


TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Ada sings. Cleo swims."},
    {"role": "assistant", "content": "I see."},
    {"role": "user", "content": "Ben cooks. Dan reads."},
    {"role": "assistant", "content": "All right."},
    {"role": "user", "content": "What does Cleo do?"},
]


def test_a_conversation_is_cited():
    seen = []

    def call(messages):
        seen.append([message["role"] for message in messages])
        return look_up(messages)

    found = mase.cite(Chat(call), messages=TALK)
    best = found.top(1)[0]
    assert (best.text, best.field) == ("Cleo swims.", "2 user")
    assert [one.name for one in found.document if one.fixed] == ["1 system", "6 user"]
    assert "conversation" in codes(found)
    assert all(roles[0] == "system" and roles[-1] == "user" for roles in seen)
    assert all(roles[1:] == ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"] for roles in seen)


def test_messages_can_be_parts_as_a_whole():
    found = mase.cite(Chat(look_up), messages=TALK, units="document", fixed=["last"])
    assert len(found.units) == 5
    assert found.top(1)[0].field == "2 user"


@pytest.mark.parametrize("fixed", [["sytem"], ["System"], [6], [-7], ["last", "7 user"], [None]])
def test_what_stays_has_to_be_there(fixed):
    with pytest.raises(OptionError, match="fixed has"):
        mase.cite(Chat(look_up), messages=TALK, fixed=fixed)


@pytest.mark.parametrize("fixed", [["4 user"], [3], [-3]])
def test_a_message_stays_by_its_name_or_number(fixed):
    found = mase.cite(Chat(look_up), messages=TALK, fixed=[*fixed, "last"])
    assert [one.name for one in found.document if one.fixed] == ["4 user", "6 user"]


def test_an_answer_of_a_chat_model_has_no_length():
    with pytest.raises(OptionError, match="max_new_tokens"):
        mase.cite(Chat(look_up), messages=TALK, max_new_tokens=7)


def test_named_documents_are_parts():
    documents = {"letter": "Ada sings. Cleo swims.", "note": "Ben cooks."}
    found = mase.cite(Chat(look_up), context=documents, query="What does Ben do?", units="document")
    assert found.top(1)[0].field == "note"


def test_evidence_is_shown_as_text():
    found = mase.cite(Chat(look_up), evidence=2, **CONTEXT)
    assert [len(changed.units) for changed in found.evidence.without] == [1, 2]
    assert (found.evidence.without[0].response, found.evidence.only[0].response) == (0.5, 1.0)
    (note,) = [note for note in found.notes if note.code == "answers-without"]
    assert "sleeps" in note.message
    assert ONE.answer in note.message
    assert mase.cite(Chat(look_up), evidence=0, **CONTEXT).evidence is None


def test_a_long_part_is_shortened_in_the_note_with_both_quotes():
    context = ["Cleo swims. " + "The sea is cold in winter. " * 10, "Ada sings."]
    found = mase.cite(Chat(look_up), context=context, query="What does Cleo do?", units="document")
    (note,) = [note for note in found.notes if note.code == "answers-without"]
    assert note.message.startswith("without 'Cleo swims. The sea")
    assert "…' the answer is 'Cleo sleeps.'" in note.message


def test_a_given_answer_is_explained():
    found = mase.cite(
        Chat(look_up), answer="Somebody swims.", context="Ada sings. Cleo swims.", query="What does Cleo do?"
    )
    assert (found.answer.generated, found.response) == (False, 0.5)
    assert found.top(1)[0].text == "Cleo swims."


def test_stable_top_stops_early():
    call = Counted()
    context = lookups(1, n_sources=24)[0]
    found = mase.cite(
        Chat(call), context=context.context, query=context.query, n_samples=128, stopping=Stopping(stable_top=1)
    )
    assert found.top(1)[0].text == context.sources[context.used[0]]
    assert call.n <= 36


def test_a_run_is_repeated_from_its_archive(tmp_path):
    call, again = Counted(), Counted()
    archive = tmp_path / "answers.jsonl"
    first = mase.cite(Chat(call, name="m"), archive=archive, **CONTEXT)
    second = mase.cite(Chat(again, name="m"), archive=archive, **CONTEXT)
    assert first == second
    assert (call.n, again.n) == (first.fit.n_queries, 0)
    assert len(archive.read_text().splitlines()) == call.n
    mase.cite(Chat(again, name="m"), archive=archive, measure="exact", **CONTEXT)
    assert again.n == 0
    mase.cite(Chat(again, name="m"), archive=archive, n_samples=60, **CONTEXT)
    assert again.n < 60 - 12  # a larger budget begins with the same rows


@pytest.mark.parametrize("n_kept", [1, 7, 20])
def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path, n_kept):
    archive, again = tmp_path / "a", Counted()
    first = mase.cite(Chat(Counted(), name="m"), archive=archive, **CONTEXT)
    lines = archive.read_bytes().splitlines(keepends=True)
    archive.write_bytes(b"".join(lines[:n_kept]) + lines[n_kept][:50])
    second = mase.cite(Chat(again, name="m"), archive=archive, **CONTEXT)
    assert again.n == len(lines) - n_kept
    assert "archive-repaired" in codes(second)
    kept = [note for note in second.notes if note.code != "archive-repaired"]
    assert replace(second, notes=tuple(kept)) == first


def test_the_archive_of_varying_answers_gives_the_same_result(tmp_path):
    rng, lock = np.random.default_rng(3), threading.Lock()

    def call(messages):
        with lock:
            return look_up(messages) if rng.random() < 0.9 else "I do not know."

    first, second = (mase.cite(Chat(call, name="m", varies=True), archive=tmp_path / "a", **CONTEXT) for _ in range(2))
    assert first == second
    assert first.top(1)[0].text == BEST
    assert "not-deterministic" in codes(first)


def test_money_ends_it_early_and_honestly():
    def call(messages):
        return Reply(look_up(messages), 100, 5)

    found = mase.cite(Chat(call, max_total_tokens=35 * 105), n_samples=128, **CONTEXT)
    assert found.top(1)[0].text == BEST
    assert "budget-spent" in codes(found)
    (note,) = [note for note in found.notes if note.code == "requests"]
    assert int(re.search(r"([\d,]+) tokens", note.message)[1].replace(",", "")) <= 1.05 * 35 * 105
    with pytest.raises(BudgetSpentError, match="max_total_tokens"):
        mase.cite(Chat(call, max_total_tokens=500), **CONTEXT)


def test_what_was_not_asked_is_not_counted():
    call = Counted()
    context = " ".join(f"Sentence {i} is here." for i in range(12)) + " Ada pays."
    found = mase.cite(Chat(call, max_total_tokens=1500), context=context, query="Who?", answer="Ada pays.")
    assert call.n == found.fit.n_queries
    assert codes(found).count("budget-spent") == 1


@pytest.mark.parametrize("n_samples", [2, 5])
def test_too_few_requests_are_told_as_they_were_given(n_samples):
    with pytest.raises(OptionError, match=rf"n_samples is {n_samples}, but 4 requests are for .*, expected at least 6"):
        mase.cite(Chat(look_up), n_samples=n_samples, **CONTEXT)


def test_the_result_is_saved_and_shown(tmp_path):
    found = mase.cite(Chat(look_up, name="<b>look-up</b>"), messages=TALK)
    found.save(tmp_path / "x.json")
    assert mase.load(tmp_path / "x.json") == found
    found.to_html(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert "Cleo swims." in page
    assert "<b>look-up" not in page
    assert "increases the agreement of new answers with this one" in page
    assert "probability of the answer" not in page
    shown = str(found)
    assert "note: without 'Cleo swims.'" in shown
    assert "warning: without" not in shown
    assert json.loads((tmp_path / "x.json").read_text())["model"]["roles"][0] == "system"


def test_a_server_is_cited():
    with chat_served() as (url, double):
        found = mase.cite(Chat.openai(url), **CONTEXT)
        assert found.top(1)[0].text == BEST
        assert len(double.asked(ROUTE)) == found.fit.n_queries


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither of messages and context"),
        ({"messages": TALK, "context": "a"}, "both of messages and context"),
        ({"messages": TALK, "query": "a"}, "query or template"),
        ({"context": "a", "fixed": ["system"]}, "fixed"),
        ({"context": "a", "against": "b"}, "against is given"),
        ({"context": "a", "parts": "word"}, "parts is given"),
        ({"context": "a", "measure": "label"}, "labels="),
        ({"context": "a", "measure": "embedding"}, "embedding="),
        ({"context": "a", "n_sample": 3}, "n_sample"),
        ({"context": "a", "proxy": "cheap"}, "proxy is 'cheap'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises((OptionError, LookupError), match=message):
        mase.cite(Chat(look_up), **({"query": "What does Ada do?"} if "context" in options else {}) | options)


def test_options_of_chat_models_are_none_of_others():
    with pytest.raises(OptionError, match=r"messages is given, but the model is no mase\.models\.Chat"):
        mase.cite(object(), messages=TALK)
    with pytest.raises(OptionError, match="context is None"):
        mase.cite(object())


def test_an_answer_without_text_is_refused():
    with chat_served(lambda messages: TOOL) as (url, _), pytest.raises(ModelError, match="called a tool"):
        mase.cite(Chat.openai(url), **CONTEXT)
    with pytest.raises(EmptyTextError):
        mase.cite(Chat(look_up), answer=" ", **CONTEXT)

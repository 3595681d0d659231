"""Tests of `mase.models.chat.parts`."""

from collections import Counter

import pytest

from mase.errors import InvalidTextError, OptionError
from mase.models.chat.parts import PLACEHOLDER, Turns

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Who?"},
]


def without(turns, *names):
    """Return the messages without some fields, and the repairs."""
    repairs = Counter()
    content = {one.name: "" if one.name in names else one.text for one in turns.document.fields}
    return turns.messages(content, repairs), (repairs["dropped"], repairs["held"])


def fixed(turns):
    return [one.name for one in turns.document.fields if one.fixed]


def test_system_prompts_and_the_last_question_stay():
    assert fixed(Turns.of(TALK)) == ["1 system", "4 user"]
    assert fixed(Turns.of(TALK, ["user", 2])) == ["2 user", "3 assistant", "4 user"]
    assert fixed(Turns.of(TALK[:3])) == ["1 system"]
    assert fixed(Turns.of(TALK, [-1])) == ["4 user"]


def test_everything_in_is_the_conversation():
    assert without(Turns.of(TALK)) == (TALK, (0, 0))


def test_an_empty_pair_is_dropped():
    messages, repairs = without(Turns.of(TALK), "2 user", "3 assistant")
    assert messages == [TALK[0], TALK[3]]
    assert repairs == (2, 0)


def test_one_of_a_pair_holds_a_placeholder():
    messages, repairs = without(Turns.of(TALK), "2 user")
    assert [message["content"] for message in messages] == ["Be brief.", PLACEHOLDER, "Hi.", "Who?"]
    assert repairs == (0, 1)


def test_a_system_message_is_dropped_alone():
    messages, repairs = without(Turns.of(TALK, ["last"]), "1 system")
    assert messages == TALK[1:]
    assert repairs == (1, 0)


def test_roles_alternate_whatever_is_out():
    talk = [{"role": role, "content": f"Text {i}."} for i, role in enumerate(["user", "assistant"] * 3 + ["user"])]
    turns = Turns.of(talk)
    for out in range(64):
        messages, _ = without(turns, *(one.name for i, one in enumerate(turns.document.fields) if out >> i & 1))
        assert [message["role"] for message in messages] == (["user", "assistant"] * 3 + ["user"])[-len(messages) :]
        assert all(message["content"] for message in messages)


def test_the_result_of_a_tool_follows_its_call():
    talk = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "content": "Rain."},
        {"role": "user", "content": "So?"},
    ]
    messages, repairs = without(Turns.of(talk), "1 user", "3 tool")
    assert [message["content"] for message in messages] == [PLACEHOLDER, "", PLACEHOLDER, "So?"]
    assert messages[2]["tool_call_id"] == "1"
    assert repairs == (0, 2)


def test_text_parts_are_parts_of_their_own():
    documents = [{"type": "text", "text": "Ada sings.", "name": "letter"}, {"type": "text", "text": "Ben cooks."}]
    turns = Turns.of([{"role": "user", "content": documents}, TALK[3]])
    assert [one.name for one in turns.document.fields] == ["letter", "1 user, part 2", "2 user"]
    assert without(turns)[0][0] == {"role": "user", "content": "Ada sings.\n\nBen cooks."}
    assert without(turns, "letter")[0][0]["content"] == "Ben cooks."


def test_something_is_always_asked():
    assert without(Turns.of([{"role": "user", "content": "Hi."}], []), "1 user")[0] == [
        {"role": "user", "content": PLACEHOLDER}
    ]


@pytest.mark.parametrize(
    "messages", ["Hello", [], [{"content": "x"}], ["x"], [{"role": "user", "content": [{"type": "image_url"}]}]]
)
def test_other_things_are_no_messages(messages):
    with pytest.raises(InvalidTextError, match="expected"):
        Turns.of(messages)


def test_something_has_to_be_left_out():
    with pytest.raises(OptionError, match="fixed"):
        Turns.of(TALK[3:])
    with pytest.raises(OptionError, match="fixed"):
        Turns.of(TALK, "system")

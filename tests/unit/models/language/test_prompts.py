import pytest

from mase.errors import InvalidTextError, OptionError
from mase.models.language.prompts import Template, plain


def test_named_fields_and_the_rest():
    filled = Template("{law}\n--\n{context}\n{query}").filled({"b": "B", "law": "L", "c": " ", "a": "A", "query": "Q"})
    assert filled == "L\n--\nB\n\nA\nQ"


def test_braces_of_the_fields_are_text():
    messages = [{"role": "system", "content": "{}"}, {"role": "user", "content": "{a} { x} {b}"}]
    filled = Template(messages).filled({"a": "{b}", "b": "{0.__class__}"})
    assert filled == [{"role": "system", "content": "{}"}, {"role": "user", "content": "{b} { x} {0.__class__}"}]


def test_braces_that_name_no_field_are_refused():
    with pytest.raises(OptionError, match="'x'"):
        Template("{x} {context}").filled({"a": "A"})


@pytest.mark.parametrize("names", [["a"], ["a", "context"]])
def test_the_names_that_are_possible_are_listed_once(names):
    with pytest.raises(OptionError) as caught:
        Template("{x}").check(names)
    assert str(caught.value).endswith("expected one of 'a', 'context'")


def test_every_field_has_a_place():
    with pytest.raises(OptionError, match="'b'"):
        Template("{a}").check(["a", "b"])
    with pytest.raises(OptionError, match="context"):
        Template("{a} {context}").check(["a"])
    Template("{context} {query}").check(["context", "query"])
    with pytest.raises(OptionError, match="'other'"):
        Template("{context} {query}").check(["context", "other", "query"])


def test_a_place_that_is_missing_is_named_once():
    with pytest.raises(OptionError) as caught:
        Template("{query}").check(["context", "query"])
    assert str(caught.value).count("{context}") == 1


@pytest.mark.parametrize(
    "prompt",
    [
        *("", "no field", 3, None, [], [{"role": "user"}], [{"role": "user", "content": None}]),
        *([{"content": "{context}"}], [{"role": None, "content": "{context}"}], ["{context}"]),
    ],
)
def test_other_prompts_are_refused(prompt):
    with pytest.raises(OptionError):
        Template(prompt)


def test_names_of_fields_may_be_those_of_any_file():
    contents = {"a/notes.txt": "N", "notes(1).txt": "{a/notes.txt}", "b}{c": "B", "rest": "R"}
    filled = Template("{notes(1).txt} {a/notes.txt} {b}{c} {context} {a/other.txt}").filled(contents)
    assert filled == "{a/notes.txt} N B R {a/other.txt}"
    assert Template("{notes(1).txt}").filled({"notes(1).txt": "N"}) == "N"


def test_the_default_has_a_place_for_every_field_where_one_is_called_context():
    names = ["notes", "context", "query"]
    filled = Template.of(None, names).filled({"notes": "N", "context": "C", "query": "Q"})
    assert filled == [{"role": "user", "content": "Context: N\n\nC\n\nQuery: Q"}]
    assert Template.of(None, names[:2]).filled({"notes": "N", "context": "C"})[0]["content"] == "N\n\nC"


def test_the_default_asks_for_what_there_is():
    with_query = Template.of(None, ["context", "query"]).filled({"context": "C", "query": "Q"})
    assert with_query == [{"role": "user", "content": "Context: C\n\nQuery: Q"}]
    assert Template.of(None, ["text"]).filled({"text": "T"}) == [{"role": "user", "content": "T"}]


def test_models_without_chat_take_one_message_as_text():
    assert plain("as it is", "m") == "as it is"
    assert plain([{"role": "user", "content": "hello"}], "m") == "hello"
    with pytest.raises(InvalidTextError, match="system, user"):
        plain([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}], "m")

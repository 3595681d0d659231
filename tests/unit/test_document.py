"""Tests of `mase.document`."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

import mase
from mase.document import Document, Field, check_text
from mase.errors import InvalidTextError, OptionError

RECORD = {"title": "Two\nlines", "age": 41, "body": "", "end": "last"}


def test_a_plain_text_is_one_field_and_seeds_by_itself():
    document = Document.of("a text")
    assert document.fields == (Field("text", "a text"),)
    assert document.is_plain
    assert (document.text, document.content, document.key) == ("a text", "a text", "a text")
    assert Document.of(document) is document


def test_a_pair_has_the_field_names_of_transformers():
    document = Document.of(("first", "second"))
    assert document.content == {"text": "first", "text_pair": "second"}
    assert document.text == "first\nsecond"
    assert document.key != Document.of("first\nsecond").key


def test_spans_of_the_joined_text_are_found_in_their_field():
    document = Document.of(RECORD)
    for field, start in zip(document.fields, document.starts, strict=True):
        assert document.text[start : start + len(field.text)] == field.text
        if field.text:
            assert document.located(start, start + 1) == (field, 0, 1)
    line = document.text.index("lines")
    assert document.located(line, line + 5) == (document.fields[0], 4, 9)


def test_a_record_keeps_its_numbers_and_is_not_changed():
    values = {"age": np.int64(41), "size": np.float32(0.5), "member": True, "note": np.str_("x"), "n": Decimal("1.5")}
    content = Document.of(values).content
    assert content == {"age": 41, "size": 0.5, "member": True, "note": "x", "n": 1.5}
    assert [type(value) for value in content.values()] == [int, float, bool, str, float]
    content["age"] = 0
    assert values["age"] == 41


def test_background_makes_a_str_a_category_and_gives_what_masks_it():
    document = Document.of({"text": "hi", "country": "DE", "age": 3}, background={"country": "FR", "age": 40})
    assert document.fields[1:] == (
        Field("country", "DE", value="DE", background="FR"),
        Field("age", "3", value=3, background=40),
    )
    document.check_masks()
    with pytest.raises(InvalidTextError, match="'age'"):
        Document.of({"text": "hi", "age": 3}).check_masks()
    Document.of({"text": "hi", "age": 3}, fixed=["age"]).check_masks()


def test_fixed_fields_are_marked():
    document = Document.of(Document.of(("why?", "because")), fixed=["text"])
    assert [field.fixed for field in document.fields] == [True, False]


@pytest.mark.parametrize(
    "content",
    [
        7, None, b"bytes", ["a", "b"], ("one",), ("a", "b", "c"), ("a", 1), {}, {1: "a"}, {"": "a"}, {"a": None},
        {"a": float("nan")}, {"a": float("inf")}, {"a": ["nested"]}, {"a": {"b": "c"}}, {"a": "\ud800"},
        {"\ud800": "a"}, {"a": 1j}, np.array(["a", "b"]), {"a": np.array([1, 2])},
    ],
)  # fmt: skip
def test_other_inputs_are_refused(content):
    with pytest.raises(InvalidTextError, match="expected"):
        Document.of(content)


@pytest.mark.parametrize(
    "options",
    [
        {"fixed": "text"}, {"fixed": ["other"]}, {"background": {"other": 1}}, {"background": {"age": "old"}},
        {"background": {"text": 3}}, {"background": {"age": None}}, {"background": {"age": float("nan")}},
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(options):
    with pytest.raises(OptionError, match="expected"):
        Document.of({"text": "hi", "age": 3}, **options)


def test_only_one_text_can_be_the_only_text():
    assert Document.of({"review": "good"}).only_text("a model") == "good"
    for content in (("a", "b"), {"age": 3}):
        with pytest.raises(InvalidTextError, match="a model"):
            Document.of(content).only_text("a model")


def test_fields_have_names_of_their_own():
    with pytest.raises(InvalidTextError, match="a name of its own"):
        Document((Field("a", "x y"), Field("a", "z")))


def test_a_row_of_a_table_is_told_to_be_a_mapping():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"note": ["a refund"], "age": [71], "country": ["FR"]})
    explainer = mase.Explainer(lambda records: [[0.5, 0.5] for _ in records], background={"age": 40, "country": "DE"})
    with pytest.raises(OptionError, match=r"dict\(row\)"):
        explainer(rows.iloc[0])
    with pytest.raises(InvalidTextError, match="and a record as a mapping"):
        explainer(next(rows.itertuples(index=False)))
    assert explainer(dict(rows.iloc[0])).words == ("a", "refund", "71", "FR")


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (None, "fill in what is missing"),
        (float("nan"), "fill in what is missing"),
        (datetime.date(2026, 1, 1), "write it as a text or a number"),
        (["one turn", "another"], "write it as a text or a number"),
    ],
)
def test_a_field_of_another_type_says_what_to_do(value, remedy):
    with pytest.raises(InvalidTextError, match=f"expected a str or a finite number; {remedy}"):
        Document.of({"note": "a refund", "other": value})


@pytest.mark.parametrize(("text", "said"), [("a \ud83d\ude00", "surrogate pair"), ("a \ud83d b", "lone surrogate")])
def test_surrogates_are_told_apart(text, said):
    with pytest.raises(InvalidTextError, match=said):
        check_text(text)


def test_the_advice_for_a_pair_of_surrogates_keeps_the_character():
    assert check_text("a \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")) == "a \U0001f600"

"""Tests of the files of a summary."""

import pytest

from mase.errors import UnknownNameError
from mase.summary.effects import Example, Family, WordEffect
from mase.summary.overview import Overview
from mase.summary.summary import Settings, Summary
from mase.summary.tables import ROWS, table

WORD = WordEffect(
    "=pos", "away", "+1", 30, 31, -0.5, -0.6, -0.4, 0.1, 0.001, 0.002,
    (Example("a", 0, "@not ", "+1", " film", -0.7, cut_before=True), Example("b", 1, "", "+1", "", -0.2)),
)  # fmt: skip
SUMMARY = Summary(
    Settings(None, None, 20, 20, 0.01), Overview("m", "-mase", 3, 2, 1, 2, 10, 100), predictions=(), quality=(),
    notes=(), failures=(), words=(WORD,), phrases=(), confusion=(), wrong=(), low_confidence=(), groups=(),
    families=(Family("words", 5, 1),), run=None,
)  # fmt: skip


def test_a_table_has_a_column_for_each_field_and_example():
    (row,) = table(SUMMARY, "words").to_pylist()
    assert (row["response"], row["word"], row["effect"]) == ("=pos", "+1", -0.5)
    assert (row["example_1"], row["example_2"], row["example_3"]) == ("…@not [+1] film", "[+1]", None)


def test_tables_have_types_even_if_they_are_empty():
    words = SUMMARY.tables["words"]
    assert [str(words.schema.field(name).type) for name in ("word", "n_texts", "effect")] == [
        "string", "int64", "double",
    ]  # fmt: skip
    assert SUMMARY.tables["wrong"].schema.field("difference").type == words.schema.field("effect").type
    assert set(SUMMARY.tables) == set(ROWS)


def test_a_table_is_a_data_frame():
    assert SUMMARY.to_frame("words")["word"].tolist() == ["+1"]
    assert SUMMARY.to_frame("overview")["accuracy"].isna().all()
    with pytest.raises(UnknownNameError, match="words"):
        SUMMARY.to_frame("word")


def test_a_summary_says_how_much_it_found():
    assert repr(SUMMARY).startswith("<Summary of 2 explained texts: 1 words, 0 phrases")

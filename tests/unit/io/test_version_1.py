"""Tests of `mase.io.version_1`, with results that a release before schema 2 wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

from mase.attribution import Field, Note, Token
from mase.errors import DataError
from mase.io.json import Failure, dumps, from_dict, load_many, loads
from mase.render.figure import bar_chart
from mase.render.terminal import summary

GOLDEN = Path(__file__).parents[2] / "golden" / "attributions-1.jsonl"
PLAIN = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
RESULTS = [plain for plain in PLAIN if plain["schema"] == "mase.attribution/1"]
LED, LENGTHS, TOKENS, CUT = RESULTS[3], RESULTS[4], RESULTS[5], RESULTS[8]


def test_a_file_of_version_1_is_read_line_by_line():
    found = load_many(GOLDEN)
    assert len(found) == len(PLAIN) == 10
    assert found[-1] == Failure(10, "EmptyTextError", "text '' has no word")
    assert [one.text for one in found[:-1]] == [plain["text"] for plain in RESULTS]


@pytest.mark.parametrize("plain", RESULTS)
def test_every_value_of_version_1_is_kept(plain):
    found = from_dict(plain)
    assert found.document == (Field("text", plain["text"]),)
    words = [
        {"text": w.text, "start": w.start, "end": w.end, "score": w.score, "standard_error": w.standard_error}
        for w in found.word_scores
    ]
    assert words == plain["words"]
    for key in ("target", "target_probability", "link", "response", "intercept", "method", "model", "seed", "versions"):
        assert getattr(found, key) == plain[key]
    fit, cut = plain["fit"], plain["truncated"]
    assert found.r2 == fit["r2"]
    for key in ("split_half", "condition", "n_queries", "n_gradients", "seconds"):
        assert getattr(found.fit, key) == fit[key]
    assert [(note.code, note.message, note.unit) for note in found.notes] == [
        (note["code"], note["message"], note["word"]) for note in fit["warnings"]
    ]
    assert (None if cut is None else cut["n_total"]) == (found.truncation and found.truncation.n_total)
    tokens = [(token.text, token.start, token.end, token.unit) for token in found.tokens]
    assert tokens == [(token["text"], token["start"], token["end"], token["word"]) for token in plain["tokens"]]


@pytest.mark.parametrize("plain", RESULTS)
def test_what_was_read_from_version_1_is_written_in_version_2(plain):
    found = from_dict(plain)
    line = dumps(found)
    assert json.loads(line)["schema"] == "mase.attribution/2"
    assert loads(line) == found


def test_words_are_ordered_by_their_scores():
    assert from_dict(RESULTS[0]).words[3] == "superb"
    assert from_dict(LED).top(1)[0].text == "lead"
    assert from_dict(LED).order.tolist() == np.argsort([-w["score"] for w in LED["words"]], kind="stable").tolist()


def test_what_notes_said_to_programs_becomes_fields():
    assert [from_dict(plain).signed for plain in RESULTS] == [plain is not LENGTHS for plain in RESULTS]
    assert LENGTHS["method"]["precision"] == "bfloat16"
    assert from_dict(LENGTHS).fit.precision == "float32"
    fast = LENGTHS | {"fit": LENGTHS["fit"] | {"warnings": []}}
    assert from_dict(fast).fit.precision == "bfloat16"
    assert from_dict(RESULTS[0]).fit.precision == "float32"


def test_tokens_have_scores_if_each_was_moved_by_itself():
    assert from_dict(TOKENS).responses[0].token_scores == tuple(token["score"] for token in TOKENS["tokens"])
    assert from_dict(LED).responses[0].token_scores is None
    special = from_dict(RESULTS[7]).tokens[0]
    assert special == Token("[CLS]", None, None, None, None)


def test_notes_without_a_word_load():
    """Early results of version 1 have none."""
    warnings = [{"code": note["code"], "message": note["message"]} for note in LED["fit"]["warnings"]]
    found = from_dict(LED | {"fit": LED["fit"] | {"warnings": warnings}})
    assert found.notes == (Note("led", LED["fit"]["warnings"][0]["message"]),)


def test_scores_of_which_some_have_no_error_load():
    words = [word | {"standard_error": 0.289} for word in RESULTS[2]["words"]]
    assert from_dict(RESULTS[2] | {"words": words}).standard_errors.tolist() == [0.289] * 3
    words[1]["standard_error"] = None
    mixed = from_dict(RESULTS[2] | {"words": words})
    assert np.isnan(mixed.standard_errors).tolist() == [False, True, False]
    assert "±" in summary(mixed)
    bar_chart(mixed)


@pytest.mark.parametrize("key", sorted(set(RESULTS[0]) - {"intercept"}))
def test_every_key_of_version_1_is_required(key):
    with pytest.raises(DataError, match=f"{key}|schema"):
        from_dict({name: value for name, value in RESULTS[0].items() if name != key})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", "0", r"\$.seed"), ("target_probability", 1.5, "target_probability"), ("target", "nobody", "nobody"),
        ("words", [], "units is empty"), ("words", RESULTS[0]["words"][::-1], "reading order"), ("link", "", "link"),
        ("tokens", [], "tokens is empty"), ("model", {}, "model"), ("versions", {"python": 3}, "versions"),
        ("text", "another text", "schema 1.*units"),
        ("truncated", {"n_kept": 3, "n_total": 2, "kept": "end"}, "n_kept"),
    ],
)  # fmt: skip
def test_version_1_is_checked_like_version_2(key, value, message):
    with pytest.raises(DataError, match=message):
        from_dict(RESULTS[0] | {key: value})


def test_a_text_that_was_cut_off_stays_so():
    found = from_dict(CUT)
    assert (found.truncation.n_kept, found.truncation.n_total, found.truncation.kept) == (80, 83, "end")

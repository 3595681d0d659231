"""Tests of `mase.report.entries`: texts of a run with their words, flags and errors."""

from dataclasses import replace

import pytest
from tests.attributions import attribution
from tests.runs import run_of

from mase.attribution import Field, Unit
from mase.corpus.columns import schema
from mase.corpus.folder import Folder
from mase.errors import DataError, InvalidTextError
from mase.report.entries import CARE, FAILED, LOW_CONFIDENCE, NOTED, WRONG, Flags, entries


def marked(entry):
    """Return the shown words with their scores."""
    unit = entry.shading.unit
    return {
        entry.text[start : start + length]: round(score * unit, 3)
        for start, length, score, _, _ in entry.shading.words.tolist()
    }


def test_words_have_their_scores(tmp_path):
    run = run_of(tmp_path, [(attribution(), ()), (attribution("So 😀 good", [0.1, 0.2, 0.3]), ())])
    plain, emoji = entries(run, Flags())
    assert marked(plain) == dict(zip(attribution().words, attribution().scores, strict=True))
    assert marked(emoji) == {"So": 0.1, "😀": 0.2, "good": 0.3}


def test_control_characters_move_the_words_after_them(tmp_path):
    text = "a\u202eb good\r\n\x1bend"
    made = attribution(text, [0.5, 0.25], spans=[(4, 8), (11, 14)])
    (entry,) = entries(run_of(tmp_path, [(made, ())]), Flags())
    assert entry.text == "a⟨202E⟩b good\n␛end"
    assert marked(entry) == {"good": 0.5, "end": 0.25}


def test_a_label_that_is_no_class_makes_no_prediction_wrong(tmp_path):
    texts = [(attribution(label="pos"), (label,)) for label in ("positive", "", "neg")]
    found = entries(run_of(tmp_path, texts, kept=["label"]), Flags("label"))
    assert [entry.flags & WRONG for entry in found] == [0, 0, WRONG]


def test_a_text_to_be_read_with_care_is_found_and_a_wrong_one_names_the_right_class(tmp_path):
    texts = [(attribution(label="pos", se=se), (label,)) for se, label in ((0.001, "neg"), (0.2, "pos"))]
    found = list(entries(run_of(tmp_path, texts, kept=["label"]), Flags("label")))
    assert [entry.flags for entry in found] == [WRONG, CARE]
    assert [entry.label for entry in found] == ["neg", "pos"]


def test_a_class_that_was_written_as_a_decimal_is_one(tmp_path):
    texts = [(attribution(label="1"), (label,)) for label in ("1.0", "0.0", "2.0")]
    flags = Flags("label")
    assert [flags.of(row, ("0", "1")) for row in run_of(tmp_path, texts, kept=["label"]).texts().to_pylist()] == [
        0,
        WRONG,
        0,
    ]


def test_a_class_may_be_in_another_normal_form(tmp_path):
    texts = [(attribution(label=predicted), ("cafe\u0301",)) for predicted in ("caf\xe9", "noir")]
    rows = run_of(tmp_path, texts, kept=["label"]).texts().to_pylist()
    assert [Flags("label").of(row, ("noir", "caf\xe9")) for row in rows] == [0, WRONG]


def test_flags_and_errors(tmp_path):
    failed = ("bad", InvalidTextError("no \x1b text"))
    run = run_of(
        tmp_path,
        [
            (attribution(label="pos"), ("pos",)),
            (attribution(label="pos"), ("neg",)),
            (attribution(label="neg", notes=[("few-samples", "few")]), (None,)),
            (failed, ("pos",)),
        ],
        kept=["label"],
    )
    found = list(entries(run, Flags("label", 0.5)))
    confident = found[0].probability >= 0.5
    low = 0 if confident else LOW_CONFIDENCE
    assert [entry.flags & ~CARE for entry in found] == [low, low | WRONG, low | NOTED, FAILED]
    assert [bool(entry.flags & CARE) for entry in found] == [False, False, True, False]
    assert next(entry.flags for entry in entries(run, Flags("label", 1.1))) == LOW_CONFIDENCE
    assert [entry.kept for entry in found] == [("pos",), ("neg",), (None,), ("pos",)]
    assert (found[3].error, found[3].message, found[3].text) == ("InvalidTextError", "no ␛ text", "bad")
    assert found[2].notes == (("few-samples", "few"),)


def test_the_response_of_the_predicted_class_is_shown(tmp_path):
    made = attribution("good", [0.5], label="pos")
    other = replace(made.responses[0], name="neg", scores=(-0.5,))
    both = replace(made, responses=(other, made.responses[0]))
    (entry,) = entries(run_of(tmp_path, [(both, ())]), Flags())
    assert (entry.response, marked(entry)) == ("pos", {"good": 0.5})


def test_a_text_is_known_as_it_was_explained_if_the_names_of_its_classes_are_whole(tmp_path):
    """With another name the workbench would be asked for a class that no model has."""
    names = [("pos", None), ("x" * 100, "neg"), ("x" * 101, None), ("pos", "y" * 101), ("a\x1bb", None)]
    made = [attribution("good", [0.5], label=label, against=against) for label, against in names]
    found = entries(run_of(tmp_path, [(one, ()) for one in made]), Flags())
    assert [entry.given for entry in found] == ["good", "good", None, None, None]


def test_exact_scores_have_a_sign(tmp_path):
    sampled, exact = attribution(), attribution(exact=True, se=0.0)
    none = attribution(se=None)
    unsigned = attribution(signed=False, notes=[("unsigned", "no sign")])
    run = run_of(tmp_path, [(made, ()) for made in (sampled, exact, none, unsigned)])
    assert [entry.unsigned for entry in entries(run, Flags())] == [False, False, True, True]


def test_fields_are_below_each_other(tmp_path):
    made = attribution("good", [0.5, 0.25], spans=[(0, 4), (0, 4)])
    units = (Unit("query", 0, 3, "why"), Unit("text", 0, 4, "good"))
    made = replace(made, document=(Field("query", "why?"), Field("text", "good")), units=units, tokens=())
    (entry,) = entries(run_of(tmp_path, [(made, ())]), Flags())
    assert entry.text == "why?\ngood"
    assert marked(entry) == {"why": 0.5, "good": 0.25}


def test_long_texts_are_cut(tmp_path):
    text = "word " * 10_000
    (entry,) = entries(run_of(tmp_path, [(attribution(text, [0.1] * 10_000), ())]), Flags())
    assert (len(entry.text), entry.n_characters) == (20_000, 50_000)
    assert len(entry.shading.words) == 4_000


def test_names_are_not_cut_inside_of_a_flag(tmp_path):
    (entry,) = entries(run_of(tmp_path, [(attribution(label="🇩🇪" * 60), ())]), Flags())
    assert entry.prediction == "🇩🇪" * 49 + "…"


def test_a_document_that_is_none_is_refused(tmp_path):
    run = run_of(tmp_path, [(attribution(), ())])
    texts = run.texts()
    column = schema("texts").get_field_index("document")
    changed = texts.set_column(column, "document", [["[3]"]])
    folder = Folder(run.folder.storage)
    folder.write(
        0, {"texts": changed, "responses": run.responses(), "units": run.units(), "timings": run.timings()}, {}
    )
    with pytest.raises(DataError, match="not a list of fields"):
        list(entries(run, Flags()))

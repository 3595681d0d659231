"""Tests of `mase_corpora.report.texts`: the answer to a prompt of a run, and its sources."""

import base64
import json
import re
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, parse_qsl, urlsplit

import numpy as np
import pytest
from tests.answers import ANSWER, cited
from tests.attributions import attribution, two_fields
from tests.runs import run_of, write_run
from tests.summaries import summary

import mase
from mase.attribution import Answer, Field, Fit, Note, Part, Prediction, Unit, Word
from mase.errors import DataError, InvalidTextError
from mase.render.marks import Scale, is_significant
from mase.render.wording import percent, share
from mase_corpora.folder import Folder
from mase_corpora.read import open_run
from mase_corpora.report import texts as slices
from mase_corpora.report import write_report
from mase_corpora.report.pages import page, policy
from mase_corpora.report.texts import (
    CARE,
    FAILED,
    LOW_CONFIDENCE,
    NOTED,
    WRONG,
    CitedAnswer,
    Flags,
    ListWriter,
    Source,
    Workbench,
    entries,
    shading,
)
from mase_corpora.schema import schema


def answers(folder, *attributions):
    return [entry.answer for entry in entries(run_of(folder, [(made, ()) for made in attributions]), Flags())]


def test_each_source_has_its_place_and_its_score(tmp_path):
    whole = cited("It is Paris.", ((0, 12),), [[6.0, 0.2, 3.0, -1.0]])
    one = cited("Yes.", ((0, 4),), [[0.1, 5.0]], sources={"context": "Paris is\nit. It\tis \x1bfine."})
    none = cited("No.", ((0, 3),), [[0.1, -5.0, 0.2, 0.1]])
    found = answers(tmp_path, whole, one, none)
    assert found[0] == CitedAnswer(
        "It is Paris.",
        (
            Source("source 1", "Paris is the capital of France.", "+6.00 ± 0.40"),
            Source("source 2", "The Seine flows through Paris.", "+3.00 ± 0.40"),
        ),
    )
    assert found[1].sources == (Source("", "It is ␛fine.", "+5.00 ± 0.40"),)
    assert found[2].sources == ()


def test_a_source_of_several_parts_is_named_once_with_its_highest_score(tmp_path):
    (found,) = answers(tmp_path, cited())
    assert found.text == ANSWER
    assert [(source.place, source.score) for source in found.sources] == [
        ("source 1", "+7.50 ± 0.40"), ("source 2", "+4.50 ± 0.40"),
    ]  # fmt: skip


def test_the_field_of_the_answer_is_no_part_of_the_prompt(tmp_path):
    made = cited("It is Paris.", ((0, 12),), [[6.0, 0.2, 3.0, -1.0]], generated=False)
    made = replace(made, document=(Field("answer", "It is Paris.", fixed=True), *made.document))
    (entry,) = entries(run_of(tmp_path, [(made, ())]), Flags())
    assert entry.text.startswith("Paris is the capital")
    assert entry.text.endswith("Spree.\nWhere is Paris?")
    assert entry.answer.sources[1].text == "The Seine flows through Paris."
    assert entry.given is None


def test_a_run_of_somebody_else_cites_no_more_than_some(tmp_path):
    text = "a." * 50
    made = cited("Yes.", ((0, 4),), [[5.0] * 50], sources={"context": text})
    run = run_of(tmp_path, [(made, ())])
    column = schema("units").get_field_index("cited")
    units = run.units().set_column(column, "cited", [[True] * 50])
    tables = {"texts": run.texts(), "responses": run.responses(), "units": units, "timings": run.timings()}
    Folder(run.folder.storage).write(0, tables, {})
    (entry,) = entries(run, Flags())
    assert len(entry.answer.sources) == 20


def test_long_texts_are_cut(tmp_path):
    made = cited("a" * 9_000, ((0, 9_000),), [[5.0]], sources={"context": "b" * 900 + "."})
    made = replace(made, answer=Answer("a" * 9_000, (Part(0, 9_000, "answer"),), generated=True))
    (found,) = answers(tmp_path, made)
    assert (len(found.text), found.text[-2:]) == (4_000, "a…")
    assert len(found.sources[0].text) == 200


def test_a_score_without_an_interval_has_none():
    found = CitedAnswer.of("Yes.", [Word("it", 0, 2, "text", 2.5, None)], Scale.of(2.5), named=True)
    assert found.sources == (Source("text", "it", "+2.50"),)


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


def test_the_notes_are_those_of_the_response_that_is_shown(tmp_path):
    made = attribution("good", [0.5], label="pos")
    other = replace(made.responses[0], name="neg", scores=(0.0,))
    notes = (
        Note("constant", "all 0", response="neg"),
        Note("few-samples", "few"),
        Note("poor-fit", "x", response="pos"),
    )
    both = replace(made, responses=(other, made.responses[0]), notes=notes)
    (entry,) = entries(run_of(tmp_path, [(both, ())]), Flags())
    assert sorted(code for code, _ in entry.notes) == ["few-samples", "poor-fit"]
    (first,) = entries(run_of(tmp_path / "first", [(replace(both, notes=notes[:1]), ())]), Flags())
    assert (first.notes, first.flags & NOTED) == ((), 0)


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


def test_entries_long_texts_are_cut(tmp_path):
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


def shaded(text, spans, scores, errors):
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return shading(text, starts, ends, np.array(scores, dtype=float), np.array(errors, dtype=float))


@pytest.mark.parametrize("size", [1e-7, 0.03, 1.0, 250.0, 1e9])
def test_shades_and_numbers_are_those_of_a_single_text(size):
    rng = np.random.default_rng(0)
    scores, errors = size * rng.normal(size=80), size * rng.exponential(0.2, 80)
    found = shaded("a " * 80, [(2 * i, 2 * i + 1) for i in range(80)], scores, errors)
    scale = Scale.of(float(np.abs(scores).max()))
    for (start, length, score, error, shade), wanted, width in zip(found.words.tolist(), scores, errors, strict=True):
        word = Word(text="a", start=start, end=start + length, field="text", score=wanted, standard_error=width)
        level = scale.level(word, 6)
        assert shade == (level if is_significant(word) or not level else level + 6)
        shown = [scale.signed(wanted), scale.interval(word, "±").partition("±")[2]]
        got = [scale.signed(score * found.unit), found.scale.error(error * found.unit)]
        if found.decimals is None:  # rounded twice
            got, shown = ([float(number.replace("−", "-")) for number in numbers] for numbers in (got, shown))
            assert got == pytest.approx(shown, rel=0.1)
        else:
            assert got == shown


def test_words_outside_the_text_and_overlapping_ones():
    found = shaded("abcdef", [(4, 99), (0, 3), (2, 5), (7, 8), (5, 5)], [1, 2, 3, 4, 5], [np.nan] * 5)
    assert found.words[:, :2].tolist() == [[0, 3], [3, 2], [5, 1]]
    assert found.words[:, 3].tolist() == [-1, -1, -1]


def test_numbers_that_are_not_finite():
    found = shaded("abc", [(0, 1), (1, 2), (2, 3)], [np.nan, np.inf, 1e308], [np.inf, 1.0, 1e308])
    assert found.words[:, 2].tolist()[:2] == [0, 0]
    assert (found.words[:, 3] >= 0).all()
    assert shaded("", [], [], []).packed() == ""


def test_exact_scores_have_no_interval():
    for errors, widths in (([0.0, 0.0], [-1, -1]), ([0.0, 0.1], [0, 196])):
        found = shaded("ab cd", [(0, 2), (3, 5)], [0.5, -0.25], errors)
        assert found.words[:, 3].tolist() == widths
        assert found.scale.intervals == any(errors)


def call(path, function):
    """Return the arguments of the call that a file is."""
    content = path.read_text(encoding="utf-8")
    assert content.startswith(f"{function}(")
    assert content.endswith(")\n")
    return json.loads(f"[{content[len(function) + 1 : -2]}]")


def written(folder, run, flags):
    writer = ListWriter(folder, run.manifest.asked.kept)
    for entry in entries(run, flags):
        writer.add(entry)
    writer.close()
    (index,) = call(folder / "index.js", "mase.index")
    return index


def column(index, name, kind):
    return np.frombuffer(base64.b64decode(index[name]), kind).tolist()


def test_the_index_finds_every_text(tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "TEXTS_PER_SLICE", 2)
    texts = [(attribution(label=label), (label,)) for label in ("pos", "neg", "pos", "neg")]
    texts.insert(3, (("bad", InvalidTextError("no")), ("pos",)))
    run = run_of(tmp_path / "run", texts, kept=["label"], part_size=3)
    index = written(tmp_path, run, Flags("label", None))
    assert (index["starts"], index["rows"], index["kept"]) == ([0, 2, 4, 5], [0, 2, 4], ["label"])
    codes = column(index, "class", "<u2")
    names = [None if code == 0xFFFF else index["classes"][code] for code in codes]
    assert names == ["pos", "neg", "pos", None, "neg"]
    assert column(index, "flags", "u1") == [0, 0, 0, 1, 0]
    probabilities = [p / 0xFFFE for p in column(index, "probability", "<u2") if p != 0xFFFF]
    np.testing.assert_allclose(probabilities, attribution().prediction.probability, atol=1e-5)
    rows = []
    for number in range(3):
        got, found = call(tmp_path / f"texts-{number:05}.js", "mase.texts")
        assert got == number
        _, words = call(tmp_path / f"words-{number:05}.js", "mase.words")
        assert len(words) == len(found)
        rows += [text["row"] for text in found]
    assert rows == [0, 1, 2, 3, 4]


def test_words_say_whether_their_signs_mean_something(tmp_path):
    unsigned = attribution(signed=False, notes=[("unsigned", "no sign")])
    written(tmp_path, run_of(tmp_path / "run", [(attribution(), ()), (unsigned, ())]), Flags())
    _, words = call(tmp_path / "words-00000.js", "mase.words")
    assert [one["signs"] for one in words] == [True, False]


@pytest.mark.parametrize(("p", "said"), [(0.8125, "81.2 %"), (0.99999, "> 99.9 %"), (0.0, "0.0 %"), (2 / 3, "66.7 %")])
def test_the_list_says_the_same_numbers_as_other_pages(tmp_path, p, said):
    prediction = Prediction("pos", 1, p, {"neg": 1 - p, "pos": p}, multilabel=False)
    found = attribution(prediction=prediction, r2=0.125, fit=Fit(0.375, 1.25, 1001, 0, 0.2))
    written(tmp_path, run_of(tmp_path / "run", [(found, ())]), Flags())
    ((_, (text,)),) = [call(tmp_path / "texts-00000.js", "mase.texts")]
    assert (text["chance"], text["r2"], text["halves"]) == (said, share(0.125), share(0.375))
    assert said == percent(p)


def test_nothing_in_a_file_ends_its_script(tmp_path):
    text = "good </script><!-- \u2028\u2029 <script>"
    index = written(tmp_path, run_of(tmp_path / "run", [(attribution(text, label="</script>"), ())]), Flags())
    assert index["classes"] == ["</script>"]
    for path in tmp_path.glob("*.js"):
        content = path.read_bytes()
        assert not [sign for sign in (b"<", "\u2028".encode(), "\u2029".encode()) if sign in content]


def test_more_classes_than_a_filter_has(tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "MOST_CLASSES", 1)
    run = run_of(tmp_path / "run", [(attribution(label=label), ()) for label in ("a", "b", "a")])
    index = written(tmp_path, run, Flags())
    assert index["classes"] == ["a"]
    assert column(index, "class", "<u2") == [0, 0xFFFF, 0]


def link(run, number=0):
    """Return what the link of a text says, {} if it has none."""
    href = Workbench.of("/", run).href(list(entries(run, Flags()))[number])
    return dict(parse_qsl(urlsplit(href).fragment, keep_blank_values=True))


def test_a_link_has_the_text_and_the_settings_of_the_run(tmp_path):
    texts = ["good & bad\u202e film = 100 %\r\nend +"]
    run = open_run(write_run(tmp_path, texts, lambda texts: [[0.25, 0.75]] * len(texts)))
    run.manifest.asked.method.update(link="margin", n_samples=60, space={"reference": "mask"}, units=["no name"])
    assert link(run) == {
        "model": "predict", "method": "mase", "n_samples": "60", "reference": "mask", "link": "margin", "seed": "0",
        "target": "1", "text": texts[0],
    }  # fmt: skip


def test_a_link_has_the_classes_and_what_else_the_run_chose(tmp_path):
    run = run_of(tmp_path, [(attribution(against="neg"), ())])
    run.manifest.asked.method["long"] = "windows"
    found = link(run)
    assert (found["target"], found["against"]) == ("pos", "neg")
    assert found["long"] == "windows"


def test_a_link_has_the_parts_of_a_method_that_are_not_the_usual_ones(tmp_path):
    run = run_of(tmp_path, [(attribution(), ())])
    run.manifest.asked.method.update(resolved("mase+estimator=least-squares"))
    assert link(run)["method"] == "mase+estimator=least-squares"
    run.manifest.asked.method.clear()
    run.manifest.asked.method.update(resolved("mase-nlgp+sigma=0.2"))
    assert link(run)["method"] == "mase-nlgp+sigma=0.2"
    run.manifest.asked.method.update(name="of-a-plugin")
    assert link(run)["method"] == "of-a-plugin"


def resolved(method):
    return mase.Explainer("lstm-imdb", method=method).settings


def test_a_text_that_failed_has_no_target(tmp_path):
    found = link(run_of(tmp_path, [(("bad\x00", InvalidTextError("no text")), ())]))
    assert found["text"] == "bad\x00"
    assert "target" not in found


def test_what_a_link_cannot_hold_has_none(tmp_path):
    run = run_of(tmp_path, [(two_fields(), ()), (attribution("word " * 5_000, [0.1] * 5_000), ())])
    assert link(run, 0) == {}
    assert link(run, 1) == {}


def rendered(run, address, n=2):
    workbench = None if address is None else Workbench.of(address, run)
    return page(summary(n=n, run=run), list(entries(run, Flags())), texts=True, workbench=workbench)


def test_a_page_of_a_server_leads_to_the_workbench(tmp_path):
    run = run_of(tmp_path, [(attribution(), ("pos", "web"))] * 2, kept=["label", "source"], n_texts=9)
    served, alone = rendered(run, "/"), rendered(run, None)
    hrefs = [unescape(href) for href in re.findall(r'<a class=workbench href="([^"]+)"', served)]
    assert [parse_qs(urlsplit(href).fragment).get("text") for href in hrefs] == [[attribution().text]] * 2 + [None]
    assert '<a href="/">Workbench</a>' in served
    assert "Reload this page to read the run again" in served
    assert "Reload this page to read the run again" not in rendered(run, "/", n=9)
    assert "workbench" not in re.sub(r"<script.*</script>", "", alone, flags=re.DOTALL).lower()
    assert "Reload this page to" not in alone


def test_the_policy_is_that_of_the_page(tmp_path):
    run = run_of(tmp_path, [(attribution(), ("pos", "web"))], kept=["label", "source"])
    nonce = re.search("<script nonce=([0-9a-f]+)>", rendered(run, "/"))[1]
    assert f"script-src 'nonce-{nonce}';" in policy(rendered(run, "/"))


def test_the_list_has_a_text_as_it_was_given_only_where_that_is_not_shown(tmp_path):
    two = replace(two_fields(), responses=two_fields().responses[:1])
    texts = [(attribution("good film"), ()), (attribution("good\u202e film"), ()), (two, ())]
    write_report(summary(run=run_of(tmp_path / "run", texts), label_column=None), tmp_path / "report")
    content = (tmp_path / "report" / "list" / "texts-00000.js").read_text("utf-8")
    found = json.loads(f"[{content[len('mase.texts(') : -2]}]")[1]
    assert [text["given"] for text in found] == ["", "good\u202e film", None]

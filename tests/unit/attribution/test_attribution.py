"""Tests of `mase.attribution.attribution`."""

import copy
import dataclasses
import json
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.attributions import attribution, two_fields

import mase
from mase.attribution import Attributions, Evidence, FlipSet, Word
from mase.attribution.json import Failure, dumps
from mase.errors import DataError, MissingDependencyError, OptionError, UnknownNameError
from mase.testing import AdditiveClassifier


def test_words_are_a_view_of_units_and_the_first_response():
    made = two_fields()
    assert made.words == ("Great", "film", "Dull")
    assert made.spans == ((0, 5), (6, 10), (0, 4))
    assert made.word_scores[2] == Word("Dull", 0, 4, "hypothesis", -0.5, 0.2, 0.2)
    assert made.as_list() == [("Great", 1.0), ("film", 0.0), ("Dull", -0.5)]
    assert made.scores.tolist() == [1.0, 0.0, -0.5]
    assert np.isnan(made.standard_errors).tolist() == [False, True, False]
    assert (made.target, made.link, made.response, made.intercept) == ("pos", "margin", 1.5, 1.0)
    assert made.target_probability == 0.8
    assert made.text == "Great film\nDull\nbe brief"


@pytest.mark.parametrize("name", ["scores", "standard_errors", "order"])
def test_arrays_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(attribution(), name)[0] = 1


def test_another_response_can_come_first():
    made = two_fields()
    other = made.of("neg")
    assert (other.target, other.response, other.target_probability) == ("neg", -1.5, 0.2)
    assert other.scores.tolist() == [-1.0, 0.25, 0.5]
    assert [response.name for response in other.responses] == ["neg", "pos"]
    assert other.of("pos") == made == made.of("pos")
    assert "Attribution for neg" in repr(other)
    with pytest.raises(UnknownNameError, match="did you mean 'neg'"):
        made.of("negg")


def test_an_effect_can_be_the_score():
    made = two_fields()
    kept = {"kept": (0.25, -1.0, 0.5), "kept_error": (0.1, 0.2, 0.3)}
    first = replace(made.responses[0], effects=kept, r2=0.9, split_half=0.8)
    found = replace(made, responses=(first, made.responses[1])).effect("kept")
    assert found.scores.tolist() == [0.25, -1.0, 0.5]
    assert found.standard_errors.tolist() == [0.1, 0.2, 0.3]
    assert [word.text for word in found.top(2)] == ["Dull", "Great"]
    assert [response.name for response in found.responses] == ["pos"]
    assert (found.r2, found.fit.split_half, found.responses[0].effects) == (None, None, {})
    for name in ("keptt", "kept_error"):
        with pytest.raises(UnknownNameError, match="kept"):
            replace(made, responses=(first,)).effect(name)
    with pytest.raises(UnknownNameError, match="effect"):
        made.effect("kept")


def test_an_effect_is_shown_without_the_evidence_about_the_scores():
    """Its units are the best ones by the scores, and of the leading response, which need not be there."""
    found = mase.Explainer(AdditiveClassifier({"good": 0.2}), evidence=1)("a good film", target="all")
    shown = found.of(found.responses[1].name).effect("kept")
    assert found.evidence is not None
    assert shown.evidence is None
    assert "good" in repr(shown)


def test_a_run_has_both_effects_whichever_is_the_score():
    """They are exact where all subsets of the words are asked, and the same from the same samples."""

    def predict(texts):
        return [[0.1, 0.9] if {"truly", "great"} <= set(text.split()) else [0.6, 0.4] for text in texts]

    for text in ("a truly great film", " ".join(f"w{n}" for n in range(20)) + " truly great"):
        default, rationale = (
            mase.Explainer(predict, method=method, n_samples=200)(text, target=1)
            for method in ("mase", "mase-rationale")
        )
        assert default.effect("kept").scores == pytest.approx(rationale.scores, abs=1e-6)
        assert rationale.effect("removed").scores == pytest.approx(default.scores, abs=1e-6)
        assert rationale.effect("removed").standard_errors == pytest.approx(default.standard_errors, abs=1e-6)
        assert rationale.scores.max() > 1.2 * default.scores.max()  # each is of use only beside the other


def test_top_lists_follow_the_order_of_the_method():
    other = two_fields().of("neg")
    assert [word.text for word in other.top(2)] == ["film", "Dull"]
    assert [word.text for word in other.top(2, by="score")] == ["Dull", "film"]
    assert [word.text for word in other.top(2, by="magnitude")] == ["Great", "Dull"]


def test_the_order_is_that_of_the_scores_with_ties_in_reading_order():
    made = attribution("a b c d e", [0.5, -1.0, 0.5, 1.0, 0.0])
    assert made.order.tolist() == [3, 0, 2, 4, 1]
    assert [word.text for word in made.top()] == [word.text for word in made.top(by="score")] == list("daceb")
    assert [word.text for word in made.top(2, by="magnitude")] == ["b", "d"]
    for method in ("mase", "occlusion", "random"):
        found = mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], method=method, n_samples=60)("a b a c")
        assert found.order.tolist() == sorted(range(4), key=lambda index: (-found.scores[index], index))


@pytest.mark.parametrize(("k", "by"), [(-1, "order"), (True, "order"), (2.0, "score"), (1, "rank")])
def test_top_refuses_what_is_no_number_or_order(k, by):
    with pytest.raises(OptionError, match="expected"):
        attribution().top(k, by=by)


def test_scores_of_lengths_have_no_sign(lstm_model):
    assert not mase.Explainer(lstm_model, method="gradient")("a good film").signed
    assert mase.Explainer(lstm_model, method="gradient-x-input")("a good film").signed


def several():
    return Attributions([attribution(), two_fields(), attribution("a dull film")])


def test_an_explainer_returns_one_for_a_list_and_for_a_generator():
    explainer = mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], n_samples=60)
    for texts in (["a b", "c"], (text for text in ["a b", "c"]), []):
        assert type(explainer(texts)) is Attributions
    assert [found.text for found in explainer(["a b", "c"])] == ["a b", "c"]


def test_it_is_a_list():
    found = several()
    assert isinstance(found, list)
    assert found == list(found)
    assert list(found) == found
    assert found != found[:2]
    assert found[-1] is list(found)[-1]
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.parametrize(
    "derive",
    [
        lambda found: found[:2],
        lambda found: found[::-1],
        lambda found: found + found,
        lambda found: found + list(found),
        lambda found: found.copy(),
        copy.copy,
        copy.deepcopy,
        lambda found: pickle.loads(pickle.dumps(found)),
    ],
)
def test_what_is_made_of_it_is_one_too_and_equals_what_a_list_gives(derive):
    derived = derive(several())
    assert type(derived) is Attributions
    assert derived == derive(list(several()))


def test_a_sum_with_something_else_is_refused_as_for_lists():
    with pytest.raises(TypeError):
        several() + tuple(several())


def test_a_saved_list_is_loaded_equal(tmp_path):
    found = several()
    found.save(tmp_path / "found.jsonl")
    loaded = Attributions.load(tmp_path / "found.jsonl")
    assert type(loaded) is Attributions
    assert loaded == found
    lines = (tmp_path / "found.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["seed"] for line in lines] == [0, 0, 0]


def test_an_empty_list_is_loaded_equal_and_its_frame_has_the_columns(tmp_path):
    Attributions().save(tmp_path / "none.jsonl")
    assert Attributions.load(tmp_path / "none.jsonl") == Attributions()
    pytest.importorskip("pandas")
    empty = Attributions().to_frame()
    assert list(empty.columns) == list(Attributions([attribution()]).to_frame().columns)
    assert empty.empty


def test_a_text_that_failed_is_not_lost_silently(tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(f"{dumps(attribution())}\n{dumps(Failure(2, 'EmptyTextError', 'no word'))}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"EmptyTextError: no word.*load_many"):
        Attributions.load(path)


def test_a_frame_has_the_rows_of_every_attribution_with_its_index():
    pytest.importorskip("pandas")
    found = several()
    table = found.to_frame()
    assert list(table.columns)[:3] == ["document", "response", "position"]
    for index, one in enumerate(found):
        own = table[table["document"] == index].drop(columns="document")
        assert own["score"].tolist() == one.to_frame()["score"].tolist()
        assert own["text"].tolist() == one.to_frame()["text"].tolist()


def test_its_page_is_that_of_the_command(tmp_path):
    found = several()
    content = found.to_html(tmp_path / "page.html")
    assert content == found.to_html() == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert content.count("<article") == 3


def test_a_frame_has_a_row_per_text_on_request():
    pytest.importorskip("pandas")
    flipped = dataclasses.replace(attribution(), evidence=Evidence((), (), FlipSet((1, 0), "neg", 0.6, False), "pos"))
    found = Attributions([attribution("a film"), flipped]).to_frame(per="text")
    assert found["document"].tolist() == [0, 1]
    assert found["text"].tolist() == ["a film", flipped.document[0].text]
    assert found["label"].tolist() == [flipped.prediction.label] * 2
    assert found["probability"].tolist() == [flipped.prediction.probability] * 2
    assert found["reliable"].tolist() == [attribution("a film").verdict.reliable, flipped.verdict.reliable]
    assert found["flip_set"].tolist() == [None, (flipped.words[1], flipped.words[0])]
    assert found["flip_label"].isna().tolist() == [True, False]
    with pytest.raises(OptionError, match="per is 'word'"):
        Attributions().to_frame(per="word")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "txt"])
def test_a_file_is_what_its_name_says(tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    made = attribution("=a film")
    made.save(tmp_path / f"one.{suffix}")
    Attributions([made, made]).save(tmp_path / f"two.{suffix}")
    if suffix == "txt":
        assert "film" in (tmp_path / "two.txt").read_text("utf-8")
        return
    pd = pytest.importorskip("pandas")
    read = getattr(pd, f"read_{suffix}")
    one, two = read(tmp_path / f"one.{suffix}"), read(tmp_path / f"two.{suffix}")
    assert one["score"].tolist() == list(made.scores)
    assert two["number"].tolist() == [1] * len(one) + [2] * len(one)
    assert two["strength"].tolist() == made.to_frame()["strength"].tolist() * 2


@pytest.mark.parametrize("name", ["x.xlsx", "x.pq.gz", "reviews.tsv"])
def test_a_suffix_that_nothing_writes_is_refused(tmp_path, name):
    for made in (attribution(), Attributions([attribution()])):
        with pytest.raises(OptionError, match="expected one of"):
            made.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_frame_has_a_row_per_response_and_unit():
    pytest.importorskip("pandas")
    found = two_fields().to_frame()
    assert list(found.columns) == [
        "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank", "against",
        "total_error", "strength", "leave_one_out",
    ]  # fmt: skip
    assert found["response"].tolist() == ["pos"] * 3 + ["neg"] * 3
    assert found["text"].tolist() == ["Great", "film", "Dull"] * 2
    assert found["score"].tolist() == [1.0, 0.0, -0.5, -1.0, 0.25, 0.5]
    assert found["rank"].tolist() == [1, 2, 3, 3, 1, 2]
    assert found["strength"].tolist() == [1, 3, 2, 1, 3, 2]
    assert np.isnan(found["leave_one_out"]).tolist() == [True] * 3 + [False] * 3
    assert np.isnan(found["standard_error"]).tolist() == [False, True, False] * 2
    one = attribution().to_frame().sort_values("rank")
    assert one["text"].tolist() == [word.text for word in attribution().top(11)]


def test_without_pandas_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[data\]'"):
        attribution().to_frame()


def test_the_columns_do_not_depend_on_the_length_of_the_text():
    pytest.importorskip("pandas")
    explainer = mase.Explainer(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts])
    short, long = (explainer(text).to_frame() for text in ("good film", "a good film " * 12))
    assert set(short.columns) == set(long.columns)
    assert short["kept_total_error"].tolist() == short["kept_error"].tolist()

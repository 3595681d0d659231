"""Tests of `mase.attribution.attributions`."""

import copy
import dataclasses
import json
import pickle

import pytest
from tests.attributions import attribution, two_fields

import mase
from mase.attribution import Attributions, Evidence, FlipSet
from mase.errors import DataError, OptionError
from mase.io.json import Failure, dumps


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
    found = mase.Attributions([attribution("a film"), flipped]).to_frame(per="text")
    assert found["document"].tolist() == [0, 1]
    assert found["text"].tolist() == ["a film", flipped.document[0].text]
    assert found["label"].tolist() == [flipped.prediction.label] * 2
    assert found["probability"].tolist() == [flipped.prediction.probability] * 2
    assert found["reliable"].tolist() == [attribution("a film").verdict.reliable, flipped.verdict.reliable]
    assert found["flip_set"].tolist() == [None, (flipped.words[1], flipped.words[0])]
    assert found["flip_label"].isna().tolist() == [True, False]
    with pytest.raises(OptionError, match="per is 'word'"):
        mase.Attributions().to_frame(per="word")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "txt"])
def test_a_file_is_what_its_name_says(tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    made = attribution("=a film")
    made.save(tmp_path / f"one.{suffix}")
    mase.Attributions([made, made]).save(tmp_path / f"two.{suffix}")
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
    for made in (attribution(), mase.Attributions([attribution()])):
        with pytest.raises(OptionError, match="expected one of"):
            made.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []

"""Tests of `mase_paper.models.tasks`."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.errors import DataError
from mase_paper.datasets import load
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.models.tasks import GROUPS, N_WORDS, TASKS, relabelled


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with reviews of every rating in both splits, and one story of every fifth topic."""
    folder = tmp_path_factory.mktemp("data")
    long = " ".join(f"w{number}" for number in range(N_WORDS + 7))
    reviews = [
        {"split": split, "id": rating, "label": "neg" if rating < 5 else "pos", "rating": rating, "text": long}
        for split in ("train", "test")
        for rating in (1, 2, 3, 4, 7, 8, 9, 10)
    ]
    topics = ["earn", *sorted(topic for topics in GROUPS.values() for topic in topics)]
    stories = [
        {"split": split, "id": number, "label": topic, "text": f"{topic} {long}"}
        for split in ("train", "test")
        for number, topic in enumerate(topics)
    ]
    for name, rows in (("imdb", reviews), ("reuters46", stories)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


def test_ratings_become_levels_and_the_last_words_are_kept(data):
    for split in ("train", "test"):
        found = relabelled(load("imdb", split, data), TASKS["imdb-rating"], data)
        assert found.labels == ("1-2", "1-2", "3-4", "3-4", "7-8", "7-8", "9-10", "9-10")
        assert (found.name, found.split, found.ids[0]) == ("imdb-rating", split, "neg/1")
        assert [text.split()[0] for text in found.texts] == ["w7"] * 8
        assert {len(text.split()) for text in found.texts} == {N_WORDS}


def test_topics_become_groups_and_the_others_are_left_out(data):
    found = relabelled(load("reuters", "test", data), TASKS["reuters-groups"], data)
    assert set(found.labels) == set(GROUPS)
    assert all(text.split()[0] in GROUPS[label] for text, label in zip(found.texts, found.labels, strict=True))
    assert all(len(text.replace("-", " ").split()) == N_WORDS for text in found.texts)
    topics = [topic for topics in GROUPS.values() for topic in topics]
    assert len(topics) == len(set(topics))


def test_a_target_has_the_labels_of_its_task_in_every_split(data):
    target = TARGETS["tfidf-imdb-rating"]
    assert set(target.split("test-later", str(data)).labels) <= {"1-2", "3-4", "7-8", "9-10"}
    assert target.split("test-later", str(data)).split == "test-later"
    assert len(target.split("test", str(data))) == 8
    assert set(TARGETS["lstm-imdb"].split("test", str(data)).labels) == {"neg", "pos"}


@pytest.mark.parametrize("row", [{"label": "earn"}, {"label": "neg", "rating": 5}, {"label": "neg"}])
def test_data_without_a_text_of_a_task_are_told(row, tmp_path):
    name, target = ("imdb", "tfidf-imdb-rating") if row["label"] == "neg" else ("reuters46", "tfidf-reuters-groups")
    rows = [row | {"split": split, "id": 0, "text": "a text"} for split in ("train", "test")]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match=r"rating|groups"):
        TARGETS[target].split("test", str(tmp_path))

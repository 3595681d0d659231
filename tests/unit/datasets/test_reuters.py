"""Tests of `mase.datasets.reuters`."""

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.unit.datasets.archives import sgml, story, tar_gz

from mase.datasets.reuters import REUTERS, rebuild, stories

SHARED = Path(__file__).parents[4] / "shared" / "data"


needs_reuters = pytest.mark.skipif(not (SHARED / REUTERS.file).is_file(), reason=f"no {REUTERS.file} in ../shared/data")


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        pytest.param(
            "<TEXT>&#2;\n<TITLE>DUCK CO &lt;DUCK.O> SEES NET</TITLE>\n<AUTHOR>    By A. Hen, Reuters</AUTHOR>\n"
            "<DATELINE>    POND, Jan 1 - </DATELINE>"
            "<BODY>Duck &amp; Co said it\nwill   swim.\n    It told Reuters.\n Reuter\n"
            "&#3;</BODY></TEXT>",
            "DUCK CO <DUCK.O> SEES NET. Duck & Co said it will swim. It told Reuters.",
            id="title and body, author and dateline left out",
        ),
        pytest.param(
            '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>DUCKS RISE \n</TITLE>Quack quack.\n\n&#3;\n\n</TEXT>',
            "DUCKS RISE . ******Quack quack.",
            id="brief: what surrounds the title",
        ),
        pytest.param(
            '<TEXT TYPE="UNPROC">&#2;\nPOND REPORT - JAN 1\n  Ducks....12\n  Geese.....7\nREUTER\n&#3;</TEXT>',
            "POND REPORT - JAN 1 Ducks....12 Geese.....7",
            id="unprocessed: no title",
        ),
        pytest.param(
            "<TEXT>&#2;\n<TITLE>TITLE</TITLE><BODY>End.\n REUTER\n REUTER\n&#3;</BODY></TEXT>",
            "TITLE. End. REUTER",
            id="only the last signature goes",
        ),
        pytest.param(
            "<TEXT>&#2;\n<TITLE>TITLE</TITLE><BODY>End.\n REUTER...\n&#3;</BODY></TEXT>",
            "TITLE. End. REUTER...",
            id="a signature with dots stays",
        ),
        pytest.param(
            "<TEXT><TITLE>A\x1fB</TITLE><BODY>caf\xe9 \xfcber\x05x &#127;y</BODY></TEXT>",
            "A B. café über x y",
            id="latin-1 kept, control codes are spaces",
        ),
        pytest.param("<TEXT><TITLE>ONLY A TITLE</TITLE></TEXT>", "ONLY A TITLE", id="title alone"),
    ],
)
def test_reuters_text(marked, expected):
    (found,) = stories(sgml(story(1, ["earn"], marked)).decode("latin-1"))
    assert found == {"id": 1, "label": "earn", "topics": ["earn"], "text": expected}


def test_reuters_story_without_topic_is_left_out():
    marked = sgml(story(1, [], "<TEXT>a</TEXT>"), story(2, ["hog", "earn"], "<TEXT>b</TEXT>")).decode()
    assert [(found["id"], found["label"], found["topics"]) for found in stories(marked)] == [
        (2, "hog", ["hog", "earn"])
    ]


def test_reuters_rule_keeps_topics_of_fifteen_stories_and_shuffles_in_order_of_newid():
    topics = {number: ["earn", "rare"] for number in range(1, 17)}  # 16 stories
    topics |= {number: ["grain"] for number in range(17, 32)}  # 15 stories
    topics |= {number: ["rare"] for number in range(32, 46)}  # 14, though 30 stories mention it
    parts = [story(number, names, f"<TEXT>text {number}</TEXT>") for number, names in topics.items()]
    files = {"./reut2-001.sgm": sgml(*parts[20:]), "reut2-000.sgm": sgml(*parts[:20]), "README.txt": b"<REUTERS>"}
    rows = rebuild(io.BytesIO(tar_gz(files)))

    order = np.arange(1, 32)
    np.random.RandomState(113).shuffle(order)
    assert [row["id"] for row in rows] == order.tolist()
    assert [row["split"] for row in rows] == ["train"] * 24 + ["test"] * 7  # int(0.8 * 31)
    assert Counter(row["label"] for row in rows) == {"earn": 16, "grain": 15}
    assert all(row["text"] == f"text {row['id']}" for row in rows)


@pytest.mark.pages
@needs_reuters
def test_reuters_rule_gives_the_table_that_experiments_use():
    """The real table, put back into SGML in memory and rebuilt, comes out the same, row by row."""
    expected = pq.read_table(SHARED / REUTERS.file).to_pylist()
    parts = []
    for row in sorted(expected, key=lambda row: row["id"]):
        marked = row["text"].replace("&", "&amp;").replace("<", "&lt;")
        title, stop, body = marked.partition(". ")
        kind = f"<TITLE>{title}</TITLE>" if stop and title[-1:] != " " and body else ""
        body = (body if kind else marked).replace(" ", "\n    ")
        parts.append(story(row["id"], row["topics"], f"<TEXT>&#2;{kind}<BODY>{body}\n Reuter\n&#3;</BODY></TEXT>"))
    assert rebuild(io.BytesIO(tar_gz({"reut2-000.sgm": sgml(*parts)}))) == expected

"""What is said on screens, pages and in documents is true: marks, notes, intervals, bold type, links."""

import io
import json
import re
import tomllib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tests.attributions import attribution

import mase
from mase.attribution import LISTED, Note, Word
from mase.errors import DataError
from mase.io.json import from_dict
from mase.measure import measure
from mase.methods import resolve
from mase.regression.promotion import Lead
from mase.render.figure import bar_chart
from mase.render.html import fragment, page
from mase.render.terminal import heat_map, summary
from mase.testing import FunctionProbe
from mase.text import Tokens, Truncation, Words
from mase_paper.experiments.markdown import marked
from mase_paper.experiments.testbeds import TARGETS

ROOT = Path(__file__).parents[2]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]


def printed(made, width=100):
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, _environ={}).print(heat_map(made))
    return stream.getvalue()


class Visible(HTMLParser):
    """The text of a page without its style sheet; that of legends, apart."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.style = self.legend_open = False
        self.text = self.legend = ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.style = tag == "style" or (self.style and tag != "body")
        if tag == "p":
            self.legend_open = "legend" in (dict(attrs).get("class") or "")

    def handle_endtag(self, tag):
        self.style = self.style and tag != "style"

    def handle_data(self, data):
        if not self.style:
            self.text += data
            self.legend += data if self.legend_open else ""


# --- unstable: the words that a reader sees -------------------------------------------------------------------------


def test_noise_among_irrelevant_words_is_not_unstable():
    """Three words of sixty decide, the others do nothing but by chance: their order is noise, and nobody sees it."""

    def function(c):
        return 5 * c[:, 0] + 4 * c[:, 1] - 3 * c[:, 2] + 0.4 * np.sin(50 * c @ np.arange(60) ** 1.5)

    found = measure(
        FunctionProbe(function, 60), resolve("mase-mask", link="logit", n_samples=400), 0, np.random.default_rng(0)
    )
    assert np.argsort(-np.abs(found.estimate.gamma))[:3].tolist() == [0, 1, 2]
    assert found.fit.split_half > 0.9
    assert "unstable" not in {note.code for note in found.fit.warnings}


def test_other_words_on_top_with_every_half_is_unstable():
    """Nothing but chance decides which words are listed."""

    def function(c):
        return np.sin(50 * c @ np.arange(60) ** 1.5)

    found = measure(
        FunctionProbe(function, 60), resolve("mase-mask", link="logit", n_samples=400), 0, np.random.default_rng(0)
    )
    assert found.fit.split_half < 0.7
    (note,) = [note for note in found.fit.warnings if note.code == "unstable"]
    assert f"{found.fit.split_half:.0%}" in note.message
    assert str(LISTED) in note.message


def test_screens_list_as_many_words_as_halves_are_judged_by():
    made = attribution(" ".join(f"w{i}" for i in range(30)), [0.01 * (i + 1) for i in range(30)])
    assert len(re.findall("±", summary(made))) == LISTED + 1  # and one that says what it is
    assert printed(made).count("█\n") + len(re.findall("[▏▎▍▌▋▊▉]\n", printed(made))) == LISTED


# --- legends: what is there, and no more ----------------------------------------------------------------------------

FOR, AGAINST = {"superb": 0.25}, {"dull": -0.125}


def cut():
    kept = attribution("unread words here superb end").word_scores[3:]
    return attribution("unread words here superb end", word_scores=kept, tokens=(), truncation=Truncation(2, 5, "end"))


def test_a_page_explains_no_mark_that_it_lacks():
    marks = {"solid red": "speaks for", "dashed blue": "speaks against", "includes 0": "includes 0", "grey": "not read"}
    cases = [
        (attribution(scores=FOR), {"solid red"}),
        (attribution(scores=AGAINST), {"dashed blue"}),
        (attribution(), {"solid red", "dashed blue"}),
        (attribution(scores=FOR, se=1.0), {"solid red", "includes 0"}),
        (cut(), {"solid red", "grey"}),
        (attribution("fine", [0.0]), set()),
    ]
    for made, expected in cases:
        assert {mark for mark in marks if mark in Visible(page([made])).legend} == expected
    together = Visible(page([made for made, _ in cases])).legend
    assert all(mark in together for mark in marks)
    assert Visible(page([])).legend == ""


def test_uncertain_words_are_explained_on_the_side_where_they_are():
    only = page([attribution(scores=FOR, se=1.0)])
    assert re.findall(r"<(\w) l>([^<]*)</\1>: the 95", only) == [("b", "not underlined")]
    both = page([attribution(se=1.0)])
    assert "<b l>not</b> <i l>underlined</i>: the 95" in both


def test_texts_are_headed_by_the_sides_that_they_have():
    for made, said, other in [
        (attribution(scores=FOR), "for", "against"),
        (attribution(scores=AGAINST), "against", "for"),
    ]:
        assert re.search(rf"words {said}\S? pos", printed(made))
        assert other not in printed(made).splitlines()[0]
        assert f"Words {said} pos" in Visible(page([made])).text
    assert re.search(r"words for\S? and against\S? pos", printed(attribution()))
    nothing = attribution("fine", [0.0])
    assert "⁺" not in printed(nothing)
    assert "no word for or against pos" in printed(nothing)
    assert "No word for or against pos" in Visible(page([nothing])).text


def test_the_reading_of_a_page_is_of_what_it_has():
    plain = Visible(page([attribution()])).text
    assert "R² is" in plain
    assert "Split-half" not in plain
    told = replace(attribution().fit, split_half=0.9, r2=None)
    other = Visible(page([attribution(fit=told)])).text
    assert "R² is" not in other
    assert "Split-half is" in other
    assert "Shades" not in Visible(page([attribution("fine", [0.0])])).text
    assert "Point at" not in Visible(page([])).text


# --- notes name their word ------------------------------------------------------------------------------------------


def leading(tokens=False):
    """Explain words of which two stand in for one another, so that another does most alone."""

    def predict(texts):
        rows = []
        for text in texts:
            words = text.split()
            margin = 4 * ("one" in words or "two" in words) + 1.4 * ("lead" in words) + ("four" in words)
            margin += 0.1 * sum(word.startswith("w") for word in words)
            rows.append([1 / (1 + np.exp(2 - margin)), 1 / (1 + np.exp(margin - 2))])
        return rows

    text = " ".join([*(f"w{i}" for i in range(10)), "lead", "one", "two", "four", *(f"w{i}" for i in range(10, 26))])
    return mase.Explainer(predict, granularity="token" if tokens else "word")(text, target=0)


@pytest.mark.parametrize("tokens", [False, True])
def test_a_note_about_one_word_names_it(tokens):
    found = leading(tokens)
    (note,) = [note for note in found.fit.warnings if note.code == "led"]
    assert found.words[note.word] == "lead" == found.top(1)[0].text
    assert '"lead"' in note.message
    for shown in (summary(found), printed(found, 300), Visible(page([found])).text, Visible(fragment(found)).text):
        assert '"lead" leads' in shown
    assert [one["word"] for one in found.to_dict()["fit"]["warnings"] if one["code"] == "led"] == [note.word]
    assert from_dict(found.to_dict()) == found


def test_the_lead_counts_words_that_cannot_move_too():
    """Coordinates that equal their reference are not asked about, and shift no index."""

    class Fixed(FunctionProbe):
        @property
        def widths(self):
            return np.array([0.0, 0.0, *np.ones(30)])

    def function(c):
        return 4 * c[:, 2:4].max(axis=1) + 1.4 * c[:, 4] + c[:, 5] + 0.1 * c[:, 6:].sum(axis=1)

    found = measure(Fixed(function, 32), resolve("mase", link="logit"), 0, np.random.default_rng(0))
    assert found.lead.coordinate == 4 == found.estimate.gamma.argmax()


def test_a_token_that_leads_is_named_with_its_word():
    tokens = Tokens("good playful", (1, 2, 3), ("good", "play", "ful"), ((0, 4), (5, 9), (9, 12)), (False,) * 3)
    words = Words(((0, 4), (5, 12)), (0, 1, 1))
    note = Lead(2, 1.0, 0.5).note(tokens, words, np.array([0, 1, 2]))
    assert note.word == 1
    assert '"ful"' in note.message
    assert '"playful"' in note.message
    whole = Lead(1, 1.0, 0.5).note(tokens, words, np.array([0, 1, 1]))
    assert whole.word == 1
    assert '"ful"' not in whole.message
    assert '"playful"' in whole.message


def test_files_without_the_word_of_a_note_load():
    plain = attribution(notes=[("led", "x leads", 3), ("early", "stopped")]).to_dict()
    assert [note["word"] for note in plain["fit"]["warnings"]] == [3, None]
    for note in plain["fit"]["warnings"]:
        del note["word"]
    assert from_dict(plain).fit.warnings == (Note("led", "x leads"), Note("early", "stopped"))


@pytest.mark.parametrize("wrong", [-1, 11, "3", 1.5, True])
def test_the_word_of_a_note_is_one_of_the_words(wrong):
    plain = attribution(notes=[("led", "x leads", 3)]).to_dict()
    plain["fit"]["warnings"][0]["word"] = wrong
    with pytest.raises(DataError, match="word"):
        from_dict(plain)


# --- scores that estimate nothing -----------------------------------------------------------------------------------


def test_random_scores_have_no_interval_anywhere(lstm_model, tmp_path):
    found = mase.Explainer(lstm_model, method="random")("not a bad film at all")
    assert {word.standard_error for word in found.word_scores} == {None}
    assert np.isnan(found.standard_errors).all()
    assert np.isfinite(found.scores).all()
    for shown in (summary(found), printed(found), Visible(page([found])).text, Visible(fragment(found)).text):
        assert "±" not in shown
        assert "95" not in shown
        assert not re.search(r"words? (that matter|for|against)", shown, re.IGNORECASE)
    assert not set("⁺⁻") & set(printed(found))
    source = page([found])
    assert "<article class=plain>" in source
    assert "±" not in source
    assert "class=w" not in source
    assert "class=w" in page([attribution()])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {word["standard_error"] for word in plain["words"]} == {None}
    found.save(tmp_path / "random.json")
    assert mase.load(tmp_path / "random.json") == found


def test_the_figure_of_random_scores_has_no_error_bars():
    pytest.importorskip("matplotlib")
    words = tuple(replace(word, standard_error=None) for word in attribution().word_scores)
    axes, usual = (bar_chart(made).axes[0] for made in (attribution(word_scores=words), attribution()))
    assert len(axes.collections) == 0 < len(usual.collections)
    assert "±" not in axes.get_xlabel()
    assert "±" in usual.get_xlabel()


def test_old_files_of_random_scores_load_with_their_errors():
    plain = attribution(method={"name": "random"}, se=0.289).to_dict()
    found = from_dict(plain)
    assert found.standard_errors.tolist() == [0.289] * 11
    plain["words"][2]["standard_error"] = None
    assert np.isnan(from_dict(plain).standard_errors).tolist() == [False, False, True, *[False] * 8]
    mixed = from_dict(plain)
    assert "±" in summary(mixed)
    bar_chart(mixed)


def test_a_word_without_an_error_is_drawn_as_it_is():
    made = attribution(
        word_scores=tuple(Word(w.text, w.start, w.end, w.score, None) for w in attribution().word_scores)
    )
    assert re.search(r"superb\s+\+0\.250$", summary(made), re.MULTILINE)


# --- documents ------------------------------------------------------------------------------------------------------


def test_links_of_the_readme_work_on_an_index_and_lead_to_files():
    """A package index knows no files: addresses are whole, and what they name in the repository is there."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    raw = REPOSITORY.replace("github.com", "raw.githubusercontent.com")
    starts = (f"{REPOSITORY}/blob/main/", f"{raw}/main/")
    files = [link.removeprefix(start) for start in starts for link in links if link.startswith(start)]
    assert len(files) > 10
    assert [name for name in files if not (ROOT / name).exists()] == []
    owner = REPOSITORY.rsplit("/", 2)[1]
    assert [link for link in links if owner in link and not link.startswith(starts)] == []


def test_files_that_commands_of_the_readme_read_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(?:\$ )?(?:\.venv/bin/)?mase .*$", readme, re.MULTILINE)
    written = {name for line in commands for name in re.findall(r"(?:-o|--output|--html) (\S+)", line)}
    read = {name for line in commands for name in re.findall(r"(?:-i|--input) (\S+)|--attributions \w+=(\S+)", line)}
    names = {one for pair in read for one in pair if one}
    assert names
    assert [name for name in names - written if not (ROOT / name).exists()] == []


def test_the_highest_figure_is_bold_whoever_has_it():
    assert marked(["0.947", "0.948"]) == ["0.947", "**0.948**"]
    assert marked(["0.480", "0.480", "0.1"]) == ["**0.480**", "**0.480**", "0.1"]
    assert marked([]) == []


@pytest.mark.parametrize("name", ["README.md", "docs/results.md", "experiments/results/faithfulness.md"])
def test_of_two_figures_the_higher_is_bold(name):
    rows = re.findall(
        r"(\*\*)?(0\.\d{3})(?:\*\*)? / (\*\*)?(0\.\d{3})(?:\*\*)? `", (ROOT / name).read_text(encoding="utf-8")
    )
    assert len(rows) == 16
    for left_bold, left, right_bold, right in rows:
        assert (bool(left_bold), bool(right_bold)) == (left >= right, right >= left)


@pytest.mark.parametrize(
    "name", ["README.md", *(f"experiments/results/{one}.md" for one in ("table2", "faithfulness", "figure4"))]
)
def test_pages_say_what_stands_in_for_bert(name):
    page = (ROOT / name).read_text(encoding="utf-8")
    for target in ("bert-imdb", "bert-reuters"):
        assert TARGETS[target].introduced != TARGETS[target].title
        assert TARGETS[target].introduced in page
    assert TARGETS["lstm-imdb"].introduced == TARGETS["lstm-imdb"].title

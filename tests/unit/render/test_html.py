"""Tests of `mase.render.html`."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pytest
from tests.attributions import attribution

from mase.attribution import Prediction
from mase.errors import DataError
from mase.render.html import article, fragment, page, resource, write_page
from mase.render.wording import meaning
from mase.text import Truncation, find_words

MASKED = {"name": "mase", "space": {"name": "token-mask"}, "design": {"name": "focused"}}


HOSTILE = (
    """</script><script>alert(1)</script> "><img src=x onerror=alert(1)> ' onmouseover='x' """
    "&amp; {{ 7*7 }} [red]x[/red]"
)


class Reader(HTMLParser):
    """Collects the elements and attributes of a page, and its text as a browser would show it."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("render", [article, fragment, lambda made: page([made]), lambda made: page([made, made])])
def test_everything_from_outside_is_escaped(render):
    made = attribution(
        HOSTILE, [0.3] * len(find_words(HOSTILE)), label=HOSTILE, other="<b onclick=x>", model_name=HOSTILE, se=0.01,
        notes=[(HOSTILE, HOSTILE)], method={"name": HOSTILE, "sigma": HOSTILE, "space": {"name": HOSTILE}},
        versions={"mase-xai": HOSTILE}, link=HOSTILE,
    )  # fmt: skip
    harmless = attribution("x" * 20, [0.3], notes=[("a", "b")])
    source, reader, reference = render(made), Reader(render(made)), Reader(render(harmless))
    assert set(reader.tags) <= set(reference.tags) | {"b", "i", "u"}
    assert {"script", "img"}.isdisjoint(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "style")]
    assert {value for name, value in reader.attributes if name == "href"} <= {"#t1", "#t2"}
    assert reader.text.count("<script>alert(1)</script>") >= 4
    assert "{{ 7*7 }}" in reader.text
    assert "<script" not in source


def test_the_words_of_the_page_are_the_text():
    reader = Reader(page([attribution(HOSTILE)]))
    assert HOSTILE in reader.text


def test_the_policy_of_the_page_allows_its_own_style_only():
    source = page([attribution()])
    policy = re.search(r'Content-Security-Policy content="([^"]+)"', source)[1]
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"https?:|url\(|@import|<link|<script", source)
    assert "prefers-color-scheme:dark" in style


def test_words_are_marked_by_colour_and_line_with_their_number():
    source = page([attribution()])
    assert "<b f title=+0.250±0.020>superb</b>" in source
    assert "<i c title=−0.125±0.020>dull</i>" in source
    assert "<u title=0.000±0.020>The</u>" in source
    unsure = page([attribution(se=0.2)])
    assert "<b l title=+0.250±0.392>superb</b>" in unsure
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    assert "dashed" in style


def test_the_page_tells_prediction_fit_warnings_and_origin():
    made = attribution(target="neg", truncation=Truncation(9, 12, "end"), notes=[("poor-fit", "two halves differ")])
    text = Reader(page([made, attribution()])).text
    for part in (
        "2 texts explained: lstm-imdb", "1. pos 80.0\u00a0%",
        "Read with care: two halves differ; the 2 strongest words are certain, 3rd place is open.",
        "against neg (not the prediction)",
        "two halves differ",
        "scores: probability of neg · R² 0.98 · the model was asked 1,001 times",
        "The model read only the last 9 of 12 tokens.",
        "sha256 abababababab", "seed 0", "−0.125 ± 0.020",
    ):  # fmt: skip
        assert part in text
    assert text.count("sha256 abab") == 1
    shown = Reader(page([attribution(link="margin", method=MASKED)])).text
    assert "scores: margin of pos in log-odds" in shown
    assert all(sentence in shown for sentence in meaning([attribution(link="margin", method=MASKED)]))
    alone = Reader(fragment(attribution(link="margin", method=MASKED))).text
    assert all(sentence in alone for sentence in meaning([attribution(link="margin", method=MASKED)]))
    assert Reader(page([])).text.count("Nothing to explain") == 2


def test_right_to_left_text_and_control_characters():
    source = page([attribution("مرحبا \x00 \u202e 👍🏽", label="إيجابي")])
    assert "dir=auto" in source
    assert "<bdi>إيجابي</bdi>" in source
    assert not set(source) & set("\x00\u202e")


def test_what_was_not_read_is_greyed():
    text = "never read " * 500 + "the end"
    kept = find_words(text)[-2:]
    source = page([attribution(text, spans=kept, tokens=(), truncation=Truncation(2, 1002, "end"))])
    assert "<s>[1,500 characters] … " in source
    assert "never read never read </s>" in source


def test_what_was_not_read_is_told_beside_the_verdict_where_it_is_printed():
    cut = Truncation(2, 4, "end")
    source = page([attribution("not read but this", spans=[(9, 12), (13, 17)], tokens=(), truncation=cut)])
    rest = re.search(r"<p class=\"verdict.*?</p>(.*?)<details><summary>Details", source, re.DOTALL)[1]
    assert "The model read only the last 2 of 4 tokens, and not what is grey." in rest
    whole = page([attribution("all is read", truncation=cut)])
    assert "The model read only the last 2 of 4 tokens." in whole
    assert 'class="cut' not in page([attribution()])


def test_the_comparison_of_another_class_is_not_taken_for_the_prediction():
    shown = page([attribution(target="neg", against="pos")])
    assert "<bdi>neg</bdi> (not the prediction) rather than <bdi>pos</bdi></p>" in shown
    assert "not the prediction" not in page([attribution(against="neg")])


def test_small_pages_show_the_scores_of_all_words_on_demand():
    text = " ".join(f"w{number}" for number in range(40))
    scores, summary = [0.1] * 39 + [0.0], "<summary>Show all 40 scores in the text</summary>"
    source = page([attribution(text, scores)])
    assert summary in source
    assert source.count(" title=") == 40
    assert " title=0.000±0.020>w39<" in source
    assert "<summary>Show all" not in page([attribution("w0 w1", [0.1, 0.2])])  # the list of the strongest has them all
    assert summary not in page([attribution(text, scores)] * 40)


def test_classes_that_are_not_listed_are_counted():
    many = Prediction("c0", 0, 0.5, {f"c{index}": 0.5 - index / 100 for index in range(46)})
    assert "<p class=soft>and 42 more</p>" in page([attribution(prediction=many, label="c0")])
    assert "<p class=soft>and 41 more</p>" in page([attribution(prediction=many, target="c9")])
    assert "<p class=soft>and " not in page([attribution()])


@pytest.mark.parametrize("without", [{"signed": False}, {"se": None}])
def test_scores_without_a_direction_have_one_colour_and_one_line(without):
    source = article(attribution("a b", [-2.0, 1.0], **without))
    assert re.findall(r"<(b|i) [a-l] ", source) == ["b", "b"]
    assert re.findall(r"<rect class=(p|n) ", source) == ["p", "p"]


@pytest.mark.parametrize("made", [attribution(se=0.0, exact=True), attribution(se=None)])
def test_scores_without_error_have_no_interval(made):
    assert "±" not in page([made])
    assert "95 % interval" not in page([made])
    assert "Strongest words, ± 95 % interval" in page([attribution()])


@pytest.mark.parametrize("distribution", ["standard_normal", "standard_cauchy"])
def test_ten_reviews_stay_near_100_kb_with_every_word_scored(distribution):
    rng = np.random.default_rng(0)
    text = ("The book is one of my favourites, so perhaps I was always going to be disappointed. What made it "
            "special was its patience: long winters, small kindnesses, a friendship that grows over forty "
            "years. ") * 7  # fmt: skip
    text = text[:1300]
    size = len(find_words(text))
    many = [
        attribution(text, (0.05 * getattr(rng, distribution)(size)).tolist(), notes=[("a", "b" * 80)])
        for _ in range(10)
    ]
    assert len(page(many).encode()) < 108_500
    assert len(page(many[:1]).encode()) < 25_000


def test_a_page_keeps_the_numbers_of_its_run_and_tells_what_is_missing():
    source = page([attribution(), attribution()], numbers=[1, 4], failures={2: "it <b>broke", 3: "it <b>broke"})
    assert re.findall(r"<h2>(\d)\. ", source) == ["1", "4"]
    assert "2 more texts could not be explained." in source
    assert "<li><bdi>Texts 2, 3: it &lt;b&gt;broke</bdi></ul>" in source
    assert "<h2>3. " in page([attribution()], numbers=[3], failures={1: "no", 2: "no"})
    same = page([attribution()], failures=dict.fromkeys(range(2, 50), "no"))
    assert "Texts 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 38 more: no" in same
    other = page([attribution()], failures={number: f"no {number}" for number in range(2, 50)})
    assert other.count("<li><bdi>Text ") == 20
    assert "and 28 more messages" in other
    assert "more could not" not in page([attribution()])


def test_a_fragment_keeps_to_itself():
    source = fragment(attribution())
    assert source == attribution()._repr_html_()
    assert source.startswith("<div class=mase>")
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    selectors = [
        one for rule in re.findall(r"([^{}]+)\{", style) for one in rule.split(",") if not rule.strip().startswith("@")
    ]
    assert all(one.strip().startswith(".mase") for one in selectors)
    assert "<html" not in source


def of_class(label, probability, r2, **changed):
    labels = ("pos", "neg") if label == "pos" else ("neg", "pos")
    told = Prediction(label, 0, probability, dict(zip(labels, (probability, 1 - probability), strict=True)))
    return attribution(label=label, prediction=told, r2=r2, **changed)


def test_a_page_of_several_texts_lists_and_filters_them():
    source = page(
        [
            of_class("pos", 0.6, 0.9, se=0.001),
            of_class("neg", 0.9, 0.7, notes=[("poor-fit", "halves differ")]),
            of_class("pos", 0.8, 0.6, notes=[("poor-fit", "halves differ")]),
        ]
    )
    orders = dict(re.findall(r"<ul class=by-(\w+)>(.*?)</ul>", source))
    assert {by: re.findall(r"href=#t(\d)", entries) for by, entries in orders.items()} == {
        "text": ["1", "2", "3"],
        "probability": ["2", "3", "1"],
        "fit": ["3", "2", "1"],
    }
    assert re.findall(r'<article id=t(\d) class="t g(\d)( care)?"', source) == [
        ("1", "1", ""), ("2", "2", " care"), ("3", "1", " care"),
    ]  # fmt: skip
    assert "1 of 3 explanations is reliable." in source
    assert ".mase:has(#g2:checked) .t:not(.g2){display:none}" in source
    assert ".mase:has(#g2:checked):has(#reliable:checked) .none{display:block}" in source
    assert ":has(#g1:checked):has(#reliable:checked) .none" not in source
    identifiers = re.findall(r" id=([\w-]+)", source)
    assert len(identifiers) == len(set(identifiers))


def test_texts_with_values_are_listed_by_them():
    told = [Prediction("stars", 0, None, {}, {"stars": value}) for value in (2.5, 4.0)]
    source = page([attribution(label="stars", prediction=one) for one in told])
    entries = re.search(r"<ul class=by-probability>(.*?)</ul>", source)[1]
    assert re.findall(r"href=#t(\d)", entries) == ["2", "1"]
    assert re.search(r"<legend>List by</legend>.*?</fieldset>", source)[0].count(">value</label>") == 1
    assert "probability</label>" not in source


def test_the_page_of_one_text_has_no_list():
    assert not re.search("<nav|Predicted|List by", page([attribution()]))
    assert "<nav" not in page([], failures={1: "no", 2: "no"})


def test_pages_are_written_whole(tmp_path):
    path = tmp_path / "new" / "page.html"
    content = write_page([attribution()], path)
    assert path.read_text(encoding="utf-8") == content == attribution().to_html()
    assert attribution().to_html(path) == content
    with pytest.raises(DataError, match="cannot write"):
        write_page([attribution()], tmp_path)


AA = 4.5


SHEET = "".join(resource("mase.render", name) for name in ("style.css", "palettes.css", "page.css", "choices.css"))


SHADES = [float(value) for value in re.findall(r"\[[a-l]\]\{--k:([\d.]+)\}", SHEET)]


PAGES = {"light": ((253, 252, 250), (29, 29, 32)), "dark": ((21, 22, 26), (232, 230, 225))}


def palettes(scheme):
    """Return the colours of all palettes as triples."""
    prefix = "--dark-" if scheme == "dark" else "--"
    found = re.findall(rf"[{{;]{prefix}(?:for|against|plain):(\d+ \d+ \d+)", SHEET)
    return {tuple(map(int, one.split())) for one in found}


def luminance(colour):
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour, share, below):
    return tuple(share * c + (1 - share) * b for c, b in zip(colour, below, strict=True))


@pytest.mark.parametrize("scheme", PAGES)
def test_words_on_every_shade_can_be_read(scheme):
    paper, ink = PAGES[scheme]
    assert "#{:02x}{:02x}{:02x}".format(*paper) in SHEET
    assert "#{:02x}{:02x}{:02x}".format(*ink) in SHEET
    used = palettes(scheme)
    assert len(SHADES) == 12
    assert len(used) >= 7
    for colour, share in product(used, SHADES):
        assert contrast(mixed(colour, share, paper), ink) >= AA, (colour, share)


@pytest.mark.parametrize("scheme", PAGES)
def test_pale_text_can_be_read(scheme):
    paper, ink = PAGES[scheme]
    shares = [int(share) / 100 for share in re.findall(r"color-mix\(in srgb,currentColor (\d+)%", SHEET)]
    assert shares
    for share in shares:
        assert contrast(mixed(ink, share, paper), paper) >= AA

"""Tests of `mase.render.answers` and of the pages that show them."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.answers import ANSWER, SOURCES, cited
from tests.attributions import attribution
from tests.unit.render.screens import printed

from mase.attribution import Field
from mase.render.html import article, fragment, page

HOSTILE = """</span></script><script>alert(1)</script> "onmouseover='x' <img src=x onerror=alert(1)>."""


class Element:
    """An element with its attributes, its children, and its text."""

    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children, self.text = tag, dict(attributes), [], ""

    def all(self, wanted=lambda one: True):
        for child in self.children:
            yield from [child] if wanted(child) else []
            yield from child.all(wanted)

    def has(self, name):
        return name in self.attributes.get("class", "").split()


class Tree(HTMLParser):
    """The elements of a page whose tags are closed."""

    CLOSED = frozenset(
        (
            "article",
            "aside",
            "section",
            "div",
            "p",
            "span",
            "sup",
            "a",
            "ul",
            "li",
            "h2",
            "h4",
            "details",
            "summary",
            "bdi",
        )
    )

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]
        self.feed(source)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag, attrs):
        if tag in self.CLOSED:
            self.open[-1].children.append(Element(tag, attrs))
            self.open.append(self.open[-1].children[-1])

    def handle_endtag(self, tag):
        if tag in self.CLOSED:
            assert self.open.pop().tag == tag

    def handle_data(self, data):
        for one in self.open:
            one.text += data

    def of(self, name):
        return list(self.root.all(lambda one: one.has(name)))

    def links(self):
        return list(self.root.all(lambda one: one.tag == "a"))

    def named(self):
        return {one.attributes["id"]: one for one in self.root.all(lambda one: "id" in one.attributes)}


def body(source):
    return Tree(source[source.index("<article") : source.rindex("</article>") + len("</article>")])


@pytest.mark.parametrize("render", [article, fragment, lambda made: page([made]), lambda made: page([made, made])])
def test_links_lead_from_parts_to_sources_and_back(render):
    source = render(cited())
    names = re.findall(r"\sid=\"?([\w-]+)", source[source.index("<article") :])
    assert len(names) == len(set(names))
    tree = body(source)
    named = tree.named()
    answer = tree.of("said")[0]
    parts = [one for one in answer.children if one.has("part")]
    assert [part.text for part in parts] == [
        "aThe capital of France is Paris.[1]", "bIt lies on the Seine.[2][1]", "cIt is lovely.no source",
    ]  # fmt: skip
    for part in parts:
        for link in list(part.all(lambda one: one.tag == "a"))[1:]:
            back = named[link.attributes["href"][1:]]
            assert back.attributes["href"] == f"#{part.attributes['id']}"
            assert back.attributes["class"] == part.attributes["class"]
            assert link.attributes["title"].endswith(back.attributes["title"])
            assert f"score {back.attributes['title']}" in back.attributes["aria-label"]
    assert {link.attributes["href"] for link in tree.links()} <= {f"#{name}" for name in named}


def test_a_source_has_its_number_and_the_parts_that_it_supports():
    tree = body(page([cited()]))
    texts = [one for one in tree.of("text") if one.text.startswith("[")]
    assert [text.text for text in texts] == [f"[1] a b{SOURCES['source 1']}", f"[2] b{SOURCES['source 2']}"]
    assert [one.attributes["title"] for one in tree.links() if one.has("part")] == [
        "+7.50 ± 0.40", "+2.50 ± 0.40", "+4.50 ± 0.40",
    ]  # fmt: skip


def test_every_part_has_a_list_of_its_sources():
    one, two, three = body(page([cited()])).of("part")[3:6]
    assert [entry.text for entry in two.all(lambda one: one.tag == "li")] == [
        "[2] source 2 The Seine flows through Paris.+4.50 ± 0.40",
        "[1] source 1 Paris is the capital of France.+2.50 ± 0.40",
    ]
    assert "log-odds +1.00 · without this source its odds would be 1800 times lower · R² 0.96" in one.text
    assert "log-odds 0.00 · without these sources its odds would be 1100 times lower" in two.text
    assert "No source: no sentence alone makes its odds ten times as high beyond the sampling error" in three.text


def test_sources_are_shaded_for_each_response():
    source = page([cited()])
    assert re.search(r"<span class=u id=[\w-]+ r0=6 r1=6 r2=4 r3=3~ title=[^>]+>Paris is the capital", source)
    assert re.search(r"<span class=u r0=-1 r2=-2 r3=3~ title=[^>]+>Berlin", source)
    assert re.search(r"<span class=u r3=6~ title=[^>]+>It has two", source)  # its interval includes 0
    assert ".p3:hover" in source
    assert ".p4" not in source
    assert "includes 0 (not significant)" in source  # the legend tells of marks that only a part has
    first = cited()
    assert "for part b" in re.sub("<[^>]+>", "", page([first.of(first.answer.parts[1].response)]))


def test_sources_without_a_direction_are_shaded_as_they_are():
    unsigned = cited()
    unsigned = replace(unsigned, responses=tuple(replace(one, signed=False) for one in unsigned.responses))
    assert re.search(r"<span class=u r0=1 r2=2 r3=3~ title=[^>]+>Berlin", page([unsigned]))


def test_an_answer_of_one_part_has_no_letters():
    tree = body(page([cited("Paris.", ((0, 6),), ((6.0, 0.2, 3.0, -1.0),), sources=SOURCES)]))
    assert tree.of("said")[0].text == "Paris.[1][2]"
    assert [one.text for one in tree.links() if one.has("part")] == ["↑", "↑"]
    assert tree.of("of0")[0].text == "the answer"


def test_everything_from_outside_is_escaped():
    made = cited(
        HOSTILE, ((0, 7), (7, len(HOSTILE))), ((6.0, 1.0), (5.0, 0.0), (1.0, 5.0)),
        sources={HOSTILE: HOSTILE, "b": "."}, query=HOSTILE, model={"name": HOSTILE},
    )  # fmt: skip
    for source in (page([made]), fragment(made), article(made)):
        assert "<script" not in source
        assert "<img" not in source
        assert not re.search(r"<[^>]*\s(on\w+|src|style)=[^>]*>", re.sub(r'"[^"]*"', '""', source))
        assert body(source).of("said")[0].text.count("<script>alert(1)</script>") == 1


def test_answers_that_overlap_or_leave_text_out_are_shown_once():
    made = cited(parts=((32, 53), (0, 40), (60, 67)))
    text = body(page([made])).of("said")[0].text
    assert re.sub(r"\[\d\]|no source", "", text) == ANSWER.replace("The", "aThe").replace("on ", "bon ").replace(
        "lovely", "clovely"
    )


def test_many_texts_are_folded_unless_they_are_cited():
    sources = {f"file {number}.txt": f"Line {number} of it." for number in range(100)}
    scores = [[0.0] * 100 for _ in range(2)]
    scores[0][40] = scores[1][40] = 5.0
    made = cited("Yes. No.", ((0, 4), (5, 8)), (*scores, [0.0] * 100), sources=sources, query="q" * 500)
    tree = body(page([made]))
    folded = list(tree.root.all(lambda one: one.tag == "summary"))
    assert folded[0].text.startswith("query (fixed) qqq")
    assert [one.text for one in folded[-2:]] == [
        "40 texts file 0.txt … file 39.txt",
        "59 texts file 41.txt … file 99.txt",
    ]
    opened = [one for one in tree.of("sources")[0].children if one.tag == "section"]
    assert [one.text for one in opened] == ["file 40.txt[1] aLine 40 of it."]


def test_text_from_right_to_left_and_control_characters():
    answer, source = "القاهرة عاصمة مصر.", "عاصمة مصر هي القاهرة\u202e."
    made = cited(answer, ((0, len(answer)),), ((4.0,),), sources={"مصدر": source})
    shown = page([made])
    assert '<p class="text said" dir=auto' in shown
    assert "<bdi>مصدر</bdi>" in shown
    assert "\u202e" not in shown


def test_a_page_of_answers_lists_them_by_their_answers():
    shown = page([cited(), cited("Paris.", ((0, 6),), ((6.0, 0.2, 3.0, -1.0),))])
    assert "2 answers explained: smol" in shown
    assert "increases the probability of the answer" in shown
    assert "<b>2. answer:</b><bdi>Paris.</bdi></a>" in shown
    mixed = page([cited(), attribution()])
    assert "2 texts explained" in mixed
    assert "class=u" not in page([attribution()])
    assert "of0" not in page([attribution()])


def test_the_other_answer_of_a_contrast_is_shown():
    made = cited("Paris.", ((0, 6),), ((6.0, 0.2, 3.0, -1.0),), document=(Field("source 1", SOURCES["source 1"]),))
    first = made.responses[0]
    tree = body(page([replace(made, responses=(replace(first, against="London."),))]))
    assert "rather than London." in tree.root.text


def test_an_answer_that_stands_in_a_field_is_shown_once():
    document = (Field("text", SOURCES["source 1"]), Field("answer", "Paris.", fixed=True))
    made = cited("Paris.", ((0, 6),), ((6.0, 0.2, 3.0, -1.0),), document=document)
    assert "answer (fixed)" not in page([made]) + printed(made)

"""Tests of `mase.report.workbench`: a text of a report leads to the workbench with the settings of its run."""

import json
import re
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.attributions import attribution, two_fields
from tests.runs import run_of, write_run
from tests.summaries import summary

from mase.corpus.opened import open_run
from mase.errors import InvalidTextError
from mase.report.entries import Flags, entries
from mase.report.folder import write_report
from mase.report.page import page, policy
from mase.report.workbench import Workbench


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

"""Tests of `mase_paper.experiments.rerun`."""

import shlex

from paper.tests.experiments.samples import bits, write

from mase.methods import Configuration, parse
from mase_paper.cli.reproduce import reproduce
from mase_paper.experiments import markdown
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.figure4 import FIGURE4
from mase_paper.experiments.rerun import command
from mase_paper.experiments.tables import TABLE1


def test_commands_name_what_differs_from_the_default():
    scope = Scope(("bert-imdb",), (parse("mase+sigma=0.3"), Configuration("random")), 200, 5, seed=2)
    expected = "--targets bert-imdb --methods mase+sigma=0.3,random --n-texts 200 --batches 5 --seed 2"
    assert command("table2", scope) == f"mase reproduce table2 --data-dir DIR {expected}"
    assert markdown.operator("unk") == "the model's unknown token"


def asked(page):
    """Return what the first block of commands on a page asks for: (method, texts) for each of its lines."""
    block = page.partition("To make all of it again")[2].partition("```console\n")[2].partition("\n```")[0].splitlines()
    assert block[-1].endswith("--report-only --output OUT")
    contexts = [reproduce.make_context("reproduce", shlex.split(line)[3:]) for line in block[:-1]]
    assert all(context.params["output"] == "OUT" for context in contexts)
    return {(method, context.params["n_texts"]) for context in contexts for method in context.params["methods"]}


def test_the_commands_of_a_page_ask_for_each_row_and_as_many_texts(records):
    """In a folder of its own: beside the records that there are, nothing would be explained again."""
    write(records, "lstm-imdb", "gradient", [bits(1)] * 10)
    page = TABLE1.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert asked(page) == {("mase", 40), ("random", 40), ("lime", 40), ("gradient", 10)}
    assert "One row of it:\n\n```console\n$ mase reproduce table1" in page
    page = FAITHFULNESS.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert asked(page) == {("mase", 40), ("random", 40), ("lime", 40), ("gradient", 10), ("beam", 20)}
    for n in (100, 250):
        write(records, "lstm-imdb", f"mase+n_samples={n}", [bits(10)] * 3)
    page = FIGURE4.report(Scope(("lstm-imdb",), n_texts=40), records).page
    assert asked(page) == {("mase", 40), ("random", 40), ("lime", 40), ("gradient", 10), ("mase", 3), ("lime", 3)}

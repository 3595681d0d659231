"""Tests of `mase.serve.copies` for language models: Python and a command that find the same sources."""

import subprocess

import pytest
from click.testing import CliRunner
from tests.unit.serve.test_answering import CONTEXT, RECALL

import mase
from mase.cli import main
from mase.io.json import loads
from mase.serve.copies import command_of_answer, python_of_answer
from mase.serve.messages import CITE, Explain, Open, Settings

AWKWARD = 'it\'s "a" $HOME `x` \\ cat. -- The dog ran.\nAnd more.'
PROMPTS = (
    ({"context": AWKWARD}, CITE, None),
    ({"source 1": CONTEXT["one"], "source 2": AWKWARD, "query": "-- Who?"}, CITE, None),
    (CONTEXT | {"answer": "The cat sat."}, Settings(method="mase-cite", units="word", evidence=0, seed=3), "No $cat."),
)


def same(found, expected):
    assert found.document == expected.document
    assert [one.scores for one in found.responses] == [one.scores for one in expected.responses]
    assert (found.answer, found.method) == (expected.answer, expected.method)


@pytest.mark.parametrize(("text", "settings", "against"), PROMPTS)
def test_copies_find_the_same_sources(text, settings, against):
    model, ask = Open(RECALL), Explain(text, None, settings, against)
    scope = {}
    exec(python_of_answer(model, ask).replace("print(found)", ""), scope)
    asked = dict(text)
    query, answer = asked.pop("query", ""), asked.pop("answer", None)
    options = {"units": settings.units, "seed": settings.seed, "against": against}
    opened = mase.models.code_reference.open_code(RECALL)
    same(scope["found"], mase.cite(opened, context=asked, query=query, answer=answer, **options))
    # The shell writes the texts, and says with what it would start the command.
    script = "mase() { printf '%s\\0' \"$@\"; }\n" + command_of_answer(model, ask)
    arguments = subprocess.run(["sh", "-c", script], capture_output=True, check=True, text=True).stdout.split("\0")[:-1]
    result = CliRunner().invoke(main, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    same(loads(result.stdout.strip()), scope["found"])


def test_a_model_on_a_server():
    model, ask = Open("smol", server="http://localhost:8000/v1"), Explain("A text.", None, CITE)
    assert "mase.cite(mase.models.CompletionServer('http://localhost:8000/v1', 'smol'), " in python_of_answer(
        model, ask
    )
    assert "mase cite --server=http://localhost:8000/v1 --model=smol " in command_of_answer(model, ask)

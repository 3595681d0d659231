"""Tests of `mase_serve.explanations` for language models: Python and a command that find the same sources."""

import shlex
import subprocess
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs
from tests.serve.test_answering import CONTEXT, RECALL

import mase
from mase.attribution.json import loads
from mase.cli import main
from mase_serve.explanations import command, command_of_answer, python, python_of_answer
from mase_serve.worker import CITE, Explain, Open, Settings

AWKWARD = 'it\'s "a" $HOME `x` \\ cat. -- The dog ran.\nAnd more.'
PROMPTS = (
    ({"context": AWKWARD}, CITE, None),
    ({"source 1": CONTEXT["one"], "source 2": AWKWARD, "query": "-- Who?"}, CITE, None),
    (CONTEXT | {"answer": "The cat sat."}, Settings(method="mase-cite", units="word", evidence=0, seed=3), "No $cat."),
)


LOADED = Open("org/model", trust_remote_code=True, device="cuda", threads=3, download=True)


def arguments_of(command):
    """Return the arguments with which a shell would start mase; the shell writes the texts."""
    script = "mase() { printf '%s\\0' \"$@\"; }\n" + command
    return subprocess.run(["sh", "-c", script], capture_output=True, check=True, text=True).stdout.split("\0")[:-1]


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
    opened = mase.models.user_code.open_code(RECALL)
    same(scope["found"], mase.cite(opened, context=asked, query=query, answer=answer, **options))
    arguments = arguments_of(command_of_answer(model, ask))
    result = CliRunner().invoke(main, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    same(loads(result.stdout.strip()), scope["found"])


def test_a_model_on_a_server():
    model, ask = Open("smol", server="http://localhost:8000/v1"), Explain("A text.", None, CITE)
    assert "mase.cite(mase.models.CompletionServer('http://localhost:8000/v1', 'smol'), " in python_of_answer(
        model, ask
    )
    assert "mase cite --server=http://localhost:8000/v1 --model=smol " in command_of_answer(model, ask)


def test_each_text_has_a_file_of_its_own():
    names = ["a/b", "a_b", "a_b_2", "a/b/", "x"]
    ask = Explain({name: f"{name} is it." for name in names}, None, CITE)
    arguments = arguments_of(command_of_answer(Open(RECALL), ask))
    files = [Path(one) for one in arguments[arguments.index("--context") + 1 :]]
    assert [file.name for file in files] == ["a_b_3", "a_b", "a_b_2", "a_b_", "x"]
    assert [file.read_text() for file in files] == [f"{name} is it." for name in names]


def test_copies_load_the_model_with_its_options():
    ask, cite = Explain("A text.", None, Settings()), Explain("A text.", None, CITE)
    loaded = "mase.models.load('org/model', download=True, device='cuda', trust_remote_code=True)"
    for code in (python(LOADED, ask), python_of_answer(LOADED, cite)):
        assert "from mase.models.locks import configure\n\nconfigure(3)\n" in code
        assert f"({loaded}" in code
    assert python(Open("org/model"), ask).splitlines()[2] == "explainer = mase.Explainer('org/model')"
    options = "--model=org/model --download --device=cuda --trust-remote-code --threads=3 "
    assert f"mase explain {options}" in command(LOADED, ask)
    assert f"mase cite {options}" in command_of_answer(LOADED, cite)
    code = structs.replace(LOADED, model="file.py:judge")  # which the command would refuse with these options
    assert "mase explain --model=file.py:judge --threads=3 -- " in command(code, ask)
    assert "configure(3)\nexplainer = mase.Explainer(open_code('file.py:judge'))\n" in python(code, ask)


def test_copies_use_nothing_that_is_deprecated():
    ask = Explain("A good film.", None, Settings(n_samples=30, long="windows", reference="pad"))
    code, typed = python(Open("lstm-imdb"), ask), command(Open("lstm-imdb"), ask)
    scope = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code.replace("print(found)", ""), scope)
    program, *arguments = shlex.split(typed)
    result = CliRunner().invoke(main, [*arguments[:1], "--json", *arguments[1:]])
    assert (program, result.exit_code, result.stderr) == ("mase", 0, "")
    found = loads(result.stdout.strip())
    assert found.scores.tolist() == scope["found"].scores.tolist()
    assert (found.method["space"]["reference"], found.method["long"]) == ("pad", "windows")

"""Tests of `mase.cli.group`."""

import re
import subprocess
import sys
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.cli.commands import command

import mase
from mase.cli import main
from mase.errors import DataError
from mase.links import LINKS

ROOT = Path(__file__).parents[3]


GOOD, BAD = "a good film", "a dull film"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["explain", "--help"], ["evaluate", "--help"], ["data", "get", "--help"], ["--version"]]
)
def test_help_loads_next_to_nothing(arguments):
    code = f"import sys; from mase.cli import main; main({arguments}, standalone_mode=False); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split("\n")[-2].split())
    assert "mase.cli" in loaded
    assert {"numpy", "scipy", "torch", "rich", "jinja2", "matplotlib", "httpx", "transformers"}.isdisjoint(loaded)


def test_python_dash_m_and_version():
    found = command("--version")
    assert (found.stdout, found.returncode) == (f"mase {mase.__version__}\n", 0)


def test_help_of_every_verb():
    text = CliRunner().invoke(main, ["-h"]).stdout
    for verb in ("explain", "models", "methods", "data"):
        assert f"\n  {verb} " in text
        assert CliRunner().invoke(main, [verb, "-h"]).exit_code == 0
    for code in ("0", "1", "2", "130", "141"):
        assert re.search(rf"^ +{code} ", text, re.MULTILINE)


def test_unknown_verbs_are_usage_errors():
    found = CliRunner().invoke(main, ["explian"])
    assert found.exit_code == 2
    assert "explian" in found.stderr


def test_choices_are_those_of_the_library(lstm_model):
    from mase.cli.explain import explain

    choices = {option.name: tuple(getattr(option.type, "choices", ())) for option in explain.params}
    assert choices["link"] == tuple(LINKS)
    assert set(choices["reference"]) == {*lstm_model.references, *mase.models.Callable(str).references}


def test_every_option_is_documented():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    from mase.cli.cite import cite
    from mase.cli.explain import explain

    for option in (*explain.params, *cite.params):
        assert all(name in text for name in option.opts if name.startswith("--"))


def test_commands_of_one_vocabulary_have_the_same_options():
    """What two commands have in common has one name, short form and type."""
    from mase.cli.cite import cite
    from mase.cli.explain import explain

    one, other = ({option.name: option for option in command.params} for command in (explain, cite))
    shared = one.keys() & other.keys() - {"link"}  # whose choices are those of language models
    assert len(shared) > 20
    for name in shared:
        assert (one[name].opts, one[name].type.name) == (other[name].opts, other[name].type.name)


@pytest.mark.parametrize("error", [MemoryError("298 GiB"), MemoryError(), OSError(5, "Input/output error", "some.bin")])
def test_what_the_machine_refuses_is_one_line(mase_cli, monkeypatch, error):
    from mase.explainer import Explainer

    def refuse(*_a, **_k):
        raise error

    monkeypatch.setattr(Explainer, "__call__", refuse)
    found = mase_cli(GOOD)
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (1, "", 1)
    named = ("--n-samples", "--batch-size") if isinstance(error, MemoryError) else ("'some.bin'", "Input/output error")
    assert all(part in found.stderr for part in named)


def test_names_of_files_command_no_terminal(tmp_path):
    found = CliRunner().invoke(
        main, ["explain", GOOD, "-q", "--n-samples", "16", "--html", str(tmp_path / "a\x1b[31m\x9b.html")]
    )
    assert found.exit_code == 0
    assert "wrote" in found.stderr
    assert not {"\x1b", "\x9b"} & set(found.stderr)


def test_an_error_is_one_line(monkeypatch):
    def load(*_, **__):
        raise DataError("first\n\n  second\r\nthird\n")

    monkeypatch.setattr("mase.models.load", load)
    found = CliRunner().invoke(main, ["explain", GOOD])
    assert found.stderr.splitlines() == ["mase: error: first second third"]


@pytest.mark.parametrize("verb", ["reproduce", "train"])
def test_a_verb_of_a_package_that_is_not_installed_says_which_brings_it(verb, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)  # entry points are read anew for another search path
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: EntryPoints(()))
    found = CliRunner().invoke(main, [verb, "--any", "thing"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"'mase {verb}'" in found.stderr
    assert "pip install mase-xai-paper" in found.stderr
    assert not re.search(rf"^  {verb}\b", CliRunner().invoke(main, ["--help"]).stdout, re.MULTILINE)


def test_the_help_tells_the_exit_codes():
    text = CliRunner().invoke(main, ["--help"]).stdout
    for code in (0, 1, 2, 130, 141, 143):
        assert re.search(rf"^ +{code} ", text, re.MULTILINE)

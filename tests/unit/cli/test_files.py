"""Tests of `mase.cli.files`."""

import os
import sys
from contextlib import contextmanager

import click
import pytest
from tests.unit.cli.runs import NUMBERED, finished, texts_in

from mase.cli import main


@contextmanager
def descriptor(number, file):
    """Put an open file in the place of a standard stream of this process."""
    name, kept = ("stdin", "stdout")[number], os.dup(number)
    os.dup2(file.fileno(), number)
    with pytest.MonkeyPatch.context() as patch, os.fdopen(os.dup(number), "r" if number == 0 else "w") as stream:
        patch.setattr(sys, name, stream)
        try:
            yield
        finally:
            os.dup2(kept, number)
            os.close(kept)


@pytest.mark.parametrize("policy", [[], ["--append"], ["--overwrite"]])
@pytest.mark.parametrize("option", ["-o", "--html"])
def test_no_link_leads_from_an_output_to_the_input(cli, source, tmp_path, option, policy):
    before = source.read_bytes()
    (tmp_path / "hard").hardlink_to(source)
    (tmp_path / "soft").symlink_to(source)
    results = [] if option == "-o" else ["-o", "out.jsonl"]
    for name in ("hard", "soft"):
        assert cli("-i", str(source), option, name, *results, *policy).exit_code == 2
        assert cli("-i", name, option, str(source), *results, *policy).exit_code == 2
    assert source.read_bytes() == before
    assert not (tmp_path / "out.jsonl").exists()


def test_two_outputs_are_two_files(cli, tmp_path):
    (tmp_path / "a").touch()
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    for first, second in (("a", "b"), ("new", "./new"), ("new.jsonl", "new.jsonl.draft")):
        assert cli("a good film", "-o", first, "--html", second).exit_code == 2


@pytest.mark.parametrize("policy", [[], ["--append"], ["--overwrite"]])
@pytest.mark.parametrize("given", [[], ["-i", "-"], ["-i", "/dev/stdin"], ["-i", "/dev/fd/0"]])
def test_standard_input_is_no_output(cli, source, given, policy):
    before = source.read_bytes()
    with source.open("rb") as file, descriptor(0, file), pytest.raises(click.UsageError):
        main(["explain", *given, "-o", str(source), *policy], standalone_mode=False)
    assert source.read_bytes() == before


@pytest.mark.parametrize("given", ["file", "stream"])
def test_standard_output_is_no_input(cli, source, given):
    before = source.read_bytes()
    arguments = ["-i", str(source)] if given == "file" else []
    with source.open("ab") as out, source.open("rb") as file, descriptor(0, file), descriptor(1, out):  # noqa: SIM117
        with pytest.raises(click.UsageError):
            main(["explain", "--json", *arguments], standalone_mode=False)
    assert source.read_bytes() == before


@pytest.mark.slow
def test_standard_output_is_no_other_output(cli, source, tmp_path):
    with (tmp_path / "out.jsonl").open("ab") as out:
        with descriptor(1, out), pytest.raises(click.UsageError):
            main(["explain", "-i", str(source), "--json", "-o", "out.jsonl"], standalone_mode=False)
        assert finished("-i", source, "-o", "/dev/stdout", stdout=out)[0] == 0  # nothing else goes there
    assert texts_in(tmp_path / "out.jsonl") == NUMBERED


def test_an_evaluation_is_no_table(run, table, tmp_path):
    found = run("-i", table(), "-o", "found.csv")
    assert found.exit_code == 2
    assert "found.csv" in found.stderr
    assert not (tmp_path / "found.csv").exists()

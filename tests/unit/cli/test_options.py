"""Tests of `mase.cli.options`."""

import pytest
from click.testing import CliRunner

from mase.cli import main
from mase.cli.evaluate import evaluate
from mase.cli.explain import explain
from mase.cli.options import comma_separated, names
from mase.defaults import MAX_NEW_TOKENS
from mase.metrics import METRICS
from mase.options import Stopping, Windows
from mase.sources.rows import DocumentColumns
from mase_corpora.cli import run


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a, b ,a,", ("a", "b")),
        ("a(x=1,y=2),b(z=3, w=4) ,c", ("a(x=1,y=2)", "b(z=3, w=4)", "c")),
        ("a+design=b(x=1,y=2)+n=5,c", ("a+design=b(x=1,y=2)+n=5", "c")),
        ("a(x=1,b", ("a(x=1", "b")),
        (" , ", ()),
        (None, None),
    ],
)
def test_a_comma_in_brackets_is_part_of_a_name(typed, expected):
    assert names(None, None, typed) == expected


def test_a_name_with_a_comma_is_quoted():
    assert comma_separated(None, None, 'a, "b, c",d=e') == ["a", "b, c", "d=e"]
    assert comma_separated(None, None, None) is None


@pytest.mark.parametrize(
    ("command", "option", "default"),
    [
        (explain, "max_new_tokens", MAX_NEW_TOKENS),
        (explain, "confidence", Stopping().confidence),
        (explain, "overlap", Windows().overlap),
        (explain, "pooling", Windows().pooling),
        (run, "text_column", DocumentColumns.of().text),
        (evaluate, "ks", ",".join(map(str, METRICS["delta-accuracy"]().ks))),
    ],
)
def test_the_help_names_the_default_that_an_option_has_if_it_is_left_out(command, option, default):
    (found,) = [one for one in command.params if one.name == option]
    assert f"[default: {default}]" in found.help


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("explain", "-i"), ("evaluate", "-i"), ("check", "-i"), ("explain", "--html"), ("cite", "--html"),
        ("evaluate", "-o"), ("evaluate", "--plot"), ("run", "-o"), ("summary", "--csv"), ("summary", "--parquet"),
        ("summary", "--html"),
    ],
)  # fmt: skip
def test_a_second_file_is_refused_and_not_taken_instead_of_the_first_one(command, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [command, "in", option, "a.svg", option, "b.svg"])
    assert result.exit_code == 2
    assert "got 2 files, expected one" in result.stderr
    assert not list(tmp_path.iterdir())

"""Tests of `mase.cli.source`."""

import pytest
from click.testing import CliRunner

from mase.cli import main


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("explain", "-i"), ("evaluate", "-i"), ("doctor", "-i"), ("explain", "--html"), ("cite", "--html"),
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

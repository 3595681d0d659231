"""Tests of `mase.cli.source`."""

import pytest
from click.testing import CliRunner

from mase.cli import main


@pytest.mark.parametrize("command", ["explain", "evaluate", "doctor"])
def test_a_second_file_is_refused_and_not_read_instead_of_the_first_one(command):
    result = CliRunner().invoke(main, [command, "-i", "a.csv", "-i", "b.csv"])
    assert result.exit_code == 2
    assert "got 2 files, expected one" in result.stderr

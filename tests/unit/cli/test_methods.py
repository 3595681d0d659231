"""Tests of `mase.cli.methods`."""

import re

from click.testing import CliRunner

import mase
from mase.cli import main


def test_methods():
    listed = CliRunner().invoke(main, ["methods"]).stdout
    for name, method in mase.METHODS.items():
        assert re.search(rf"^{name} +{re.escape(method.summary)}$", listed, re.MULTILINE)
    described = CliRunner().invoke(main, ["methods", "mase-paper"]).stdout
    assert re.search(
        r"space +token-scale \(reference zero, step relative\)\n +design +iid\n +estimator +moment", described
    )
    unknown = CliRunner().invoke(main, ["methods", "mase-papre"])
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert "did you mean 'mase-paper'" in unknown.stderr

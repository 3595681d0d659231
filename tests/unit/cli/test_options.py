"""Tests of `mase.cli.options`: the help names the defaults of the library."""

import inspect

import pytest

import mase
from mase.cli.cite import cite
from mase.cli.evaluate import evaluate
from mase.cli.explain import explain
from mase.cli.run import run
from mase.datasets.documents import DocumentColumns
from mase.metrics import METRICS
from mase.options import Windows


@pytest.mark.parametrize(
    ("command", "option", "default"),
    [
        (explain, "max_new_tokens", inspect.signature(mase.cite).parameters["max_new_tokens"].default),
        (explain, "confidence", mase.Stopping().confidence),
        (explain, "overlap", Windows().overlap),
        (explain, "pooling", Windows().pooling),
        (run, "text_column", DocumentColumns.of().text),
        (evaluate, "ks", ",".join(map(str, METRICS["delta-accuracy"]().ks))),
    ],
)
def test_the_help_names_the_default_that_an_option_has_if_it_is_left_out(command, option, default):
    (found,) = [one for one in command.params if one.name == option]
    assert f"[default: {default}]" in found.help


def test_an_answer_is_as_long_as_in_python():
    (found,) = [one for one in cite.params if one.name == "max_new_tokens"]
    assert found.default == inspect.signature(mase.cite).parameters["max_new_tokens"].default

"""Tests of `mase.models.bundled.configuration`."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.model_folders import CONTENTS

from mase.cli import main
from mase.errors import DataError
from mase.models import bundled, load


@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_width": -1, "rank": -1}, {"hidden_width": 10**12, "rank": 10**12}, {"hidden_width": 0, "rank": 0},
        {"embedding_width": "x", "alpha": "x"}, {"embedding_width": 2.5, "alpha": float("inf")}, {"labels": []},
        {"labels": [1, 2]}, {"labels": "no"}, {"labels": ["a", "a"]}, {"labels": [str(i) for i in range(100_001)]},
        {"max_length": -5}, {"max_length": 10**12}, {"max_length": True}, {"keep": "middle"}, {"keep": ["end"]},
        {"name": 5},
        {"pool": "best", "base": {"name": 5, "sha256": 5}}, {"pool": ["max"], "base": {"name": "../x", "sha256": "0"}},
        {"labels": ["a", "b", "c"]}, {"hidden_width": 1_000_000, "alpha": None},
    ],
)  # fmt: skip
def test_folders_of_ours_that_do_not_fit_are_refused(name, changes, tmp_path):
    place = Path(shutil.copytree(bundled.folder(name), tmp_path / "own"))
    config = json.loads((place / "config.json").read_text())
    if not changes.keys() & config.keys():
        pytest.skip("no such setting")
    (place / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(DataError):
        load(place)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["lstm-imdb", "bert-imdb"])
def test_damaged_configurations_of_ours_are_refused(name, content, tmp_path):
    place = Path(shutil.copytree(bundled.folder(name), tmp_path / "own"))
    (place / "config.json").write_bytes(content)
    with pytest.raises(DataError):
        load(place)
    found = CliRunner().invoke(main, ["models", str(place)])
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)

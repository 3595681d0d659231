"""Commands on a black box that takes the place of every model."""

import json

import pytest
from click.testing import CliRunner
from tests.labelled_texts import LABELS, TEXTS, predict
from tests.unit.cli.runs import FAST, NUMBERED

import mase
from mase.cli import main


@pytest.fixture
def mase_cli(monkeypatch):
    """Run `mase explain ...` on a black box that takes the place of every model."""
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: mase.models.Callable(predict, labels=["neg", "1"]))

    def run(*arguments, **settings):
        return CliRunner().invoke(main, ["explain", "--n-samples", "64", *arguments], **settings)

    return run


@pytest.fixture
def cli(monkeypatch, tmp_path):
    """Run `mase explain ...` in an empty folder, on a black box that takes the place of every model."""
    monkeypatch.chdir(tmp_path)
    model = mase.models.Callable(predict, labels=["neg", "pos"])
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: model)

    def run(*arguments, **settings):
        return CliRunner().invoke(main, ["explain", *FAST, "-q", *arguments], **settings)

    return run


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{text}\n" for text in NUMBERED))
    return path


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """The results of all texts, in one go, as `cli` writes them."""
    path = tmp_path_factory.mktemp("results") / "whole.jsonl"
    model = mase.models.Callable(predict, labels=["neg", "pos"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mase.models.open.load", lambda *_a, **_k: model)
        assert CliRunner().invoke(main, ["explain", *FAST, "-q", *NUMBERED, "-o", str(path)]).exit_code == 0
    return path.read_bytes()


@pytest.fixture
def whole(results, tmp_path):
    """A file with the results of all texts."""
    path = tmp_path / "whole.jsonl"
    path.write_bytes(results)
    return path


@pytest.fixture
def table(tmp_path):
    """Write texts with labels as JSON Lines."""

    def write(texts=TEXTS, labels=LABELS, name="texts.jsonl", **more):
        path = tmp_path / name
        rows = [{"text": text, "label": label} | more for text, label in zip(texts, labels, strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def run(monkeypatch):
    """Run `mase evaluate ...` on a black box that takes the place of every model."""
    monkeypatch.setattr(
        "mase.models.open.load", lambda *_a, **_k: mase.models.Callable(predict, labels=["neg", "pos"], name="box")
    )

    def run(*arguments):
        return CliRunner().invoke(
            main, ["evaluate", "--methods", "mase-mask", "--n-samples", "32", *map(str, arguments)]
        )

    return run

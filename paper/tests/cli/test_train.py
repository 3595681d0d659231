"""Tests of `mase_paper.cli.train`."""

import os
import signal

from click.testing import CliRunner

from mase.cli import main


def test_train(tmp_path, monkeypatch):
    from mase_paper.training.recipe import Epoch, Trained

    calls = []

    def train(name, data_dir, output, seed, epochs, progress, base):
        calls.append((name, data_dir, output, seed, epochs, base))
        progress(Epoch(1, 2, 0.51234, 0.801))
        return Trained(tmp_path, 0.8, 0.85, 2, 3.0)

    monkeypatch.setattr("mase_paper.training.train", train)
    found = CliRunner().invoke(
        main, ["train", "lstm-imdb", "--data-dir", "d", "-o", "out", "--seed", "4", "--epochs", "2", "--base", "b"]
    )
    assert calls == [("lstm-imdb", "d", "out", 4, 2, "b")]
    assert found.stdout == f"{tmp_path}\n"
    assert "epoch 1 of 2: loss 0.512, 80.1% correct on the validation part" in found.stderr
    assert "85.00% correct on the test split" in found.stderr
    monkeypatch.undo()
    assert "unknown recipe 'lstm-imbd'" in CliRunner().invoke(main, ["train", "lstm-imbd"]).stderr


def test_train_replaces_a_model_only_if_asked(tmp_path, monkeypatch):
    from mase_paper.training.recipe import Trained

    trained = []

    def train(name, data_dir, output, *_):
        trained.append(output)
        return Trained(tmp_path, 0.8, 0.85, 2, 3.0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase_paper.training.train", train)
    (tmp_path / "lstm-imdb").mkdir()
    (tmp_path / "lstm-imdb" / "checkpoint.pt").write_text("a training under way")
    assert CliRunner().invoke(main, ["train", "lstm-imdb"]).exit_code == 0
    (tmp_path / "lstm-imdb" / "model.safetensors").write_text("weights")
    for arguments in ([], ["-o", "lstm-imdb"]):
        found = CliRunner().invoke(main, ["train", "lstm-imdb", *arguments])
        assert (found.exit_code, "lstm-imdb" in found.stderr, "--overwrite" in found.stderr) == (1, True, True)
    assert CliRunner().invoke(main, ["train", "lstm-imdb", "-o", "lstm-imdb", "--overwrite"]).exit_code == 0
    assert trained == [None, "lstm-imdb"]


def test_sigterm_ends_a_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase_paper.training.train", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    found = CliRunner().invoke(main, ["train", "lstm-imdb"])
    assert (found.exit_code, found.stderr.count("\n")) == (143, 1)

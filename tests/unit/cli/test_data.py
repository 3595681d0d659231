"""Tests of `mase.cli.data`."""

from click.testing import CliRunner

from mase.cli import main


def test_data_list(tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(tmp_path))
    (tmp_path / "imdb.parquet").write_text("")
    listed = CliRunner().invoke(main, ["data", "list"]).stdout
    assert f"imdb     25,000 + 25,000 texts, 2 classes; {tmp_path / 'imdb.parquet'}\n" in listed


def test_data_get(tmp_path, monkeypatch):
    calls = []

    def get(name, cache, *, archive, progress):
        progress(1, None)
        progress(2, 2)
        calls.append((name, cache, archive))
        return tmp_path / "imdb.parquet"

    monkeypatch.setattr("mase.datasets.get", get)
    found = CliRunner().invoke(main, ["data", "get", "imdb", "-o", "here", "--archive", "there"])
    assert (found.stdout, found.stderr) == (f"{tmp_path / 'imdb.parquet'}\n", "")
    assert calls == [("imdb", "here", "there")]
    monkeypatch.undo()
    assert "unknown dataset 'imbd'" in CliRunner().invoke(main, ["data", "get", "imbd"]).stderr


def test_data_get_leaves_a_table_as_it_is(tmp_path):
    (tmp_path / "imdb.parquet").write_text("a table")
    found = CliRunner().invoke(main, ["data", "get", "imdb", "-o", str(tmp_path)])
    assert (found.exit_code, (tmp_path / "imdb.parquet").read_text()) == (0, "a table")

"""Tests of `mase.cli.spelling`: messages name the options that the user typed, and leave everything else as it is."""

import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.errors import DataError

GOOD = "a good film"


@pytest.fixture
def verbs(monkeypatch, tmp_path):
    """Run any verb in an empty folder, on a black box that takes the place of every model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "mase.models.load", lambda *_a, **_k: mase.models.Callable(lambda texts: [[0.5, 0.5]] * len(texts))
    )
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "shown", "hidden"),
    [
        (["explain", "-i", "a.csv", "--text-column", "review"], "--text-column", "text_column"),
        (["evaluate", "-i", "a.csv", "--text-column", "review"], "--text-column", "text_column"),
        (["evaluate", "-i", "a.csv", "--label-column", "stars"], "--label-column", "label_column"),
        (["explain", "one two three", "--method", "occlusion", "--n-samples", "2"], "--n-samples", "n_samples"),
        (["explain", "-i", "a.csv", "--fields=text,text"], "error: --fields", "error: fields"),
        (["explain", "-i", "a.csv", "--fields", "text,premise"], "with --fields", "with fields"),
        (["explain", "-i", "a.csv", "--fields", "text", "--fixed", "stars"], "row 1: --fixed", "row 1: fixed"),
        (["explain", GOOD, "--target", "0", "--against", "0"], "--target and --against are", "target and against are"),
        (["explain", GOOD, "--overlap", "0.1"], "--overlap", "error: overlap"),
        (["explain", GOOD, "--sigma", "0.3"], "--sigma", "error: sigma"),
        (["explain", GOOD, "--method", "random", "--tolerance", "0.3"], "--tolerance", "error: tolerance"),
        (["run", "a.csv", "-o", "run", "--shard", "5/4"], "--shard", "error: shard"),
        (["run", "a.csv", "-o", "run", "--text-column", "text", "--fields", "text"], "and --fields are", "and fields"),
        (["run", "a.txt", "-o", "run", "--where", "label=pos"], "--where", "where="),
        (["evaluate", "-i", "a.csv", "-m", "a.py:f", "--methods", "gradient"], "use --methods mase", "method="),
        (["compare", "run", "run", "--rate", "nan"], "--rate", "error: rate"),
    ],
)
def test_messages_name_options_as_they_are_typed(verbs, tmp_path, arguments, shown, hidden):
    (tmp_path / "a.csv").write_text("text,label\ngood film,pos\n")
    (tmp_path / "a.txt").write_text("good film\n")
    (tmp_path / "a.py").write_text("def f(texts):\n    return [[0.5, 0.5]] * len(texts)\n")
    found = verbs(*arguments)
    assert found.exit_code == 1
    assert shown in found.stderr
    assert hidden not in found.stderr


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("expected it; use method='mase-nlgp'", "expected it; use --method mase-nlgp"),
        ("use n_samples='8' or target='very bad'", "use --n-samples 8 or --target 'very bad'"),
        ('use method="mase", n_samples is 8', "use --method mase, --n-samples is 8"),
        (
            "pass append=True or multilabel=True, or trust_remote_code=True",
            "pass --append or multilabel=True, or --trust-remote-code",
        ),
        ("space='token-scale' is no option", "space='token-scale' is no option"),
        ("return logits (outputs='logits')", "return logits (outputs='logits')"),
        ("run f('x', method='mase', n_samples=8)", "run f('x', method='mase', n_samples=8)"),
        ("got \"method='mase'\"", "got \"method='mase'\""),
        ("name them with fields=[...]; got background={'a': 1}", "name them with --fields; got --background"),
        (
            "labels=['a'] and outputs=['b'] are settings of a model",
            "labels=['a'] and outputs=['b'] are settings of a model",
        ),
    ],
)
def test_settings_in_messages_are_spelled_as_options(monkeypatch, message, shown):
    def load(*_, **__):
        raise DataError(message)

    monkeypatch.setattr("mase.models.load", load)
    assert CliRunner().invoke(main, ["explain", GOOD]).stderr == f"mase: error: {shown}\n"


def test_an_option_that_a_method_lacks_names_the_method_that_has_it(verbs):
    found = verbs("explain", GOOD, "--method", "mase", "--sigma", "0.3")
    assert found.exit_code == 1
    assert "--method mase-nlgp" in found.stderr
    assert "method='" not in found.stderr


def test_what_the_user_named_is_shown_as_it_is(verbs, tmp_path):
    (tmp_path / "a.csv").write_text("n_samples,label\na,b\n")
    assert "'n_samples'" in verbs("explain", "-i", "a.csv").stderr
    assert "'text_column.csv'" in verbs("explain", "-i", "text_column.csv").stderr


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("target and seed are both 1", "--target and --seed are both 1"),
        ("target and sigma are both 1", "--target and --sigma are both 1"),
        ("text 3: target has no class", "text 3: --target has no class"),
        ("text 3, id 'a': OptionError: seed is 1", "text 3, id 'a': OptionError: --seed is 1"),
        ("sigma is 1", "sigma is 1"),  # it was not typed
        ("the target is 1, and seed is 2", "the target is 1, and seed is 2"),
        ("target pos has no such class", "target pos has no such class"),
        ("'row: target is 1'", "'row: target is 1'"),
        ("cannot read 'a: seed is 1'", "cannot read 'a: seed is 1'"),
        ("cannot read 'my n_samples of.csv'; n_samples is 1", "cannot read 'my n_samples of.csv'; --n-samples is 1"),
        ('text "the film\'s n_samples of" is cut', 'text "the film\'s n_samples of" is cut'),
        ("text 'the film\\'s n_samples of' is cut", "text 'the film\\'s n_samples of' is cut"),
        ("text 'it goes on, expected seed='1'", "text 'it goes on, expected --seed 1"),  # the quote was cut off
        ("a.py:f raised ValueError: seed is 1, not n_samples", "a.py:f raised ValueError: seed is 1, not n_samples"),
    ],
)
def test_a_word_is_an_option_only_where_it_was_typed_and_a_message_is_about_it(monkeypatch, message, shown):
    def load(*_, **__):
        raise DataError(message)

    monkeypatch.setattr("mase.models.load", load)
    found = CliRunner().invoke(main, ["explain", GOOD, "--target", "pos", "--seed=1"])
    assert found.stderr == f"mase: error: {shown}\n"


@pytest.mark.parametrize("typed", [["-m", "here"], ["-mhere"], ["--model", "here"], ["--model=here"]], ids=" ".join)
def test_each_way_to_type_an_option_counts(monkeypatch, typed):
    def load(*_, **__):
        raise DataError("model is no model")

    monkeypatch.setattr("mase.models.load", load)
    assert CliRunner().invoke(main, ["explain", GOOD]).stderr == "mase: error: model is no model\n"
    assert CliRunner().invoke(main, ["explain", GOOD, *typed]).stderr == "mase: error: --model is no model\n"


def test_messages_of_a_subcommand_of_a_subcommand_name_its_options(monkeypatch):
    def get(*_, **__):
        raise DataError("archive is no file; pass archive='path/to/it'")

    monkeypatch.setattr("mase.datasets.get", get)
    found = CliRunner().invoke(main, ["data", "get", "imdb", "--archive", "a.tar.gz"])
    assert found.stderr == "mase: error: --archive is no file; pass --archive path/to/it\n"


def test_notes_on_the_screen_name_options_and_those_in_files_parameters(tmp_path):
    """Files are read elsewhere."""
    arguments = ["explain", "a b c d e f g bad film", "--n-samples", "50", "--tolerance", "1e-9", "--evidence", "0"]
    found = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "a.json"), "-o", str(tmp_path / "a.txt")])
    assert "a larger --n-samples" in " ".join(found.stdout.split())
    for name in ("a.json", "a.txt"):
        assert "a larger n_samples" in " ".join((tmp_path / name).read_text().split())

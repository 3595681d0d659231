"""Tests of `mase.cli.chat`: `mase explain --chat`, `mase cite --chat` and `mase check` of a chat server."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.chat_server import ROUTE, chat_served, look_up

from mase.cli import main

TALK = [
    {"role": "user", "content": "Ada sings. Cleo swims."},
    {"role": "assistant", "content": "I see."},
    {"role": "user", "content": "What does Cleo do?"},
]


MESSAGES = ["--messages", "chat.json"]


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.json").write_text(json.dumps(TALK))
    (tmp_path / "a.txt").write_text("Ada sings. Ben cooks. Cleo swims.")
    (tmp_path / "reviews.csv").write_text("text\nA superb cast.\nA dull plot.\n")

    def run(*arguments, code=0):
        found = CliRunner().invoke(main, list(map(str, arguments)))
        assert found.exit_code == code, found.output
        return found

    return run


def sentiment(messages):
    return "positive" if "superb" in messages[-1]["content"] else "negative"


def test_a_conversation_is_cited(command):
    with chat_served() as (url, double):
        found = command("cite", "--chat", "--server", url, "--messages", "chat.json", "--json")
        result = json.loads(found.stdout)
        assert result["answer"]["text"] == "Cleo swims."
        assert result["model"]["name"] == "look-up"
        assert "at most" in found.stderr
        assert "requests" in found.stderr
        assert len(double.asked(ROUTE)) == result["fit"]["n_queries"]


def test_a_context_is_cited_by_another_measure(command):
    with chat_served() as (url, _):
        given = ["--context", "a.txt", "--query", "What does Ben do?", "--measure", "exact"]
        found = command("cite", "--chat", "--server", url, "-m", "look-up", *given)
        assert "[1] Ben cooks." in found.stdout


@pytest.mark.parametrize(("rule", "most"), [((), 35), (("--stable-top", 1), 128)])
def test_the_most_requests_are_told_before_the_first(command, rule, most):
    with chat_served() as (url, _):
        assert (
            f"at most {most} requests"
            in command("cite", "--chat", "--server", url, "--messages", "chat.json", *rule).stderr
        )


def test_the_answers_are_beside_the_output_and_asked_for_once(command, tmp_path):
    with chat_served() as (url, double):
        given = ["cite", "--chat", "--server", url, "--messages", "chat.json", "-o", "x.json", "-q"]
        command(*given)
        n = len(double.asked(ROUTE))
        assert len((tmp_path / "x.json.answers.jsonl").read_text().splitlines()) == n
        command(*given, "--overwrite")
        command(*given[:-3], "--archive", "x.json.answers.jsonl", "--measure", "exact")
        assert len(double.asked(ROUTE)) == n


def test_texts_are_classified_by_a_prompt(command):
    with chat_served(sentiment) as (url, double):
        given = ["--labels", "positive,negative", "--prompt", "Sentiment? {text}", "--max-new-tokens", 3]
        command("explain", "--chat", "--server", url, *given, "-i", "reviews.csv", "-o", "x.jsonl", "-q")
        results = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
        assert [one["prediction"]["label"] for one in results] == ["positive", "negative"]
        assert double.asked(ROUTE)[0]["max_tokens"] == 3
        assert double.asked(ROUTE)[0]["messages"] == [{"role": "user", "content": "Sentiment? A superb cast."}]


@pytest.mark.filterwarnings("ignore:the model 'look-up' has no checksum")
def test_a_run_goes_on(command):
    with chat_served(sentiment) as (url, double):
        given = ["--labels", "positive,negative", "-i", "reviews.csv", "-o", "x.jsonl", "-q"]
        command("explain", "--chat", "--server", url, *given)
        n = len(double.asked(ROUTE))
        lines = Path("x.jsonl").read_text().splitlines(keepends=True)
        Path("x.jsonl").write_text(lines[0])
        command("explain", "--chat", "--server", url, *given, "--append")
        again = Path("x.jsonl").read_text().splitlines(keepends=True)
        assert (again[0], len(again)) == (lines[0], 2)
        assert len(double.asked(ROUTE)) == n


def test_a_function_from_messages_is_asked(command, tmp_path):
    (tmp_path / "mine.py").write_text("def call(messages):\n    return 'yes' if 'good' in str(messages) else 'no'\n")
    found = command("explain", "--chat", "-m", "mine.py:call", "--labels", "yes,no", "--json", "A good idea.")
    assert json.loads(found.stdout)["prediction"]["label"] == "yes"
    command("cite", "--chat", "-m", "mine.py:call", "--messages", "chat.json")


def test_limits_and_keys_are_passed_on(command, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-of-mine-12345")
    with chat_served() as (url, double):
        given = ["--token-env", "MY_KEY", "--temperature", 0.5, "--concurrency", 2, "--prices", "1,2"]
        found = command("cite", "--chat", "--server", url, "--messages", "chat.json", *given, "--max-cost", 1)
        assert double.requests[-1][1]["Authorization"] == "Bearer sk-of-mine-12345"
        assert double.asked(ROUTE)[0]["temperature"] == 0.5
        assert double.most_at_once <= 2
        assert "prices" in found.stderr
        spent = command("cite", "--chat", "--server", url, "--messages", "chat.json", "--max-total-tokens", 5, code=1)
        assert "--max-total-tokens" in spent.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cite", "--context", "a.txt", "--measure", "exact"], "--measure without --chat"),
        (["explain", "--labels", "a,b", "x"], "--labels without --chat"),
        (["cite", "--chat", "-m", "name", "--messages", "chat.json"], "--chat without --server"),
        (["cite", "-m", "name"], "Missing option '--context'"),
        (["cite", "--chat", "--server", "http://127.0.0.1:9", "--messages", "a.txt"], "JSON list of messages"),
        (["explain", "--chat", "-m", "x.py:f", "--temperature", "0", "x"], "--temperature with code"),
        (
            ["cite", "--chat", "--server", "http://x", "-m", "x", "--prices", "1,1", "--max-cost", "0", *MESSAGES],
            "is 0.0",
        ),
        (["cite", "--chat", "--prices", "1", "--messages", "chat.json"], "expected IN,OUT"),
    ],
)
def test_wrong_options_are_told(command, arguments, message):
    found = command(*arguments, code=1 if "JSON" in message or "is 0.0" in message else 2)
    assert message in " ".join(found.stderr.split())


def test_doctor_says_what_an_address_can(command):
    with chat_served() as (url, _):
        found = command("check", "--server", url).stdout
        assert "answers only, no log-probabilities" in found
        assert "--chat" in found
    with chat_served(lambda messages: "yes") as (url, _):
        assert "“yes”" in json.loads(command("check", "--server", url, "--json").stdout)["answers"]


def test_a_server_that_only_chats_is_pointed_to_the_way(command):
    with chat_served(lambda messages: "yes") as (url, _):
        found = command("cite", "--server", url, "--context", "a.txt", code=1)
        assert "--chat" in found.stderr
    assert look_up(TALK) == "Cleo swims."


@pytest.mark.parametrize("method", ["mase", "mase-chat+n_samples=60"])
def test_the_price_is_that_of_the_method(command, method):
    Path("mine.py").write_text("def call(messages):\n    return 'Cleo' if 'Cleo swims' in str(messages) else 'none'\n")
    found = command("cite", "--chat", "-m", "mine.py:call", *MESSAGES, "--method", method, "--json")
    most = int(re.search(r"at most ([0-9]+) requests", found.stderr)[1])
    assert json.loads(found.stdout)["fit"]["n_queries"] <= most


def test_an_archive_of_the_code_is_used(command, tmp_path):
    code = "from mase.models import Chat\nchat = Chat(lambda messages: 'Cleo', archive='own', varies=False)\n"
    Path("mine.py").write_text(code)
    command("cite", "--chat", "-m", "mine.py:chat", *MESSAGES, "-o", "x.json", "-q")
    assert Path("own").stat().st_size
    assert not Path("x.json.answers.jsonl").exists()
    command("cite", "--chat", "-m", "mine.py:chat", *MESSAGES, "--archive", "other", code=2)


@pytest.mark.parametrize("option", [("--device", "cpu"), ("--download",), ("--max-new-tokens", 1)])
def test_what_does_not_apply_to_a_function_is_refused(command, option):
    Path("mine.py").write_text("def call(messages):\n    return 'Cleo'\n")
    assert option[0] in command("cite", "--chat", "-m", "mine.py:call", *MESSAGES, *option, code=2).stderr
    given = ["--labels", "a,b", "a film"]
    assert option[0] in command("explain", "--chat", "-m", "mine.py:call", *option, *given, code=2).stderr


def test_results_of_another_function_are_not_continued(command):
    text = "def ask(messages):\n    return 'positive' if 'good' in messages[-1]['content'] else 'negative'\n"
    Path("mine.py").write_text(text)
    given = ["explain", "--chat", "-m", "mine.py:ask", "--labels", "positive,negative", "-i", "reviews.csv", "-q"]
    command(*given, "-o", "x.jsonl")
    Path("mine.py").write_text(text.replace("good", "superb"))
    Path("x.jsonl.answers.jsonl").unlink()
    assert "code" in command(*given, "-o", "x.jsonl", "--append", code=1).stderr

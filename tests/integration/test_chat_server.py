"""Chat models that only answer, against `transformers serve` with SmolLM2-135M-Instruct: a server that is no double.

`make serving` installs what it needs.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.models import Chat

demo = pytest.importorskip("tools.chat_demo", reason="the tools are in the repository only")
ROOT = Path(__file__).parents[2]
CONTEXT = [(ROOT / "examples" / "sources" / f"{name}.txt").read_text("utf-8") for name in ("museum", "ferry")]
QUERY = "Where is the museum?"
N_TOKENS = 16


@pytest.fixture(scope="module")
def model():
    """The folder of the model."""
    datasets = pytest.importorskip("mase_paper.datasets", reason="the sister package is not installed")
    serving = pytest.importorskip("transformers.utils.import_utils", reason="transformers is not installed")
    if not serving.is_serve_available():
        pytest.skip("transformers[serving] is not installed; make serving")
    made = datasets.cache_folder() / "smollm2-135m-instruct"
    if not made.exists():
        pytest.skip("SmolLM2-135M-Instruct is not in the cache; make serving")
    return made


@pytest.fixture(scope="module")
def url(model):
    with demo.chat_server(model) as found:
        yield found


def test_an_answer_is_cited_and_the_note_counts_every_request(url, model, tmp_path):
    chat = Chat.openai(url, str(model), max_tokens=N_TOKENS, timeout=300, concurrency=2)
    found = mase.cite(chat, context=CONTEXT, query=QUERY, units="document")
    assert chat.n_sent == chat.bill.requests == found.fit.n_queries
    assert not chat.bill.estimated  # the server counts tokens
    (note,) = (one for one in found.notes if one.code == "requests")
    assert str(chat.bill) in note.message
    found.save(tmp_path / "found.json")
    assert mase.load(tmp_path / "found.json").to_dict() == found.to_dict()


def test_conversations_of_all_roles_are_answered(url, model):
    chat = Chat.openai(url, str(model), max_tokens=4, timeout=300)
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": text} for text in CONTEXT]},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": QUERY},
    ]
    reply = chat.reply(messages)
    assert reply.text
    assert reply.ended == "length"
    assert chat.reply(messages, repeat=1).text == reply.text  # at temperature 0


def test_commands_ask_it(url, model):
    checked = CliRunner().invoke(main, ["check", "--server", url, "-m", str(model), "--json"])
    assert "answers only" in json.loads(checked.stdout)["gives"]

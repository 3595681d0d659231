"""Tests of `mase.models.chat.chat`."""

import asyncio
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial

import pytest

from mase.errors import BudgetSpentError, InvalidTextError, LockedError, ModelError, OptionError
from mase.models import Chat
from mase.models.chat.archive import Reply
from mase.models.chat.chat import conversation


def asked(*texts):
    return [([{"role": "user", "content": text}], 0) for text in texts]


class Double:
    """A chat model that counts what it is asked."""

    def __init__(self, seconds=0.0):
        self.seen, self.seconds, self.now, self.most, self.lock = [], seconds, 0, 0, threading.Lock()

    def __call__(self, messages):
        with self.lock:
            self.seen.append(messages[-1]["content"])
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.seconds)
        with self.lock:
            self.now -= 1
        return messages[-1]["content"].upper()


def shout(messages):
    return messages[-1]["content"].upper()


def test_an_answer_is_asked_for_once():
    double = Double()
    chat = Chat(double)
    assert [reply.text for reply in chat.replies(asked("a", "b", "a"))] == ["A", "B", "A"]
    assert chat.reply([{"role": "user", "content": "b"}]).text == "B"
    assert sorted(double.seen) == ["a", "b"]
    assert chat.n_sent == chat.bill.requests == 2
    chat.reply([{"role": "user", "content": "b"}], repeat=1)
    assert len(double.seen) == 3


def test_an_async_function_is_awaited_side_by_side():
    started = []

    async def call(messages):
        started.append(asyncio.get_running_loop())
        while len(started) < 8:  # which would never end if one waited for the other
            await asyncio.sleep(0.001)
        return messages[-1]["content"] + "!"

    replies = Chat(call, concurrency=8).replies(asked(*map(str, range(8))))
    assert [reply.text for reply in replies] == [f"{i}!" for i in range(8)]
    assert len(set(map(id, started))) == 1  # a client that is shared belongs to one loop


def test_no_more_requests_than_allowed_are_under_way():
    double = Double(0.01)
    Chat(double, concurrency=3).replies(asked(*map(str, range(12))))
    assert double.most == 3


def test_the_caller_cannot_change_what_is_asked():
    def call(messages):
        messages[0]["content"] = "changed"
        return "x"

    given = [{"role": "user", "content": "a"}]
    Chat(call).reply(given)
    assert given == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize("answer", [None, 3, ["a"], b"a"])
def test_a_function_has_to_return_text(answer):
    with pytest.raises(ModelError, match="expected the text"):
        Chat(lambda messages: answer).reply([{"role": "user", "content": "a"}])


def test_what_a_function_raises_is_told_and_the_rest_is_kept(tmp_path):
    def call(messages):
        if messages[-1]["content"] == "c":
            raise KeyError("quota")
        return "x"

    chat = Chat(call, name="mine", archive=tmp_path / "a.jsonl", concurrency=1)
    with pytest.raises(ModelError, match=r"mine raised KeyError: 'quota', expected a text"):
        chat.replies(asked("a", "b", "c", "d"))
    chat.close()
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == chat.bill.requests >= 2


def test_an_archive_is_asked_before_the_model(tmp_path):
    first, second = Double(), Double()
    chat = Chat(first, name="m", archive=tmp_path / "a.jsonl")
    chat.replies(asked("a", "b"))
    with pytest.raises(LockedError, match="one writer"):
        Chat(second, name="m", archive=tmp_path / "a.jsonl").replies(asked("a"))
    chat.close()
    again = Chat(second, name="m", archive=tmp_path / "a.jsonl")
    assert [reply.text for reply in again.replies(asked("a", "b", "c"))] == ["A", "B", "C"]
    assert second.seen == ["c"]
    assert (again.n_sent, again.bill.requests) == (1, 3)
    again.close()
    other = Chat(second, name="another", archive=tmp_path / "a.jsonl")
    other.replies(asked("a"))
    assert second.seen == ["c", "a"]


# Forks a process for each line that it reads, which imports are too slow for.
KILLED = """
import os, sys, time, threading
from mase.models import Chat
archive, log = sys.argv[1:]
def call(messages):
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, messages[-1]["content"].encode() + b"\\n")
    os.close(descriptor)
    time.sleep(.004)
    return messages[-1]["content"] * 40
for _ in sys.stdin:
    pid = os.fork()
    if not pid:
        chat = Chat(call, name="m", archive=archive, concurrency=4)
        chat.replies([([{"role": "user", "content": str(i)}], 0) for i in range(60)])
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


MOOD = "calm"


def moody(messages):
    return MOOD


def counted(messages, *, mark="!"):
    global N
    N += 1
    return f"{tail()}{mark}"


N = 0


def tail():
    return "end"


SETTINGS = {"stop": ["."]}


def settled(messages):
    return str(SETTINGS)


class Warm:
    def __init__(self, temperature):
        self.options = {"temperature": temperature}

    def answer(self, messages):
        return str(self.options)


def warm(messages, options):
    return str(options)


@pytest.mark.parametrize("changed", ["MOOD", "tail", "default", "closure", "object", "list", "number", "fixed", "none"])
def test_a_function_that_was_changed_is_asked_again(tmp_path, monkeypatch, changed):
    suffix = "?"

    class Answering:
        def __init__(self, text):
            self.text = text

        def answer(self, messages):
            return self.text + suffix

    functions = {"MOOD": moody, "object": Answering("one").answer, "closure": lambda messages: suffix, "list": settled}
    functions |= {"number": Warm(0).answer, "fixed": partial(warm, options={"temperature": 0})}
    sent = []
    for turn in range(2):
        chat = Chat(functions.get(changed, counted), name="m", archive=tmp_path / "a")
        chat.replies(asked("a", "b"))
        sent.append(chat.n_sent)
        chat.close()
        if changed == "MOOD":
            monkeypatch.setitem(globals(), "MOOD", "angry")
        elif changed == "tail":
            monkeypatch.setitem(globals(), "tail", lambda: "other")
        elif changed == "default":
            monkeypatch.setitem(counted.__kwdefaults__, "mark", "?")
        elif changed == "closure":
            suffix = f"{turn}"
        elif changed == "object":
            functions["object"] = Answering("two").answer
        elif changed == "list":
            monkeypatch.setitem(SETTINGS, "stop", ["!"])
        else:
            functions |= {"number": Warm(1).answer, "fixed": partial(warm, options={"temperature": 1})}
    assert sent == [2, 0 if changed == "none" else 2]


def test_an_archive_for_one_call_shares_the_bill_and_the_answers(tmp_path):
    double = Double()
    chat = Chat(double, max_total_tokens=200)
    chat.replies(asked("a" * 40))
    archived = chat.archived(tmp_path / "a")
    archived.replies(asked("a" * 40, "b" * 40))
    assert len(double.seen) == chat.n_sent == chat.bill.requests == 2
    assert len((tmp_path / "a").read_text().splitlines()) == 2  # what was answered before is kept, too
    with pytest.raises(BudgetSpentError, match="max_total_tokens=200"):
        archived.replies(asked(*(f"{i:040}" for i in range(20))))
    archived.close()


def test_an_interruption_does_not_wait_for_answers():
    under_way, ended = threading.Event(), threading.Event()

    def call(messages):
        under_way.set()
        ended.wait(60)
        return "late"

    def interrupt():
        under_way.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        Chat(call).replies(asked("a", "b"))
    assert not ended.is_set()
    ended.set()


def test_an_answer_is_text_that_files_can_hold():
    assert Chat(lambda messages: "caf\udce9").reply([{"role": "user", "content": "a"}]).text == "caf\ufffd"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_nothing_in_the_archive_is_asked_again(tmp_path):
    """Thirty runs are killed at random moments, the later ones where the earlier left off."""
    archive, log, rng = tmp_path / "a.jsonl", tmp_path / "log", random.Random(0)
    command = [sys.executable, "-c", KILLED, archive, log]
    n_kills = n_runs = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
        while n_kills < 30:
            forks.stdin.write("\n")
            forks.stdin.flush()
            pid = int(forks.stdout.readline())
            time.sleep(rng.uniform(0, 0.03))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            was_killed = int(forks.stdout.readline()) == signal.SIGKILL
            n_kills, n_runs = n_kills + was_killed, n_runs + 1
            lines = archive.read_bytes().split(b"\n")[:-1] if archive.exists() else []
            texts = [json.loads(line)["messages"][0]["content"] for line in lines]
            assert len(texts) == len(set(texts)), "an answer in the archive was asked for again"
            n_asked = len(log.read_text().splitlines()) if log.exists() else 0
            assert n_asked - len(texts) <= 4 * n_runs, "more was lost than was under way"
            if not was_killed:
                assert len(texts) == 60
                archive.unlink()
                log.unlink()
                n_runs = 0
        forks.stdin.close()
    chat = Chat(lambda messages: messages[-1]["content"] * 40, name="m", archive=archive)
    assert [reply.text for reply in chat.replies(asked(*map(str, range(60))))] == [str(i) * 40 for i in range(60)]


def test_prices_and_tokens_are_added_up():
    chat = Chat(lambda messages: Reply("x", 1000, 100), prices=(2.0, 10.0))
    chat.replies(asked("a", "b"))
    bill = chat.bill
    assert (bill.requests, bill.prompt_tokens, bill.completion_tokens, bill.estimated) == (2, 2000, 200, False)
    assert bill.cost == pytest.approx((2000 * 2 + 200 * 10) / 1e6)
    assert str(bill) == "2 requests, 2,200 tokens, 0.006 in the unit of the prices"


def test_tokens_that_nobody_counts_are_estimated():
    chat = Chat(lambda messages: "abcdefgh")
    chat.reply([{"role": "user", "content": "x" * 400}])
    assert (chat.bill.prompt_tokens, chat.bill.completion_tokens, chat.bill.estimated) == (100, 2, True)
    assert str(chat.bill) == "1 request, about 102 tokens"


def test_the_cost_is_known_before_the_first_request():
    double = Double()
    chat = Chat(double, prices=(1.0, 1.0))
    bill = chat.estimate([{"role": "user", "content": "x" * 400}], 10)
    assert (bill.requests, bill.prompt_tokens) == (10, 1000)
    assert bill.cost == pytest.approx(bill.tokens / 1e6)
    assert not double.seen


@pytest.mark.parametrize(
    "limit", [{"max_total_tokens": 2500}, {"max_cost": 0.0025, "prices": (1.0, 1.0)}], ids=["tokens", "cost"]
)
def test_a_limit_ends_before_it_is_exceeded(limit):
    chat = Chat(lambda messages: Reply("x", 900, 100), **limit)
    chat.replies(asked("a"))
    chat.replies(asked("b"))
    with pytest.raises(BudgetSpentError, match=r"2 requests, 2,000 tokens.* raise the limit"):
        chat.replies(asked(*map(str, range(8))))
    assert chat.bill.tokens == 2000
    assert chat.reply([{"role": "user", "content": "a"}]).text == "x"  # what was paid for stays


def test_a_second_run_ends_where_the_first_did(tmp_path):
    def run():
        chat = Chat(lambda messages: Reply("x", 900, 100), name="m", archive=tmp_path / "a", max_total_tokens=3500)
        n = 0
        try:
            for i in range(10):
                chat.replies(asked(str(i)))
                n += 1
        except BudgetSpentError:
            chat.close()
            return n, chat.bill
        raise AssertionError

    assert run() == run()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"prices": (1,)}, "prices"),
        ({"prices": (1, -1)}, "prices"),
        ({"max_cost": 1.0}, "prices None"),
        ({"max_cost": -1.0, "prices": (1, 1)}, "max_cost"),
        ({"max_total_tokens": 0}, "max_total_tokens"),
        ({"labels": ["yes"]}, "labels"),
        ({"prompt": "{text}"}, "without labels"),
    ],
)
def test_options_are_checked(options, named):
    with pytest.raises(OptionError, match=named):
        Chat(shout, **options)


def test_what_is_called_has_to_be_a_function():
    with pytest.raises(OptionError, match=r"Chat\.openai"):
        Chat("http://localhost:8000")


def test_messages_may_have_text_parts():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert conversation([{"role": "user", "content": parts}]) == [{"role": "user", "content": "a\n\nb"}]
    with pytest.raises(InvalidTextError, match="messages is"):
        conversation({"role": "user", "content": "a"})


def test_a_model_can_be_sent_to_another_process():
    chat = Chat(shout, labels=["yes", "no"], max_total_tokens=1000)
    chat.reply([{"role": "user", "content": "a"}])
    again = pickle.loads(pickle.dumps(chat))
    assert (again.name, again.labels, again.bill.requests) == ("shout", ("yes", "no"), 0)
    assert again.reader("Yes.") == "yes"

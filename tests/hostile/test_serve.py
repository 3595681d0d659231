"""A server of explanations: markup, foreign pages, crowds of clients, and models that fail in every way."""

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psutil
import pytest

pytest.importorskip("uvicorn")

import mase
from tests.hostile.payloads import PAYLOADS
from tests.serve.clients import JUDGE, MODELS, TEXT, bearer, browser, events, explain, last, predict, wait
from tests.serve.test_app_starlette import Elements


@contextmanager
def served(*arguments):
    """Yield a client of a command that runs, with the token, and the process."""
    command = [sys.executable, "-m", "mase", "serve", "--no-browser", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            own, _, token = address.partition("/?token=")
            headers, limits = {"Origin": own} | bearer(token), httpx.Limits(max_connections=200)
            with httpx.Client(base_url=own, headers=headers, timeout=120, limits=limits) as client:
                yield client, process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def client():
    with browser(JUDGE) as client:
        wait(client, JUDGE)
        yield client


@pytest.mark.parametrize(
    "share", [pytest.param(slice(0, 400, 40)), pytest.param(slice(0, 400), marks=pytest.mark.hostile)]
)
def test_markup_in_texts_stays_text(client, judge, share):
    known = Elements(last(client, explain(client))[1]["html"]).found | {"s", "i"}

    def verdict(payload):
        name = explain(client, text=f"good {payload} bad", method="occlusion", evidence=0)
        event, data = last(client, name)
        if event != "done":
            return f"{event}: {data}"
        more = Elements(data["html"]).found - known
        if more:
            return f"became the elements {more}"
        page = client.get(f"/api/explanations/{name}/page").text
        return "a script in the page" if "<script" in page.lower() else None

    judge((payload, verdict(payload)) for payload in PAYLOADS[share])


@pytest.mark.hostile
def test_markup_in_labels_and_names_of_models_stays_text(judge, tmp_path):
    """Labels come from models, names from the command line: both are in the page, in the choices and in articles."""
    code = f"from mase.models import Callable\nPAYLOADS = {PAYLOADS!r}\n" + (
        "def __getattr__(name):\n"
        "    label = PAYLOADS[int(name.removeprefix('m'))]\n"
        "    return Callable(lambda texts: [[0.4, 0.6] for _ in texts], labels=['neg', label or 'pos'])\n"
    )
    path = tmp_path / "labels.py"
    path.write_text(code)

    def verdict(number):
        name = f"{path}:m{number}"
        with browser(name) as client:
            wait(client, name)
            page = client.get("/api/workbench").text
            if page.lower().count("<script") != 3:  # two files, and the choices
                return "a script in the page"
            event, data = last(client, explain(client, name, method="occlusion", evidence=0))
            if event != "done":
                return f"{event}: {data}"
            if data["attribution"]["prediction"]["label"] != PAYLOADS[number]:
                return "another label"
            Elements(data["html"])
        return None

    judge((PAYLOADS[number], verdict(number)) for number in range(0, len(PAYLOADS), 4))


ENDS = {
    "it raises": ("failed", "ModelError", "gave up"),
    "it exits": ("failed", "WorkerError", "exit code 3"),
    "it is out of memory": ("failed", "ModelError", "memory"),
}


@pytest.mark.hostile
def test_a_server_goes_on_whatever_a_model_does(judge):
    """Each way to fail costs one answer, whose message is true; the same server then explains as before."""
    with served("-m", JUDGE) as (client, process):
        wait(client, JUDGE)
        expected = mase.Explainer(mase.models.user_code.open_code(JUDGE), n_samples=60, evidence=5)(TEXT)

        def verdict(text):
            found = events(client, explain(client, text=text))[-1]
            event, error, part = ENDS[text]
            if (found[0], found[1].get("type")) != (event, error) or part not in found[1]["message"]:
                return f"got {found}"
            after = last(client, explain(client))
            scores = after[1]["attribution"]["responses"][0]["scores"]
            return None if scores == list(expected.scores) else f"other scores after it: {after}"

        judge((f"{number}: {text}", verdict(text)) for number in range(5) for text in ENDS)
        hanging = explain(client, text="it hangs")
        time.sleep(0.5)
        begun = time.monotonic()
        assert client.delete(f"/api/explanations/{hanging}").status_code == 204
        assert last(client, hanging)[0] == "cancelled"
        assert predict(client).status_code == 200
        assert time.monotonic() - begun < 30
        assert process.poll() is None


OPENINGS = ("broken", "deadly", "nothing")


@pytest.mark.hostile
def test_models_that_cannot_be_opened_do_not_hinder_others(judge):
    names = [f"{MODELS}:{name}" for name in OPENINGS] + ["no-such-model", "/", "\x00", "owner/name", "x" * 5000]
    with served(*[part for name in (JUDGE, *names) if "\x00" not in name for part in ("-m", name)]) as (client, _):
        wait(client, JUDGE)

        def verdict(name):
            found = wait(client, name, "failed")
            answer = predict(client, name)
            refused = answer.status_code == 500 and found["message"] in answer.json()["error"]["message"]
            return None if found["message"] and refused else f"{found} {answer.text}"

        judge((name, verdict(name)) for name in names if "\x00" not in name)
        assert predict(client).status_code == 200


@pytest.mark.hostile
def test_a_process_that_is_killed_while_it_waits_is_started_again():
    with served("-m", JUDGE) as (client, process):
        wait(client, JUDGE)
        (child,) = psutil.Process(process.pid).children()
        child.send_signal(signal.SIGKILL)
        until = time.monotonic() + 60
        while [other.pid for other in psutil.Process(process.pid).children()] in ([child.pid], []):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert predict(client).status_code == 200


@pytest.mark.hostile
def test_fifty_clients_at_once(judge):
    """All are answered, each with the scores of its own text."""
    with served("-m", JUDGE) as (client, process):
        wait(client, JUDGE)
        model = mase.models.user_code.open_code(JUDGE)
        barrier = threading.Barrier(50)

        def one(number):
            text = f"a good film of number {number} " + "bad " * (number % 3)
            barrier.wait()
            name = explain(client, text=text, evidence=0)
            told = events(client, name)
            probabilities = predict(client, text=text).json()["probabilities"]
            if told[-1][0] != "done":
                return f"{told[-1]}"
            found = told[-1][1]["attribution"]["responses"][0]["scores"]
            plain = mase.Explainer(model, n_samples=60)(text)
            same = found == list(plain.scores) and probabilities == list(plain.prediction.probabilities.values())
            return None if same else "another's scores"

        with ThreadPoolExecutor(50) as pool:
            judge(list(enumerate(pool.map(one, range(50)))))
        assert process.poll() is None


@pytest.mark.hostile
def test_a_crowd_beyond_the_queue_is_told_so(judge):
    with served("-m", JUDGE) as (client, _):
        wait(client, JUDGE)
        explain(client, text="it hangs")
        body = {"model": JUDGE, "text": TEXT}
        answers = [client.post("/api/explanations", json=body) for _ in range(150)]
        codes = [answer.status_code for answer in answers]
        judge((number, None if code in (202, 429) else f"{code}") for number, code in enumerate(codes))
        assert codes.count(202) <= 101
        assert answers[-1].json()["error"]["type"] == "QueueFullError"
        assert client.get("/").status_code == 200


BODIES = (
    b"", b"{", b"null", b"[]", b"1e999", b'"x"', b"\xff\xfe", b"{}" * 1000, b'{"model":' * 20_000, b"[" * 100_000,
    b'{"model": {}, "text": []}', b'{"model": "x", "text": "x", "text": "y"}', b'{"__proto__": {}}', b"\x00" * 100,
    b'{"model": "x", "text": "x", "settings": {"method": {"a": 1}}}', b'{"units": [1e400]}', b'{"units": ["a"]}',
    b'{"model": "x", "text": "\\ud800"}', b'{"model": "x", "text": "x", "settings": {"seed": 1%s}}' % (b"0" * 40),
    b'{"model": "x", "text": "' + b"x" * (2 << 20) + b'"}',
)  # fmt: skip


@pytest.mark.hostile
def test_bodies_that_no_page_sends(client, judge):
    def verdict(path, body):
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        is_error = 400 <= answer.status_code < 500 and set(answer.json()) == {"error"}
        return None if is_error else f"{answer.status_code} {answer.text:.200}"

    paths = ("/api/explanations", "/api/predictions")
    judge(((path, body[:60]), verdict(path, body)) for path in paths for body in BODIES)

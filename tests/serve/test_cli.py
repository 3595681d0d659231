"""Tests of `mase serve`, as a process of its own: its address, its models, its end."""

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest
from click.testing import CliRunner

pytest.importorskip("uvicorn")

from starlette.testclient import TestClient
from tests.serve.classifiers import LABELS
from tests.serve.clients import JUDGE, MODELS, bearer, explain, predict, told, wait

from mase.cli import main


@pytest.fixture
def serve(tmp_path):
    """A function that starts the command and returns its process and the first address."""
    started = []

    def start(*arguments):
        command = [sys.executable, "-m", "mase", "serve", "--no-browser", *arguments]
        with (tmp_path / "errors").open("w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        started.append(process)
        return process, process.stdout.readline().rstrip("\n")

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.slow
def test_a_server_from_its_address_to_ctrl_c(serve, tmp_path):
    process, address = serve("-m", JUDGE, "-m", f"{MODELS}:broken", "--port", "0", "--threads", "1")
    own, token = address.split("/?token=")
    assert own.startswith("http://127.0.0.1:")
    with httpx.Client(base_url=own, headers={"Origin": own} | bearer(token), timeout=600) as client:
        assert client.get(address).status_code == 200
        page = client.get("/api/workbench")
        assert "workbench" in page.text
        assert token not in page.text
        wait(client, JUDGE)
        assert "from the start" in wait(client, f"{MODELS}:broken", "failed")["message"]
        assert predict(client).json()["labels"] == list(LABELS)
        pids = children(process.pid)
        assert len(pids) == 1  # that of the broken model has ended
        begun = client.post("/api/explanations", json={"model": JUDGE, "text": "it hangs"})
        assert begun.status_code == 202
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 0
    assert process.stdout.read() == ""
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert (tmp_path / "errors").read_text() == "mase: ended\n"


@pytest.mark.slow
def test_requests_under_way_are_told_of_the_end(serve, tmp_path):
    process, address = serve("-m", JUDGE, "--port", "0")
    own, token = address.split("/?token=")
    headers = {"Origin": own} | bearer(token)
    with httpx.Client(base_url=own, headers=headers, timeout=600) as client, ThreadPoolExecutor() as threads:
        wait(client, JUDGE)
        hanging, behind = (f"/api/explanations/{explain(client, text=one)}/events" for one in ("it hangs", "a text"))
        with client.stream("GET", hanging) as first, client.stream("GET", behind) as second:
            waiting = threads.submit(predict, client)
            next(line for line in second.iter_lines() if '"ahead":2' in line)  # the prediction is there, and before it
            process.send_signal(signal.SIGINT)
            event, data = told(first.read().decode())[-1]
        assert (event, "server was ended" in data["message"]) == ("failed", True)
        assert "server was ended" in waiting.result(600).json()["error"]["message"]
    assert process.wait(600) == 0
    assert (tmp_path / "errors").read_text() == "mase: ended\n"


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = CliRunner().invoke(main, ["serve", "--no-browser", "--port", str(taken.getsockname()[1])])
    assert result.exit_code == 1
    assert "expected one of this machine and a free port" in result.stderr
    assert result.stdout == ""


def test_an_address_of_another_machine():
    result = CliRunner().invoke(main, ["serve", "--no-browser", "--host", "192.0.2.1"])
    assert result.exit_code == 1
    assert "192.0.2.1" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "without -m"),
        (["-m", "smol", "--device", "cpu"], "--device"),
        (["-m", "smol", "--download"], "--download"),
    ],
)
def test_a_server_of_language_models_is_given_with_names_alone(options, said):
    result = CliRunner().invoke(main, ["serve", "--no-browser", "--server", "http://localhost:1/v1", *options])
    assert (result.exit_code, said in result.stderr) == (2, True)


@pytest.mark.parametrize("option", ["--model", "--fields"])
def test_a_name_that_no_page_can_have(monkeypatch, option):
    """A path whose bytes are not UTF-8 has lone surrogates in Python."""
    monkeypatch.setattr("mase_serve.app.run_server", lambda app, listening: listening.close())
    result = CliRunner().invoke(main, ["serve", "--no-browser", "--port", "0", option, "caf\udce9.py:judge"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert r"caf\udce9" in result.stderr


@pytest.mark.parametrize(("host", "is_told"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
def test_what_another_address_exposes_is_said(monkeypatch, host, is_told):
    monkeypatch.setattr("mase_serve.app.run_server", lambda app, listening: listening.close())
    monkeypatch.setattr("webbrowser.open", lambda address: None)
    result = CliRunner().invoke(main, ["serve", "--host", host, "--port", "0"])
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    assert ("not encrypted" in result.stderr) == is_told


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of folders")
def test_the_command_line_of_the_browser_leads_nobody_else_in(monkeypatch):
    opened, seen = Event(), {}

    def browse(address):
        seen["door"] = door = Path(url2pathname(urlsplit(address).path))
        seen.update(address=address, mode=door.parent.stat().st_mode & 0o777, content=door.read_text("utf-8"))
        opened.set()

    def visit(app, listening):
        listening.close()
        assert opened.wait(600)
        token = seen["content"].partition("?token=")[2].partition('"')[0]
        seen["token"], url = token, f"http://127.0.0.1:{listening_port}"
        TestClient(app, base_url=url).get("/api/models", headers=bearer(token))
        until = time.monotonic() + 600
        while seen["door"].exists() and time.monotonic() < until:
            time.sleep(0.01)
        seen["left"] = seen["door"].exists()

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listening_port = free.getsockname()[1]
    monkeypatch.setattr("mase_serve.app.run_server", visit)
    monkeypatch.setattr("webbrowser.open", browse)
    result = CliRunner().invoke(main, ["serve", "--port", str(listening_port)])
    assert result.exit_code == 0
    assert result.stdout.strip().endswith(f"?token={seen['token']}")
    assert seen["token"] not in seen["address"]
    assert (seen["mode"], seen["left"], seen["door"].parent.exists()) == (0o700, False, False)


@pytest.mark.parametrize("given", ["premise,premise", "premise,", ""])
def test_fields_have_names_of_their_own(monkeypatch, given):
    monkeypatch.setattr("mase_serve.app.run_server", lambda app, listening: listening.close())
    result = CliRunner().invoke(main, ["serve", "--no-browser", "--port", "0", "--fields", given])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: --fields are" in result.stderr


def test_fields_are_a_list_as_in_a_csv_file(monkeypatch):
    shown = []
    monkeypatch.setattr("mase_serve.app.run_server", lambda app, listening: listening.close())
    monkeypatch.setattr("mase_serve.app.application", lambda *_, fields, **__: shown.append(list(fields)))
    for given in ([], ["--fields", 'premise, "the street, now"']):
        assert CliRunner().invoke(main, ["serve", "--no-browser", "--port", "0", *given]).exit_code == 0
    assert shown == [[], ["premise", "the street, now"]]


def test_a_run_that_is_not_there_yet_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr("mase_serve.app.run_server", lambda app, listening: listening.close())
    absent = str(tmp_path / "rnu")
    result = CliRunner().invoke(
        main, ["serve", "--no-browser", "--port", "0", str(tmp_path), absent, "s3://bucket/run"]
    )
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "nothing at" in line and absent in line] != []
    assert result.stderr.count("nothing at") == 1

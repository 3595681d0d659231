"""What differs between systems, branch by branch as far as Linux has them."""

import ast
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import mase
from mase.platforms import (
    can_replace_open_files,
    interrupted_later,
    keep_freed_memory,
    lock,
    on_termination,
    open_pipe,
    process_space,
    process_start,
    processor_name,
    reuses_addresses,
    usable_cores,
)

SOURCES = [Path(mase.__file__).parent, Path(__file__).parents[2] / "paper" / "src"]
ASKING = {
    "import fcntl",
    "import msvcrt",
    "import resource",
    "import ctypes",
    "sys.platform",
    "os.name",
    "os.O_NONBLOCK",
}


def asked(tree):
    """Yield what in a module tells systems apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"import {alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"import {node.module}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def test_one_module_asks_which_system_this_is():
    modules = {path: path.read_text(encoding="utf-8") for source in SOURCES for path in source.rglob("*.py")}
    assert len(modules) > 100
    named = [name.removeprefix("import ") for name in ASKING]
    found = {
        path.name: ASKING & set(asked(ast.parse(module)))
        for path, module in modules.items()
        if any(name in module for name in named)  # parsing takes longer than reading
    }
    assert len(found.pop("platforms.py")) > 2
    assert not {name: what for name, what in found.items() if what}


def test_a_second_lock_is_refused_until_the_first_file_is_closed(tmp_path):
    path = tmp_path / "file"
    with path.open("ab") as first, path.open("ab") as second:
        assert lock(first)
        assert not lock(second)
        first.close()
        assert lock(second)


def test_open_files_are_replaced_where_the_system_says_so(tmp_path):
    assert not can_replace_open_files("nt")
    if not can_replace_open_files():
        pytest.skip("no open file can be replaced here")
    (tmp_path / "new").write_text("new")
    with (tmp_path / "old").open("w+") as file:
        (tmp_path / "new").replace(tmp_path / "old")
        assert file.read() == ""
    assert (tmp_path / "old").read_text() == "new"


def test_a_pipe_without_a_writer_is_opened_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    descriptor = open_pipe(tmp_path / "pipe")
    try:
        assert os.read(descriptor, 1) == b""
    finally:
        os.close(descriptor)


def test_the_port_of_a_server_that_ended_is_used_again_where_no_other_server_can_have_it():
    assert reuses_addresses("posix", "linux")
    assert reuses_addresses("posix", "darwin")
    assert not reuses_addresses("posix", "cygwin")
    assert not reuses_addresses("nt", "win32")


def test_termination_calls_within_the_block_only():
    calls = []
    with on_termination(lambda: calls.append("asked")):
        os.kill(os.getpid(), signal.SIGTERM)
    assert calls == ["asked"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_who_handles_termination_keeps_doing_so():
    theirs = []
    before = signal.signal(signal.SIGTERM, lambda *_: theirs.append("theirs"))
    try:
        with on_termination(lambda: theirs.append("ours")):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert theirs == ["theirs"]


HUNG_UP = """
import sys, time
from mase.platforms import on_termination
asked = []
with on_termination(lambda: asked.append(True)):
    print("ready", file=sys.stderr, flush=True)
    while not asked:
        time.sleep(0.01)
    print("to nobody", file=sys.stderr, flush=True)
print("went on")
"""


def test_what_is_written_to_a_closed_terminal_is_no_error():
    """As where a connection breaks: the results of hours are still to be written."""
    ours, theirs = os.openpty()
    with subprocess.Popen([sys.executable, "-c", HUNG_UP], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        assert os.read(ours, 5) == b"ready"
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        assert process.communicate(timeout=600)[0] == b"went on\n"
    assert process.returncode == 0


def test_an_ignored_hangup_stays_ignored():
    """As nohup sets it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with on_termination(lambda: pytest.fail("asked")):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_interruptions_wait_for_the_end_of_a_block():
    done = []

    def write(number):
        with interrupted_later():
            os.kill(os.getpid(), number)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        write(signal.SIGINT)
    with on_termination(lambda: done.append("asked")):
        write(signal.SIGTERM)
        write(signal.SIGHUP)
    assert done == ["all of it", "all of it", "asked", "all of it", "asked"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_that_comes_before_the_block_leaves_the_handlers(monkeypatch):
    replace, before = signal.signal, signal.getsignal(signal.SIGINT)

    def interrupted(number, handler):
        replace(number, handler)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("signal.signal", interrupted)
    with pytest.raises(KeyboardInterrupt), interrupted_later():
        pytest.fail("the block has run")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("block", [lambda: on_termination(lambda: None), interrupted_later])
def test_another_thread_changes_no_signal(block):
    seen = []

    def run():
        with block():
            seen.append([signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)])

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [[signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]]


def test_memory_is_left_to_other_systems(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda _name: pytest.fail("asked the C library"))
    keep_freed_memory("darwin")
    keep_freed_memory("win32")


def test_the_processor_has_a_name_with_and_without_a_listing(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor : 0\nmodel name : Some Chip @ 2 GHz\nmodel name : another\n")
    assert processor_name(listing) == "Some Chip @ 2 GHz"
    assert processor_name(tmp_path / "none")


def test_a_process_has_a_start_while_it_is_there(tmp_path):
    assert process_start(os.getpid()) == process_start(os.getpid())
    (tmp_path / "7").mkdir()
    fields = " ".join(["S", *["0"] * 18, "12345", "0"])
    (tmp_path / "7" / "stat").write_text(f"7 (a) name ) {fields}")
    assert process_start(7, tmp_path) == "12345"
    (tmp_path / "7" / "stat").write_text(f"7 (a) name ) {fields.replace('S', 'Z')}")
    assert process_start(7, tmp_path) is None
    assert process_start(8, tmp_path) is None
    assert process_space(tmp_path) is None


def test_this_process_may_use_a_core():
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)

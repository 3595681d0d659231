"""Which of three files did an answer come from? Asked of a chat server that only answers: `make chat-demo`.

`transformers serve` answers with SmolLM2-135M-Instruct, on a free port of this machine, and ends with this process.
`tools/smollm2.py` says what makes the model; the server needs `transformers[serving]`.

    python tools/chat_demo.py [options of mase cite]
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

__all__ = ["chat_server"]

SOURCES = Path(__file__).parents[1] / "examples" / "sources"
QUERY = "Where is the museum, and when does the last boat leave?"
SERVE = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"
SECONDS_TO_START, SECONDS_TO_END = 180.0, 20.0


@contextmanager
def chat_server(model: Path) -> Iterator[str]:
    """Serve the model of a folder, and end the server afterwards; yields its address.

    Its name on the server is the path of the folder.

    Raises
    ------
    RuntimeError
        If the server ends, or does not answer in time; with what it printed last.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", SERVE, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with tempfile.TemporaryFile() as log:
        environment = os.environ | {"HF_HUB_OFFLINE": "1"}
        server = subprocess.Popen([*command, str(model)], stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            if not _answers(url, server):
                log.seek(0)
                said = log.read().decode(errors="replace")[-2_000:]
                raise RuntimeError(f"transformers serve did not start (exit status {server.poll()}):\n{said}")
            yield url
        finally:
            server.terminate()
            try:
                server.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                server.kill()  # it is still writing an answer
                server.wait()


def _answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    """Return whether a server answers before it ends, and in time."""
    end = time.monotonic() + SECONDS_TO_START
    while server.poll() is None and time.monotonic() < end:
        try:
            if httpx.get(f"{url}/health", trust_env=False).is_success:
                return server.poll() is None
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    return False


def main(options: list[str]) -> int:
    """Ask `mase cite --chat` with further options, and return its exit status."""
    from tools.smollm2 import folder

    model = folder()
    with chat_server(model) as url:
        sources = [str(SOURCES / f"{name}.txt") for name in ("ferry", "museum", "market")]
        command = [sys.executable, "-m", "mase", "cite", "--chat", "--server", url, "-m", str(model)]
        command += ["--context", *sources, "--query", QUERY, "--units", "document", "--max-new-tokens", "34"]
        command += ["--concurrency", "2"]  # the server answers one after another, and requests have a time limit
        return subprocess.run([*command, *options], check=False).returncode


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main(sys.argv[1:]))

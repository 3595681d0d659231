"""A local HTTP server for tests of models behind a URL, which answers as it is told and can be made to fail."""

import json
import math
import socket
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

LABELS = ("neg", "neutral", "pos")
WORTH = {"superb": 2.0, "dull": -1.5, "not": -0.5}


def logits(texts):
    """Class scores `(n, 3)` of texts or records: an additive function of the words."""
    totals = [sum(WORTH.get(word.strip(".,!"), 0.0) for word in words(text)) for text in texts]
    return [[-total, 0.1, total] for total in totals]


def probabilities(texts):
    return [softmax(row) for row in logits(texts)]


def softmax(row):
    parts = [math.exp(value - max(row)) for value in row]
    return [part / sum(parts) for part in parts]


def words(content):
    values = [content] if isinstance(content, str) else list(content.values() if isinstance(content, dict) else content)
    return [word for value in values for word in str(value).lower().split()]


class Server:
    """What a server answers, and what it was asked.

    Attributes
    ----------
    routes
        For a method and a path, as in "POST /predict": a function from the JSON of the request to that of the answer.
    faults
        Functions of the handler, of which each request to a POST route takes one and is answered by it. The last one
        stays if `always`.
    requests
        The path, headers and JSON of every request.
    """

    def __init__(self, routes):
        self.routes, self.faults, self.always, self.requests, self.n_connections = routes, [], False, [], 0
        self.n_now = self.most_at_once = 0
        self.lock = Lock()

    def fault(self):
        with self.lock:
            if not self.faults:
                return None
            return self.faults[0] if self.always else self.faults.pop(0)

    def asked(self, path):
        return [body for at, _, body in self.requests if at == path]


class Refused(Exception):
    """What a route raises to answer another status than 200, and why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or else every answer waits for 40 ms

    def setup(self):
        super().setup()
        with self.server.double.lock:
            self.server.double.n_connections += 1

    def do_GET(self):
        self.handled("GET")

    def do_POST(self):
        self.handled("POST")

    def handled(self, method):
        double, length = self.server.double, int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        with double.lock:
            double.requests.append((self.path, dict(self.headers), body))
            double.n_now += 1
            double.most_at_once = max(double.most_at_once, double.n_now)
        try:
            route = double.routes.get(f"{method} {self.path.partition('?')[0]}")
            fault = double.fault() if method == "POST" else None
            if fault is not None:
                fault(self)
            elif route is None:
                self.answer(404, b'{"error": "not found"}')
            else:
                self.answer(200, json.dumps(route(body)).encode())
        except Refused as refused:
            self.answer(refused.status, json.dumps({"error": str(refused)}).encode())
        finally:
            with double.lock:
                double.n_now -= 1

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **dict(headers),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        del arguments


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """Say nothing: the client may have gone, as a test wants it."""


@contextmanager
def served(routes):
    """Serve on a free port of the loopback address, and yield the URL and the double."""
    server = _Http(("127.0.0.1", 0), _Handler)
    server.double = Server(routes)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server.double
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def status(code, headers=(), body=b'{"error": "as told"}'):
    """A fault: another status than 200."""
    return lambda handler: handler.answer(code, body, headers)


def content(body, kind="application/json"):
    """A fault: status 200 with this body."""
    return lambda handler: handler.answer(200, body, {"Content-Type": kind})


def dropped(handler):
    """A fault: the connection ends in the middle of an answer."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'[{"label"')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


def tei(body):
    """The answer of `/predict`: every row is sorted by score."""
    scores = logits(body["inputs"]) if body["raw_scores"] else probabilities(body["inputs"])
    rows = [[{"label": label, "score": score} for label, score in zip(LABELS, row, strict=True)] for row in scores]
    return [sorted(row, key=lambda item: -item["score"]) for row in rows]


INFO = {
    "model_id": "owner/sentiment",
    "model_type": {"classifier": {"id2label": {str(i): label for i, label in enumerate(LABELS)}, "label2id": {}}},
    "max_client_batch_size": 4,
    "max_input_length": 512,
}
TEI = {"GET /info": lambda body: INFO, "POST /predict": tei}

KSERVE = "/v2/models/sentiment"
METADATA = {
    "name": "sentiment",
    "platform": "python",
    "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [-1, 1]}],
    "outputs": [{"name": "SCORES", "datatype": "FP32", "shape": [-1, 3]}],
}


def infer(body):
    """The answer of `/infer` with a flat tensor; several inputs are the fields of records."""
    tensors = {tensor["name"]: tensor["data"] for tensor in body["inputs"]}
    rows = probabilities([" ".join(map(str, values)) for values in zip(*tensors.values(), strict=True)])
    return {"model_name": "sentiment", "outputs": [tensor("SCORES", rows)]}


def tensor(name, rows, datatype="FP32"):
    flat = [value for row in rows for value in row]
    return {"name": name, "datatype": datatype, "shape": [len(rows), len(rows[0])], "data": flat}


V2 = {f"GET {KSERVE}": lambda body: METADATA, f"POST {KSERVE}/infer": infer}

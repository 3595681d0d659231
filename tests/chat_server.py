"""A loopback server of `/v1/chat/completions` that answers as a function of the messages, and can be made to fail."""

import json
import re
import time
from contextlib import contextmanager

from tests.servers import served

ROUTE = "/v1/chat/completions"


def look_up(messages):
    """The answer of a model that only knows what the messages say: who does what, or that somebody sleeps."""
    text = " ".join(message["content"] for message in messages)
    asked = re.findall(r"What does (\w+) do", text)
    if not asked:
        return "I do not know."
    who = asked[-1]
    found = re.search(rf"\b{who} (\w+)\.", text)
    return f"{who} {found[1]}." if found else f"{who} sleeps."


def answered(text, *, ended="stop", **message):
    """The JSON of an answer."""
    counts = {"prompt_tokens": 100, "completion_tokens": 5}
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": ended}
    return {"object": "chat.completion", "choices": [choice], "usage": counts}


@contextmanager
def chat_served(answer=look_up, *, seconds=0.0):
    """Serve the function `answer` of messages, which returns a text or the JSON of an answer, after some seconds."""

    def route(body):
        time.sleep(seconds)
        found = answer(body["messages"])
        return answered(found) if isinstance(found, str) else found

    routes = {f"POST {ROUTE}": route, "GET /v1/models": lambda body: {"data": [{"id": "look-up"}]}}
    with served(routes) as (url, double):
        yield url, double


TOOL = answered(None, ended="tool_calls", tool_calls=[{"id": "1", "function": {"name": "f", "arguments": "{}"}}])
REFUSAL = answered(None, refusal="I can't help with that.")
CUT = answered("Cleo swims and", ended="length")
PARTS = answered([{"type": "text", "text": "Cleo "}, {"type": "text", "text": "swims."}])
EMPTY = answered("")


def told(answer):
    """A fault: this JSON in place of the answer."""
    return lambda handler: handler.answer(200, json.dumps(answer).encode())


def slow(seconds):
    """A fault: no answer for some seconds."""
    return lambda handler: time.sleep(seconds)


def endless(handler):
    """A fault: an answer that does not end, until the client goes."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" " * 65536)
    except OSError:
        handler.close_connection = True

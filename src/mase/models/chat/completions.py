"""OpenAI-compatible `/chat/completions`: one conversation in, one answer out."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from mase.defaults import check_integer, is_real
from mase.errors import OptionError, ServiceError
from mase.models.chat.archive import Message, Reply
from mase.models.http.client import Client, Connection, ConnectionOptions
from mase.models.language.server import only_model
from mase.models.names import check_url

MAX_TOKENS = 512
_ROUTE = "/chat/completions"
_ENDS = {"length": "length", "tool_calls": "tool", "function_call": "tool", "content_filter": "refusal"}
# How often a request is sent again after an answer that was charged and holds no message.
_MOST_AGAIN = 2


class Completions:
    """The function from messages to an answer that a server computes.

    The parameters are those of `mase.models.Chat.openai`. It can be pickled; credentials are read from the environment
    of each process.
    """

    def __init__(
        self,
        url: str,
        model: str | None,
        *,
        temperature: float | None,
        max_tokens: int | None,
        parameters: Mapping[str, Any] | None,
        connection: ConnectionOptions,
    ) -> None:
        if temperature is not None and not (is_real(temperature) and 0 <= temperature <= 2):
            raise OptionError(f"temperature is {temperature!r:.60}, expected a number from 0 to 2, or None")
        if max_tokens is not None:
            check_integer("max_tokens", max_tokens, 1)
        try:
            further = json.loads(json.dumps(dict(parameters or {}), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise OptionError(f"parameters cannot be sent as JSON ({error}), expected names and plain values") from None
        given = {"temperature": temperature, "max_tokens": max_tokens}
        self.parameters = {name: value for name, value in given.items() if value is not None} | further
        self.base, self.path = split_address(check_url(url))
        self.address, self.connection = self.base + self.path, Connection(**connection)
        self._client = Client(self.base, self.connection, passing=(500,))
        self.model = model or only_model(self._client, None, _models_beside(self.path, _ROUTE))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_client": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _client=Client(state["base"], state["connection"], passing=(500,)))

    def __call__(self, messages: list[Message]) -> Reply:
        """Return the answer to messages.

        An answer without a message that was charged is asked for again. Its tokens, and those of failures that the
        server says it charged, are the answer's.
        """
        body, rejected = {"model": self.model, "messages": messages, **self.parameters}, list[Any]()
        for left in reversed(range(_MOST_AGAIN + 1)):
            (answer,) = self._client.post(self.path, [body], rejected=rejected)
            try:
                reply = reply_in(answer, self.address)
            except ServiceError:
                if not (left and any(_usage(answer))):
                    raise
                rejected.append(answer)
                continue
            charged = [usage for usage in map(_usage, rejected) if any(usage)]
            prompt, completion = (sum(count or 0 for count in counts) for counts in zip((0, 0), *charged, strict=True))
            return replace(
                reply,
                prompt_tokens=None if reply.prompt_tokens is None else reply.prompt_tokens + prompt,
                completion_tokens=None if reply.completion_tokens is None else reply.completion_tokens + completion,
                n_rejected=len(charged),
            )
        raise AssertionError


class Embeddings:
    """The function from texts to vectors of an OpenAI-compatible `/embeddings` address, for the measure "embedding".

    The parameters are those of `mase.models.Chat.openai`.
    """

    def __init__(self, url: str, model: str | None = None, **connection: Unpack[ConnectionOptions]) -> None:
        base, self.path = split_address(check_url(url), "/embeddings")
        self._client = Client(base, Connection(**connection))
        self.model = model or only_model(self._client, None, _models_beside(self.path, "/embeddings"))

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each of n texts."""
        (answer,) = self._client.post(self.path, [{"model": self.model, "input": texts}])
        data = answer.get("data") if isinstance(answer, dict) else None
        rows = [row for row in (data if isinstance(data, list) else []) if isinstance(row, dict)]
        result: dict[Any, Any] = {row.get("index", at): row.get("embedding") for at, row in enumerate(rows)}
        if sorted(result) != list(range(len(texts))):
            raise ServiceError(
                f"{self.path} answered {len(result)} vectors to {len(texts)} texts, expected one for each"
            )
        return [result[index] for index in range(len(texts))]


def split_address(url: str, route: str = _ROUTE) -> tuple[str, str]:
    """Return the server of an address, and the path of one of its routes.

    Examples
    --------
    >>> split_address("http://localhost:8000")
    ('http://localhost:8000', '/v1/chat/completions')
    >>> split_address("https://example.org/api/v1/")
    ('https://example.org', '/api/v1/chat/completions')
    """
    scheme, _, rest = url.rstrip("/").partition("://")
    host, slash, path = rest.partition("/")
    path = f"{slash}{path}".removesuffix(route) or "/v1"
    return f"{scheme}://{host}", path + route


def _models_beside(path: str, route: str) -> str:
    """Return the path at which a server lists its models, from that of another route."""
    return f"{path.removesuffix(route)}/models"


def reply_in(answer: Any, place: str) -> Reply:
    """Return the answer of a chat in the JSON of a response.

    A refusal is its text. A call of a tool has none: it is empty, and its end says why.
    """
    try:
        choice = answer["choices"][0]
        message, ended = dict(choice["message"]), _ENDS.get(str(choice.get("finish_reason")), "stop")
    except (LookupError, TypeError, ValueError, AttributeError):
        got = json.dumps(answer, ensure_ascii=False)
        raise ServiceError(
            f"{place} answered {got:.200}, expected choices with a message; name the chat route"
        ) from None
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise ServiceError(f"{place} answered with a content of type {type(content).__name__}, expected a text")
    if not content and message.get("refusal"):
        content, ended = str(message["refusal"]), "refusal"
    elif not content and (message.get("tool_calls") or message.get("function_call")):
        ended = "tool"
    return Reply(content or "", *_usage(answer), ended)


def _usage(answer: Any) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the answer that a server counted in the JSON of a response."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion = (
        count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
        for count in (counts.get("prompt_tokens"), counts.get("completion_tokens"))
    )
    return prompt, completion

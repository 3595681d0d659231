"""OpenAI-compatible `/chat/completions`: one conversation in, one answer out."""

import json
from collections.abc import Mapping
from threading import Lock
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
        base, self.path = split_address(check_url(url))
        self.base, self.connection = base, Connection(**connection)
        self._client: Client | None = None
        self._lock = Lock()
        given = {"temperature": temperature, "max_tokens": max_tokens}
        self.parameters = {name: value for name, value in given.items() if value is not None} | further
        self.model = model if model is not None else only_model(self._connected, None)

    @property
    def address(self) -> str:
        """The whole address."""
        return self.base + self.path

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_client", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _client=None, _lock=Lock())

    def __call__(self, messages: list[Message]) -> Reply:
        """Return the answer to messages.

        Raises
        ------
        ServiceError
            If the server does not answer in time, or not with an answer of a chat.
        """
        body = {"model": self.model, "messages": messages, **self.parameters}
        (answer,) = self._connected.post(self.path, [body])
        return reply_in(answer, self.address)

    @property
    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = Client(self.base, self.connection)
            return self._client


class Embeddings:
    """The function from texts to vectors of an OpenAI-compatible `/embeddings` address, for the measure "embedding".

    Parameters
    ----------
    url
        The address, as of `mase.models.Chat.openai`.
    model
        Name of the model on the server; its only one by default.
    **connection
        As of `mase.models.Chat.openai`.
    """

    def __init__(self, url: str, model: str | None = None, **connection: Unpack[ConnectionOptions]) -> None:
        base, self.path = split_address(check_url(url), "/embeddings")
        self._client = Client(base, Connection(**connection))
        self.model = only_model(self._client, model)

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each of n texts.

        Raises
        ------
        ServiceError
            If the server does not answer with as many vectors.
        """
        (answer,) = self._client.post(self.path, [{"model": self.model, "input": texts}])
        data = answer.get("data") if isinstance(answer, dict) else None
        rows = data if isinstance(data, list) else []
        found: dict[Any, Any] = {
            row.get("index", at): row.get("embedding") for at, row in enumerate(rows) if isinstance(row, dict)
        }
        if sorted(found) != list(range(len(texts))):
            raise ServiceError(
                f"{self.path} answered {len(found)} vectors to {len(texts)} texts, expected one for each"
            )
        return [found[index] for index in range(len(texts))]


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


def reply_in(answer: Any, place: str) -> Reply:
    """Return the answer of a chat in the JSON of a response.

    A refusal is its text. A call of a tool has none: it is empty, and its end says why.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        got = json.dumps(answer, ensure_ascii=False)
        raise ServiceError(f"{place} answered {got:.200}, expected choices with a message; name the chat route")
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    ended = _ENDS.get(str(choice.get("finish_reason")), "stop")
    if not content and isinstance(refusal, str) and refusal:
        content, ended = refusal, "refusal"
    if not content and (message.get("tool_calls") or message.get("function_call")):
        ended = "tool"
    if content is not None and not isinstance(content, str):
        raise ServiceError(f"{place} answered with a content of type {type(content).__name__}, expected a text")
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Reply(content or "", _counted(counts.get("prompt_tokens")), _counted(counts.get("completion_tokens")), ended)


def _counted(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

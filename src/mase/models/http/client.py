"""The HTTP client of all models behind a URL: many requests side by side, each answered with JSON or with an error."""

import asyncio
import html
import json
import os
import re
import ssl
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from mase.errors import OptionError, RequestRefusedError, ServiceError
from mase.models.http.address import check_url
from mase.models.http.background import Background
from mase.models.http.body import CODINGS, Body, BodyError
from mase.models.http.connection import Connection
from mase.models.http.pace import LONGEST_WAIT, Pace, retry_after
from mase.models.locks import alone

__all__ = ["Client"]

_PASSING = (429, 502, 503, 504)  # statuses that may be gone at the next attempt
_ABSENT = (404, 405, 501)
_MOST_REDIRECTS = 3
_UNAUTHORIZED = (401, 403)
_TOO_LARGE, _REFUSED = 413, (400, 422)  # statuses of a request with too much in it, or with something wrong
# Fewer characters hide nothing, and are words of answers too: "EMPTY", "none" or "ollama", for servers without a check.
_SHORTEST_SECRET = 8
# Lists, objects and commas in an answer: so many, and so many for each byte of the request, whose tokens a server of
# language models describes one by one. Each takes up to 200 bytes once it is read.
_MOST_MARKS, _MARKS_PER_BYTE = 400_000, 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Answer:
    """A complete answer."""

    status: int
    reason: str
    headers: httpx.Headers
    body: bytes


class Client:
    """Sends JSON to one server and returns the JSON of its answers.

    Connections are kept. Proxies are those of the environment. A redirect is followed only on the same host, with the
    same method (of a POST: status 307 or 308) and not from https to http.

    Parameters
    ----------
    url
        The address that all paths follow.
    connection
        How to talk to the server.

    Raises
    ------
    OptionError
        If the URL is invalid, a credential is not in the environment, or a proxy of the environment cannot be used.
    """

    def __init__(self, url: str, connection: Connection) -> None:
        self.url, self._connection = check_url(url), connection
        credentials = connection.headers()
        secrets = _forms(credentials.values())
        self._secrets = _pattern(secrets)
        self._long_secrets = _pattern([secret for secret in secrets if len(secret) >= _SHORTEST_SECRET])
        self._credentials, self._reached = credentials, False
        self._pace = Pace(connection.requests_per_second)
        self._open()

    def _open(self) -> None:
        """Open the connections of this process. They belong to a thread that a fork of it does not have."""
        n = self._connection.concurrency
        headers = {"Accept": "application/json", "Accept-Encoding": CODINGS, "User-Agent": "mase"} | self._credentials
        limits = httpx.Limits(max_connections=n, max_keepalive_connections=n)
        trusted = _certificates(self.url)
        try:
            # The time-out is that of a whole answer, and is kept around the request.
            self._http = httpx.AsyncClient(headers=headers, limits=limits, timeout=None, verify=trusted)
        except (ImportError, ValueError, httpx.InvalidURL):
            raise OptionError(
                "the proxy of this environment cannot be used, expected http:// or https:// in HTTP_PROXY, HTTPS_PROXY "
                "and ALL_PROXY"
            ) from None  # the address of a proxy may hold a password
        self._slots, self._process = asyncio.Semaphore(n), os.getpid()
        self._background = Background(self._http.aclose)

    def _run(self, exchange: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with alone(self):  # several threads of a fork may ask for the first time at once
            if self._process != os.getpid():
                self._open()
        return self._background.run(exchange())

    @property
    def reached(self) -> bool:
        """Whether the server answered anything so far."""
        return self._reached

    def get(self, path: str) -> Any:
        """Return the JSON at a path; None if the server has no such path.

        Raises
        ------
        ServiceError
            If there is no answer, or another one than JSON.
        """
        return self._run(lambda: self._exchanged("GET", path))

    def post(self, path: str, bodies: Sequence[Any], params: dict[str, str] | None = None) -> list[Any]:
        """Send values as JSON to a path, side by side, and return the JSON of the answers in the order of the values.

        If one fails, the others are cancelled.

        Raises
        ------
        ServiceError
            If there is no answer, or another one than JSON.
        """
        return self._run(lambda: self._all(path, bodies, params or {}))

    def _scrubbed(self, text: str) -> str:
        """Return a text of the server, or about it, with the credentials replaced by stars."""
        return self._secrets.sub("***", text)

    def _clean(self, value: Any) -> Any:
        """Return JSON with the long credentials replaced in its strings, so that they reach no label and no name."""
        if isinstance(value, str):
            return self._long_secrets.sub("***", value)
        if isinstance(value, list):
            return [self._clean(inner) for inner in value]
        if isinstance(value, dict):
            return {self._clean(name): self._clean(inner) for name, inner in value.items()}
        return value

    async def _all(self, path: str, bodies: Sequence[Any], params: dict[str, str]) -> list[Any]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._exchanged("POST", path, body, params)) for body in bodies]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _exchanged(self, method: str, path: str, body: Any = None, params: dict[str, str] | None = None) -> Any:
        """Return the JSON of the answer to a request, which is sent again while it fails in a way that may pass."""
        content = None if method == "GET" else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        url = self.url + quote(path, safe="/%:")
        request = self._http.build_request(method, url, content=content, headers=headers, params=params or None)
        asked: float | None = None
        for attempt in range(self._connection.retries + 1):
            if attempt:
                await self._pace.pause(attempt - 1, asked)
            asked, failure = None, ""
            async with self._slots:
                await self._pace.turn()
                try:
                    answer = await self._answered(request)
                except (httpx.TransportError, TimeoutError) as error:
                    failure = self._described(error)
                    if self._reached or not isinstance(error, httpx.ConnectError):
                        continue
                    break  # there may be no such server
                except httpx.RequestError as error:
                    raise ServiceError(f"{self._place(request)} {self._described(error)}") from None
            self._reached = True
            if answer.status not in _PASSING:
                return self._content(request, answer)
            failure, asked = self._status(answer), retry_after(answer.headers)
            if asked is not None and asked > LONGEST_WAIT:
                failure += f"; it asks to wait {asked:,.0f} seconds, which is too long"
                break
        times = f" ({attempt + 1} times)" if attempt else ""
        raise ServiceError(f"{self._place(request)} {failure}{times}, expected scores as JSON; no score was kept")

    async def _answered(self, request: httpx.Request) -> _Answer:
        """Return the complete answer to one request, within the time-out and the largest size."""
        most = self._connection.max_response_bytes
        async with asyncio.timeout(self._connection.timeout):
            for _ in range(_MOST_REDIRECTS + 1):
                response = await self._http.send(request, stream=True)
                try:
                    if response.next_request is None:
                        return await self._read(request, response, most)
                    self._check_redirect(request, response.next_request, response.status_code)
                    request = response.next_request
                finally:
                    await response.aclose()
        raise ServiceError(f"{self._place(request)} redirects more than {_MOST_REDIRECTS} times, expected an answer")

    async def _read(self, request: httpx.Request, response: httpx.Response, most: int) -> _Answer:
        try:
            body = Body(response.headers.get("Content-Encoding", ""), most)
            async for part in response.aiter_raw():
                body.add(part)
            content = bytes(body.content)
        except BodyError as error:
            if response.is_success:
                raise ServiceError(f"{self._place(request)} answered with {self._scrubbed(str(error))}") from None
            content = b""  # the status says what is wrong
        return _Answer(response.status_code, response.reason_phrase, response.headers, content)

    def _check_redirect(self, request: httpx.Request, new: httpx.Request, status: int) -> None:
        """Refuse a redirect that would show texts or credentials to another host, or send something else."""
        old_url, url = request.url, new.url
        safe = url.scheme == old_url.scheme and url.port == old_url.port
        safer = (old_url.scheme, url.scheme, old_url.port, url.port) == ("http", "https", None, None)
        if url.host != old_url.host or new.method != request.method or not (safe or safer):
            raise ServiceError(
                f"{self._place(request)} redirects to {self._host(url)} with the status {status}, "
                "expected an answer, or a redirect on the same host and port with the status 307 or 308, which sends "
                "the same again; if you trust that address, pass it as the URL"
            )

    def _content(self, request: httpx.Request, answer: _Answer) -> Any:
        """Return the JSON of an answer that will not change."""
        if request.method == "GET" and answer.status in _ABSENT:
            return None
        if not 200 <= answer.status < 300:
            remedy = "; pass token_env or headers_env" if answer.status in _UNAUTHORIZED else ""
            about_size = answer.status in _REFUSED and b"batch" in answer.body.lower()
            kind = RequestRefusedError if answer.status == _TOO_LARGE or about_size else ServiceError
            raise kind(f"{self._place(request)} {self._status(answer)}, expected scores as JSON{remedy}")
        most = _MOST_MARKS + _MARKS_PER_BYTE * len(request.content)
        if sum(answer.body.count(mark) for mark in (b"[", b"{", b",")) > most:
            raise ServiceError(
                f"{self._place(request)} answered with more than {most:,} values, expected the scores of a batch; pass "
                "a smaller batch_size"
            )
        try:
            content = json.loads(answer.body)
            raw = answer.body.decode("utf-8", "replace")
            return self._clean(content) if "\\" in raw or self._long_secrets.search(raw) else content
        except (ValueError, RecursionError):
            kind = answer.headers.get("Content-Type", "no content type")
            raise ServiceError(
                f"{self._place(request)} answered {self._quoted(kind)}, {self._excerpt(answer)}, expected JSON"
            ) from None

    def _status(self, answer: _Answer) -> str:
        return f"answered {answer.status} {self._quoted(answer.reason)}: {self._excerpt(answer)}"

    def _excerpt(self, answer: _Answer) -> str:
        return self._quoted(answer.body.decode("utf-8", "replace"))

    def _quoted(self, text: str) -> str:
        return repr(" ".join(self._scrubbed(text).split()))[:200]

    def _described(self, error: Exception) -> str:
        """Return what an error of the connection says, without the addresses of proxies."""
        if isinstance(error, TimeoutError):
            return f"did not answer within {self._connection.timeout:g} seconds"
        said = self._scrubbed(str(error).partition("location header")[0])  # what follows is what the server sent
        return f"dropped the connection or cannot be reached ({type(error).__name__}: {said})"

    def _host(self, url: httpx.URL) -> str:
        """Return the part of an address that can be shown; a host may be the beginning of a credential."""
        if re.escape(url.host) in self._secrets.pattern.lower():
            return "***"
        return self._scrubbed(f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else ""))

    def _place(self, request: httpx.Request) -> str:
        return str(request.url.copy_with(query=None))


@cache
def _read_certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted, which take longer to read than anything else here."""
    return httpx.create_ssl_context()


def _certificates(url: str) -> ssl.SSLContext:
    try:
        return _read_certificates()
    except OSError as error:  # ssl.SSLError, too
        if not url.startswith("https:"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, if the server redirects to https
        variable = next(
            (name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "this environment"
        )
        raise OptionError(
            f"the certificates of {variable} cannot be read ({error}), expected those of trusted authorities as PEM; "
            f"correct {variable}, or remove it"
        ) from None


def _pattern(secrets: Iterable[str]) -> re.Pattern[str]:
    """Return what finds credentials, also in the small letters of a host."""
    return re.compile("|".join(map(re.escape, secrets)) or "(?!)", re.IGNORECASE)


def _forms(credentials: Iterable[str]) -> list[str]:
    """Return the forms in which a server may repeat a credential, the longest first."""
    values = {part for value in credentials for part in (value, value.split()[-1])}
    quoted = {json.dumps(value)[1:-1] for value in values}
    forms = values | quoted | {value.replace("/", r"\/") for value in quoted}
    forms |= {escape(value) for escape in (html.escape, quote, partial(quote, safe="")) for value in values}
    return sorted(forms, key=len, reverse=True)

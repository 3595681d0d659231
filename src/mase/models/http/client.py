"""An HTTP client: requests side by side, with time limits, retries, a rate and a limit of size."""

import asyncio
import html
import json
import math
import os
import random
import re
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, TypedDict, TypeVar
from urllib.parse import quote

import httpx

from mase.defaults import check_integer
from mase.errors import OptionError, RequestRefusedError, ServiceError
from mase.models.locks import alone
from mase.models.names import check_url

# What a server may compress an answer with. Brotli and zstd pack so much into a few bytes that only their size after
# decompression would bound the memory, and a body that is packed twice does so, too.
CODINGS = "gzip, deflate"
_PACKED = ("gzip", "x-gzip", "deflate")
_NOT_READ = ("br", "zstd", "compress", "x-compress", "dcb", "dcz")

# As zlib.decompressobj names gzip or zlib, and deflate as some servers send it, each with the largest window.
_EITHER_HEADER, _NO_HEADER = 47, -15

# The lower half of the first byte of zlib and of gzip. Without a header, deflate does not begin so.
_FIRST = (8, 15)


class BodyError(ValueError):
    """The body is packed in a way that is not read, is damaged, or is too long."""


class Body:
    """The body of one answer.

    Parameters
    ----------
    coding
        The header `Content-Encoding` of the answer; empty if it has none. What is no coding, such as the "utf-8" of
        some servers, is passed over.
    most
        Largest number of bytes after decompression.

    Attributes
    ----------
    content
        The bytes so far, after decompression.

    Examples
    --------
    >>> body = Body("deflate", most=10)
    >>> body.add(zlib.compress(b"0.25"))
    >>> bytes(body.content)
    b'0.25'
    """

    def __init__(self, coding: str, most: int) -> None:
        self.content = bytearray()
        self._most = most
        names = [name.strip().lower() for name in coding.split(",")]
        known = [name for name in names if name in (*_PACKED, *_NOT_READ)]
        if len(known) > 1 or (known and known[0] in _NOT_READ):
            raise BodyError(f"the Content-Encoding {coding!r:.60}, expected one of {CODINGS}, or none")
        self._coding = known[0] if known else None
        self._unpacking: Any = None

    def add(self, part: bytes) -> None:
        """Add the next bytes that arrived. They are never unpacked beyond the limit."""
        room = self._most - len(self.content)
        try:
            plain = part if self._coding is None else self._unpacked(part, room + 1)
        except zlib.error as error:
            raise BodyError(
                f"bytes that cannot be unpacked ({error}), expected those of its Content-Encoding"
            ) from error
        if len(plain) > room:
            raise BodyError(
                f"more than {self._most:,} bytes, expected the scores of a batch; pass a smaller batch_size, or a "
                "larger max_response_bytes"
            )
        self.content += plain

    def _unpacked(self, part: bytes, most: int) -> bytes:
        """Return at most so many bytes of what was packed. What follows its end is dropped, or zlib would keep it."""
        if self._unpacking is None:
            is_bare = self._coding == "deflate" and part[:1] and part[0] & 15 not in _FIRST
            self._unpacking = zlib.decompressobj(_NO_HEADER if is_bare else _EITHER_HEADER)
        return b"" if self._unpacking.eof else self._unpacking.decompress(part, most)


LONGEST_WAIT = 300.0  # seconds; a server that asks for more is given up
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0


class Pace:
    """The times of the requests of one model. All of its requests wait when the server asks one of them to.

    Parameters
    ----------
    requests_per_second
        Upper bound of the rate; None for no bound.
    """

    def __init__(self, requests_per_second: float | None) -> None:
        self._interval = 0.0 if requests_per_second is None else 1 / requests_per_second
        self._next = self._resume = 0.0
        self._random = random.Random()  # of its own: the global one is seeded for the user's functions

    async def turn(self) -> None:
        """Wait until a request may be sent."""
        while (pause := max(self._next, self._resume) - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        self._next = time.monotonic() + self._interval

    async def pause(self, attempt: int, asked: float | None) -> None:
        """Wait before a request is sent again: as long as the server asked for, else longer with each attempt from 0.

        Half of the pause is random, so that the requests of several processes do not come at the same time again.
        """
        if asked is not None:
            self._resume = max(self._resume, time.monotonic() + asked)
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
        await asyncio.sleep(self._random.uniform(longest / 2, longest))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which is a number or a date; None if there is none.

    Examples
    --------
    >>> retry_after({"Retry-After": "3"})
    3.0
    >>> retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), retry_after({"Retry-After": "soon"})
    (0.0, None)
    """
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # numbers that no date has
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


T = TypeVar("T")


class Background:
    """An event loop that runs in a daemon thread until this object is collected.

    Parameters
    ----------
    close
        What to await when the loop ends.
    """

    def __init__(self, close: Callable[[], Awaitable[None]]) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop, close), name="mase-http", daemon=True).start()
        # Do not wait for the thread: an object can be collected anywhere, also inside a lock that the thread needs.
        weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine. It is cancelled if this thread is interrupted while it waits."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()


def _serve(loop: asyncio.AbstractEventLoop, close: Callable[[], Awaitable[None]]) -> None:
    loop.run_forever()
    loop.run_until_complete(_closed(close))
    loop.close()


async def _closed(close: Callable[[], Awaitable[None]]) -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await close()


class ConnectionOptions(TypedDict, total=False):
    """Keywords that all models behind a URL have; `Connection` describes them."""

    token_env: str | None
    headers_env: Mapping[str, str] | None
    timeout: float
    retries: int
    concurrency: int
    requests_per_second: float | None
    max_response_bytes: int


@dataclass(frozen=True, slots=True)
class Connection:
    """How to talk to a model behind a URL.

    Credentials are read from the environment of each process that opens the model. Only the names of the variables are
    kept, also in a pickle.

    Attributes
    ----------
    token_env
        Name of the environment variable with a token, which is sent as ``Authorization: Bearer TOKEN``.
    headers_env
        Further headers, each with the name of the environment variable that holds its value, as in
        ``{"X-API-Key": "MY_KEY"}``.
    timeout
        Seconds for one request and its complete answer.
    retries
        How often a request is sent again after a dropped connection, a time-out or the status 429, 502, 503 or 504 (of
        a chat model: 500, too). The pauses grow from about 0.2 seconds to 30 and have a random part. A ``Retry-After``
        of up to five minutes is honoured. A server that never answered and cannot be reached is asked once.
    concurrency
        Number of requests at the same time, each on a connection that is kept open.
    requests_per_second
        Upper bound of the rate at which this process sends requests; None for no bound.
    max_response_bytes
        Largest answer to one request, in bytes after decompression.
    """

    token_env: str | None = None
    headers_env: Mapping[str, str] | None = None
    timeout: float = 60.0
    retries: int = 5
    concurrency: int = 8
    requests_per_second: float | None = None
    max_response_bytes: int = 64 * 2**20

    def __post_init__(self) -> None:
        _check_number("timeout", self.timeout)
        if self.requests_per_second is not None:
            _check_number("requests_per_second", self.requests_per_second)
        for name, value, least in (
            ("retries", self.retries, 0),
            ("concurrency", self.concurrency, 1),
            ("max_response_bytes", self.max_response_bytes, 1),
        ):
            check_integer(name, value, least)
        if not isinstance(self.headers_env, Mapping | None) or not all(map(_is_name, self._variables.items())):
            raise OptionError(
                "token_env or headers_env does not name environment variables, expected token_env='MY_TOKEN' or "
                "headers_env={'X-API-Key': 'MY_KEY'}: the credentials themselves stay in the environment"
            )

    @property
    def _variables(self) -> dict[str, str]:
        """The environment variable of each header that holds a credential."""
        token = {} if self.token_env is None else {"Authorization": self.token_env}
        return token | dict(self.headers_env or {})

    def headers(self) -> dict[str, str]:
        """Return the headers with the credentials, which are read from the environment."""
        headers = {header: _value(variable, header) for header, variable in self._variables.items()}
        if self.token_env is not None:
            headers["Authorization"] = f"Bearer {headers['Authorization']}"
        return headers


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise OptionError(f"{name} is {value!r:.60}, expected a positive number")


def _is_name(item: tuple[object, object]) -> bool:
    """Return whether a header and a variable have names that a header and a variable can have."""
    header, variable = item
    return (
        isinstance(header, str)
        and bool(header)
        and header.replace("-", "a").replace("_", "a").isalnum()
        and header.isascii()
        and isinstance(variable, str)
        and variable.isidentifier()
    )


def _value(variable: str, header: str) -> str:
    """Return the value of a variable. The messages do not name the variable: it may be the credential, by mistake."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise OptionError(
            f"the environment variable for the header {header} is not set, expected the credential in the environment "
            "of this process and of every worker; token_env and headers_env hold the name of the variable"
        )
    if not (value.isascii() and value.isprintable()):
        raise OptionError(
            f"the environment variable for the header {header} has characters that a header cannot have, expected "
            "printable ASCII"
        )
    return value


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
    passing
        Further statuses after which a request is sent again.
    """

    def __init__(self, url: str, connection: Connection, passing: Sequence[int] = ()) -> None:
        self.url, self._connection, self._passing = check_url(url), connection, (*_PASSING, *passing)
        try:
            host = httpx.URL(self.url).host
        except (httpx.InvalidURL, UnicodeError):
            host = ""
        if not host:
            raise OptionError(f"the URL {self.url!r:.200} has no valid host, expected one as in https://models.example")
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
        """Return the JSON at a path; None if the server has no such path."""
        return self._run(lambda: self._exchanged("GET", path))

    def post(
        self,
        path: str,
        bodies: Sequence[Any],
        params: dict[str, str] | None = None,
        *,
        rejected: list[Any] | None = None,
    ) -> list[Any]:
        """Send values as JSON to a path, side by side, and return the JSON of the answers in the order of the values.

        If one fails, the others are cancelled. The JSON of the answers after which one was sent again is appended to
        `rejected`.
        """
        return self._run(lambda: self._all(path, bodies, params or {}, rejected))

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

    async def _all(
        self, path: str, bodies: Sequence[Any], params: dict[str, str], rejected: list[Any] | None
    ) -> list[Any]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._exchanged("POST", path, body, params, rejected)) for body in bodies]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _exchanged(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: dict[str, str] | None = None,
        rejected: list[Any] | None = None,
    ) -> Any:
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
                except (httpx.RequestError, httpx.InvalidURL, UnicodeError) as error:  # of the address it redirects to
                    raise ServiceError(f"{self._place(request)} {self._described(error)}") from None
            self._reached = True
            if answer.status not in self._passing:
                return self._content(request, answer)
            if rejected is not None:
                with suppress(ValueError, RecursionError):
                    rejected.append(json.loads(answer.body))
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

"""A chat model is a function from messages to text: how it is asked side by side, kept and paid for."""

import inspect
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock, RLock, Thread
from typing import Any, Self, Unpack

from mase.defaults import check_integer, is_real
from mase.document import valid_text
from mase.errors import BudgetSpentError, InvalidTextError, MaseError, ModelError, OptionError
from mase.models.chat.archive import Archive, Message, Reply, Request
from mase.models.chat.code import code_of
from mase.models.chat.completions import MAX_TOKENS, Completions
from mase.models.chat.measures import Labels, Reader
from mase.models.http.client import Background, ConnectionOptions
from mase.models.language.base import Prompt
from mase.platforms import asks_to_end

Messages = list[Message]
Call = Callable[[Messages], str | Reply | Awaitable[str | Reply]]

# Where nobody counts tokens. English has about four characters a token, and other scripts fewer.
_CHARACTERS_PER_TOKEN = 4
_ANSWER = 128  # tokens of an answer, before the first one, where requests have no limit
# Answers to the whole conversation, where they vary and where that is not known; one where they do not.
_REPEATS, _REPEATS_UNKNOWN = 3, 2


@dataclass(frozen=True, slots=True)
class Bill:
    """What requests cost.

    Attributes
    ----------
    requests, prompt_tokens, completion_tokens
        How many there are, of how many tokens, and the tokens of the answers.
    cost
        The price; None without prices.
    estimated
        Whether tokens were not counted by a server: four characters then count as one token.
    """

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    estimated: bool

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __sub__(self, other: "Bill") -> "Bill":
        counts = ("requests", "prompt_tokens", "completion_tokens")
        left: dict[str, Any] = {name: getattr(self, name) - getattr(other, name) for name in counts}
        return replace(self, **left, cost=None if self.cost is None else self.cost - (other.cost or 0.0))

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        price = "" if self.cost is None else f", {about}{self.cost:.4g} in the unit of the prices"
        noun = "request" if self.requests == 1 else "requests"
        return f"{self.requests:,} {noun}, {about}{self.tokens:,} tokens{price}"


@dataclass(slots=True)
class _Ledger:
    """The answers that a model has used so far, by their keys, and what they cost, whoever paid for them."""

    replies: dict[str, Reply] = field(default_factory=dict)
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    longest: int = 0  # tokens of an answer
    by_length: int = 0  # tokens of the prompts as they are estimated
    estimated: bool = False
    sent: int = 0  # requests of this process

    def use(self, request: Request, reply: Reply) -> None:
        self.replies[request.key] = reply
        prompt, completion, by_length = reply.prompt_tokens, reply.completion_tokens, _tokens(request.messages)
        answered = _count(reply.text) if completion is None else completion
        self.requests += 1 + reply.n_rejected
        self.by_length += by_length
        self.prompt_tokens += by_length if prompt is None else prompt
        self.completion_tokens += answered
        self.estimated |= prompt is None or completion is None
        self.longest = max(self.longest, answered)


class ChatOptions(ConnectionOptions, total=False):
    """Keywords of `Chat` and of the connection of `Chat.openai`."""

    name: str | None
    labels: Labels | None
    prompt: Prompt | None
    read: Callable[[str], str | None] | str | None
    varies: bool | None
    archive: str | os.PathLike[str] | None
    prices: tuple[float, float] | None
    max_total_tokens: int | None
    max_cost: float | None


class Chat:
    """A chat model that returns text and nothing else.

    `mase.cite` says which parts of a conversation made its answer. With `labels` and a `prompt` it is a classifier of
    texts, which `mase.Explainer` explains.

    Parameters
    ----------
    call
        A function from messages to the text of the answer, sync or `async`. Messages are a list of dicts with "role"
        and "content", both of them texts.
    name
        Name for provenance and for the archive; that of the function by default.
    labels, prompt, read
        Names of labels; the prompt for a text, in which `{text}` or the names of fields stand for it; and what reads
        the label of an answer, if not its name as a word: a function, or a regular expression (for each label, as a
        mapping, or one whose first group is the label).
    varies
        Whether answers to the same messages differ. None, if that is not known, asks for the first answer twice.
    archive
        A file to which every answer is appended before it is used. What is in it is not asked again, unless the code of
        the function was changed (see `mase.models.chat.code.code_of`).
    concurrency
        Number of requests at the same time.
    prices
        The price of a million tokens of prompts, and of a million tokens of answers.
    max_total_tokens, max_cost
        Bounds of the tokens and the price of all answers that this object uses, those of the archive among them. An
        explanation that reaches one ends early, with a note; before it has answers enough for scores, with an error.
        An answer is reckoned to be as long as the longest so far, so requests that are under way at the same time
        (`concurrency`) may pass the bounds by what they are longer.

    Attributes
    ----------
    address, model, parameters
        Where and how requests are sent; "" and empty for a function.

    Raises
    ------
    OptionError
        If an option is invalid.
    LockedError, DataError
        If another process writes the archive, or it is something else. This is raised by the first request.

    Examples
    --------
    >>> chat = Chat(lambda messages: messages[-1]["content"].upper(), name="loud")
    >>> chat.reply([{"role": "user", "content": "hello"}]).text
    'HELLO'
    """

    def __init__(
        self,
        call: Call,
        *,
        name: str | None = None,
        labels: Labels | None = None,
        prompt: Prompt | None = None,
        read: Callable[[str], str | None] | str | None = None,
        varies: bool | None = None,
        archive: str | os.PathLike[str] | None = None,
        concurrency: int = 8,
        prices: tuple[float, float] | None = None,
        max_total_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> None:
        if not callable(call):
            raise OptionError(
                f"call is of type {type(call).__name__}, expected a function from messages to text; "
                "mase.models.Chat.openai(url, model) asks a server"
            )
        self.call, self.varies = call, varies
        self.address, self.model = str(getattr(call, "address", "")), str(getattr(call, "model", ""))
        self.parameters: Mapping[str, Any] = dict(getattr(call, "parameters", {}))
        self._code = "" if self.address else code_of(call)
        self.name = name or self.model or str(getattr(call, "__qualname__", type(call).__name__))
        if labels is None and (prompt, read) != (None, None):
            raise OptionError("prompt or read is given without labels, expected labels=['positive', 'negative']")
        self.reader = None if labels is None else Reader(labels, read)
        self.labels = None if labels is None else tuple(labels)
        self.prompt, self.archive = prompt, None if archive is None else os.fspath(archive)
        self.concurrency = check_integer("concurrency", concurrency, 1)
        self.prices, self.max_total_tokens, self.max_cost = _prices(prices), max_total_tokens, max_cost
        if max_total_tokens is not None:
            check_integer("max_total_tokens", max_total_tokens, 1)
        if max_cost is not None and not (is_real(max_cost) and 0 < max_cost < math.inf and prices is not None):
            raise OptionError(f"max_cost is {max_cost!r:.60} and prices {prices!r:.60}, expected positive numbers")
        self._begin()

    @classmethod
    def openai(
        cls,
        url: str,
        model: str | None = None,
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = MAX_TOKENS,
        parameters: Mapping[str, Any] | None = None,
        **options: Unpack[ChatOptions],
    ) -> Self:
        """Return the chat model behind an OpenAI-compatible address.

        Parameters
        ----------
        url
            The address, as in ``"http://localhost:8000"``, with or without ``/v1/chat/completions``.
        model
            Name of the model on the server; its only one by default.
        temperature, max_tokens
            Sent with every request; None leaves one out, as some models insist.
        parameters
            Further keys of the request, such as ``{"seed": 1}``.
        **options
            Those of `Chat`; answers are taken to vary at a temperature above 0, and to be compared at 0. And
            `token_env` (the name of the environment variable with the key), `headers_env`, `timeout`, `retries`,
            `concurrency`, `requests_per_second` and `max_response_bytes`, as of `mase.models.CompletionServer`.
        """
        given: dict[str, Any] = dict(options)
        connection: Any = {name: given.pop(name) for name in ConnectionOptions.__annotations__ if name in given}
        call = Completions(
            url, model, temperature=temperature, max_tokens=max_tokens, parameters=parameters, connection=connection
        )
        if given.get("varies") is None and temperature != 0:
            given["varies"] = True
        return cls(call, concurrency=call.connection.concurrency, **given)

    def _begin(self) -> None:
        self._ledger, self._lock, self._loop_lock = _Ledger(), RLock(), Lock()
        self._file: Archive | None = None
        self._background: Background | None = None

    def __repr__(self) -> str:
        return f"<Chat {self.name!r}{'' if self.labels is None else f', labels={list(self.labels)}'}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, without the answers and the open archive."""
        begun = {"_ledger", "_lock", "_loop_lock", "_file", "_background"}
        return {name: value for name, value in self.__dict__.items() if name not in begun}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    @property
    def settings(self) -> dict[str, Any]:
        """What results record of it: the parameters of requests, and of a function a checksum of its code."""
        return {"parameters": dict(self.parameters), **({"code": self._code} if self._code else {})}

    def archived(self, path: str | os.PathLike[str]) -> Self:
        """Return the same model with an archive. Both share the answers so far, the bill and its limits."""
        copied = copy(self)
        copied.archive, copied._ledger, copied._lock = os.fspath(path), self._ledger, self._lock
        return copied

    def close(self) -> None:
        """Close the archive, so that others can write it; the next request opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    @property
    def repeats(self) -> int:
        """How many answers to the whole conversation are planned."""
        return {None: _REPEATS_UNKNOWN, False: 1, True: _REPEATS}[self.varies]

    @property
    def repaired(self) -> bool:
        """Whether the archive ended with a damaged line, which was removed."""
        return self._file is not None and self._file.repaired

    @property
    def bill(self) -> Bill:
        """What all answers that were used so far cost, whoever paid for them."""
        item = self._ledger
        return self._bill(item.requests, item.prompt_tokens, item.completion_tokens, estimated=item.estimated)

    @property
    def n_sent(self) -> int:
        """Number of requests that this object sent; answers from the archive are none."""
        return self._ledger.sent

    def estimate(self, messages: Sequence[Mapping[str, Any]], n_requests: int) -> Bill:
        """Return what an explanation with so many requests costs at most, before the first one.

        Parts are left out of the conversation in about half of the requests, so most are shorter. An answer counts as
        long as the longest so far, or as `max_tokens`.
        """
        prompt, answer = _tokens(conversation(messages)), self._answer_tokens
        return self._bill(n_requests, n_requests * prompt, n_requests * answer, estimated=True)

    def reply(self, messages: Sequence[Mapping[str, Any]], repeat: int = 0) -> Reply:
        """Return the answer to messages; with another `repeat`, another answer of a model whose answers vary."""
        return self.replies([(conversation(messages), repeat)])[0]

    def replies(self, asked: Sequence[tuple[Messages, int]]) -> list[Reply]:
        """Return the answers to n conversations, each with the number of the repeat.

        What was answered before, here or in the archive, is not asked again. Of the others each is asked once, side by
        side, and appended to the archive as soon as it is there.

        Raises
        ------
        BudgetSpentError
            If the tokens or the money would not suffice for all of them; then none is asked.
        ModelError
            If the function fails, or returns no text. Answers that came before are kept.
        """
        with self._lock:
            model = self.model or self.name
            about = (self.address, model, self.parameters)
            requests = [Request(*about, messages, repeat, self._code) for messages, repeat in asked]
            new = {request.key: request for request in requests if request.key not in self._ledger.replies}
            self._check_limits([*new.values()])  # also of those in the archive: a second run ends where the first did
            if self.archive is not None and self._file is None:
                self._file = Archive(self.archive)
            kept = {} if self._file is None else self._file.replies
            for key in new.keys() & kept.keys():
                self._ledger.use(new.pop(key), kept[key])
            if self._file is not None:
                for request in requests:
                    if request.key not in kept and request.key not in new:  # answered without this archive
                        self._file.add(request, self._ledger.replies[request.key])
            if new:
                self._ask([*new.values()])
            return [self._ledger.replies[request.key] for request in requests]

    def _ask(self, requests: Sequence[Request]) -> None:
        """Ask side by side. After a failure what is under way is awaited and kept, and nothing else is asked.

        After an interruption nothing is awaited: the threads end with the process.
        """
        waiting = deque((request, Future[Reply]()) for request in requests)
        futures = [future for _, future in waiting]
        for _ in range(min(self.concurrency, len(requests))):
            Thread(target=self._answer, args=(waiting,), name="mase-chat", daemon=True).start()
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            for future in futures:
                future.cancel()
        wait(futures)
        errors = [None if future.cancelled() else future.exception() for future in futures]
        for future, request, error in zip(futures, requests, errors, strict=True):
            if not (future.cancelled() or error):
                self._ledger.use(request, future.result())
                self._ledger.sent += 1 + future.result().n_rejected
        for error in filter(None, errors):
            raise error

    def _answer(self, waiting: "deque[tuple[Request, Future[Reply]]]") -> None:
        """Answer requests until none waits; those that were cancelled are told of it."""
        while waiting:
            try:
                request, future = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._answered(request))
                except BaseException as error:  # noqa: BLE001 - raised by the thread that asks
                    future.set_exception(error)

    def _answered(self, request: Request) -> Reply:
        """Return the answer to a request, once it is in the archive."""
        messages = [dict(message) for message in request.messages]
        try:
            answer = self.call(messages)
            if inspect.isawaitable(answer):
                answer = self._loop.run(_awaited(answer))
        except (MaseError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            if asks_to_end(error):
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise ModelError(
                f"{self.name} raised {reason}, expected a text; it was given a list of dicts with role and content"
            ) from error
        if isinstance(answer, str):
            answer = Reply(answer)
        if not isinstance(answer, Reply):
            kind = type(answer).__name__
            raise ModelError(f"{self.name} returned a {kind}, expected the text of the answer; return a str")
        answer = replace(answer, text=valid_text(answer.text))
        if self._file is not None:
            self._file.add(request, answer)
        return answer

    @property
    def _loop(self) -> Background:
        with self._loop_lock:  # one loop for all, as a client that requests share belongs to one
            if self._background is None:
                self._background = Background(_nothing)
            return self._background

    def _check_limits(self, requests: Sequence[Request]) -> None:
        """Raise an error if the limits do not allow for requests, whose answers are as long as the longest so far."""
        if not requests or (self.max_total_tokens is None and self.max_cost is None):
            return
        item, n = self._ledger, len(requests)
        more = sum(_tokens(request.messages) for request in requests)
        more = math.ceil(more * item.prompt_tokens / item.by_length) if item.by_length else more
        tokens = (item.prompt_tokens + more, item.completion_tokens + n * self._answer_tokens)
        bill = self._bill(item.requests + n, *tokens, estimated=True)
        limits = {
            f"max_total_tokens={self.max_total_tokens}": bill.tokens > (self.max_total_tokens or math.inf),
            f"max_cost={self.max_cost}": (bill.cost or 0.0) > (self.max_cost or math.inf),
        }
        for limit in (name for name, is_passed in limits.items() if is_passed):
            raise BudgetSpentError(f"{self.bill} are used, and more would exceed {limit}; raise the limit")

    @property
    def _answer_tokens(self) -> int:
        """Tokens of the longest answer so far; before the first one, those that a request allows for."""
        limit = self.parameters.get("max_tokens") or self.parameters.get("max_completion_tokens")
        return self._ledger.longest or (limit if isinstance(limit, int) else _ANSWER)

    def _bill(self, requests: int, prompt: int, completion: int, *, estimated: bool) -> Bill:
        cost = None if self.prices is None else (prompt * self.prices[0] + completion * self.prices[1]) / 1e6
        return Bill(requests, prompt, completion, cost, estimated)


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


async def _nothing() -> None:
    """Nothing is to be closed."""


def conversation(messages: Sequence[Mapping[str, Any]]) -> Messages:
    """Return messages with texts as their contents; a list of text parts becomes one text, joined by blank lines.

    Raises
    ------
    InvalidTextError
        If they are no messages.
    """
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence) or not messages:
        raise InvalidTextError(f"messages is {messages!r:.80}, expected a list of dicts with 'role' and 'content'")
    result = []
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InvalidTextError(f"messages has {message!r:.80}, expected a dict with 'role' and 'content'")
        result.append({**message, "content": "\n\n".join(text_parts(message))})
    return result


def asked_with(prompt: Prompt) -> Messages:
    """Return a prompt as messages; a text is a message of the user."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else conversation(prompt)


def text_parts(message: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message: its content, or the text parts of it."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [content or ""]
    given = content if isinstance(content, list | tuple) else ()
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in given]
    if not parts or not all(isinstance(part, str) for part in parts):
        raise InvalidTextError(
            f"a message of the role {message['role']!r} has the content {content!r:.80}, expected a text, or a list of "
            "text parts as in {'type': 'text', 'text': 'Hello.'}"
        )
    return [str(part) for part in parts]


def _prices(prices: tuple[float, float] | None) -> tuple[float, float] | None:
    if prices is None:
        return None
    try:
        of_prompt, of_answer = map(float, prices)
    except (TypeError, ValueError):
        of_prompt = of_answer = -1.0
    if not (0 <= of_prompt < math.inf and 0 <= of_answer < math.inf):
        raise OptionError(f"prices is {prices!r:.60}, expected two numbers: of a million tokens in, and out")
    return of_prompt, of_answer


def _count(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def _tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    return sum(_count(str(message["content"])) for message in messages)

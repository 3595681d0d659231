"""Completion servers: which dialect one speaks, and a test before its scores are trusted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from mase.arrays import Floats
from mase.errors import CapabilityError, EmptyTextError, OptionError, ScoreMismatchError, ServiceError
from mase.models.description import LanguageDescription
from mase.models.http.client import Client, Connection, ConnectionOptions
from mase.models.http.service import check_batch_size
from mase.models.language.base import Continuation, Cut, LanguageModel, Prompt
from mase.models.language.dialects import ByIds, ByText, Echo, EchoText, LlamaCpp, Splitting, Vllm
from mase.models.language.server_tokens import (
    INCOMPLETE,
    Dialect,
    LlamaCppTokenClient,
    Output,
    Row,
    TokenClient,
    VllmTokenClient,
)
from mase.models.names import check_url
from mase.text import Span

if TYPE_CHECKING:
    from mase.models.language.server_tokens import LocalTokenClient


@dataclass(frozen=True, slots=True)
class Server:
    """A server, its dialect, how texts become tokens for it, and how many rows a request has."""

    client: Client
    dialect: Dialect
    splitting: Splitting
    batch_size: int

    def scores(self, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities of the tokens of n answers, which are asked for side by side."""
        starts = range(0, len(rows), self.batch_size)
        batches = [rows[start : start + self.batch_size] for start in starts]
        answers = self.client.post(self.dialect.path, [self.dialect.score_body(batch) for batch in batches])
        result: list[list[float]] = []
        for batch, answer in zip(batches, answers, strict=True):
            result += self.dialect.scores(answer, batch)
        return result

    def generated(self, prompts: Sequence[tuple[int, ...] | str], max_new_tokens: int) -> list[Output]:
        """Return the greedy continuations of n prompts."""
        bodies = [self.dialect.generate_body(prompt, max_new_tokens) for prompt in prompts]
        return [self.dialect.generated(answer) for answer in self.client.post(self.dialect.path, bodies)]


_PROMPTS = ("The capital of France is", "One, two, three, four, five, six, seven,")
_N_TOKENS = 8

# Rows that a check evaluates.
N_CHECKED = 2 * len(_PROMPTS) + 1


def check(server: Server, tolerance: float) -> None:
    """Compare the log-probabilities of greedy answers, as a server reports them, with its scores of the same tokens.

    Raises
    ------
    ScoreMismatchError
        If a difference is larger than `tolerance`.
    ServiceError
        If the server generates nothing, or cannot be compared.
    """
    prompts = server.splitting.prompts(_PROMPTS)
    outputs = server.generated(prompts, _N_TOKENS)
    pairs = [(prompt, output) for prompt, output in zip(prompts, outputs, strict=True) if output.text.strip()]
    answers = [_common(server.splitting.generated(output), output) for _, output in pairs]
    rows = [Row(prompt, answer) for (prompt, _), answer in zip(pairs, answers, strict=True) if answer]
    if not rows:
        raise ServiceError(
            f"the server generated {[output.text for output in outputs]!r:.80}, expected tokens to check its scores by"
        )
    reported = [output.log_probabilities for (_, output), answer in zip(pairs, answers, strict=True) if answer]
    crossed = Row(rows[0].prompt, rows[-1].answer)  # a server may know only what it would generate
    for row, given, before in zip(rows, server.scores([*rows, crossed]), reported, strict=False):
        _compare(row.answer, before[: len(given)], given, tolerance)


def _common(answer: Continuation, output: Output) -> Continuation:
    """Return the first tokens of an answer, as far as the server generated the same.

    Where it says no ids, the text was split again, perhaps otherwise.
    """
    if output.ids is not None:
        return answer
    same = 0
    for (start, end), token in zip(answer.spans, output.tokens, strict=False):
        if answer.text[start:end] != token or INCOMPLETE in token:
            break
        same += 1
    end = answer.spans[same - 1][1] if same else 0
    return Continuation(answer.text[:end], answer.ids[:same], answer.spans[:same])


def _compare(answer: Continuation, reported: Sequence[float], given: Sequence[float], tolerance: float) -> None:
    if max(abs(item - other) for item, other in zip(reported, given, strict=True)) <= tolerance:
        return
    tokens = [answer.text[start:end] for start, end in answer.spans]
    raise ScoreMismatchError(
        f"the server reported the log-probabilities {_listed(reported)} of the tokens {tokens!r} while it generated "
        f"them, and {_listed(given)} when it was given the same tokens to score, expected differences of at most "
        f"{tolerance:g}; its scores cannot be used. Ask another server, or pass a larger tolerance for one that "
        "computes with low precision"
    )


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


DIALECTS: Mapping[str, type[Vllm | LlamaCpp | Echo]] = {
    "vllm": Vllm,
    "llama.cpp": LlamaCpp,
    "echo": Echo,
    "echo-text": EchoText,
}

_MODELS, _PROPS, _CHAT = "/v1/models", "/props", "/v1/chat/completions"


def only_model(client: Client, model: str | None, path: str = _MODELS) -> str:
    """Return the name of the model that is meant; the only one that the server lists at `path` if none is given."""
    try:
        answer = client.get(path)  # also where a name is given: a server that cannot be reached is asked nothing else
    except ServiceError as error:
        if model is not None:
            raise
        raise ServiceError(f"{error}; if it serves models but cannot list them, pass model='NAME'") from error
    if model is not None:
        return model
    entries = answer.get("data") if isinstance(answer, dict) else None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    if not names:
        raise OptionError(
            f"no model is named and {client.url} lists none at {path}, expected model='NAME'; or the address before "
            "/v1, as in http://localhost:8000"
        )
    if len(names) != 1 or not isinstance(names[0], str):
        raise OptionError(
            f"no model is named and {client.url} serves {names!r:.200}, expected model='NAME' with one of them"
        )
    return names[0]


def open_server(
    client: Client, model: str, *, dialect: str, tokenizer: Any, batch_size: int | None, tolerance: float
) -> Server:
    """Return the server in the dialect that is given, or in the first in which its scores are true."""
    if dialect not in ("auto", *DIALECTS):
        raise OptionError(f"dialect is {dialect!r:.60}, expected 'auto', {', '.join(map(repr, DIALECTS))}")
    native = dialect == "llama.cpp" or (dialect == "auto" and _is_llama_cpp(client))
    local = None if tokenizer is None else _local(tokenizer, model)
    token_client = local or (_coder(client, model, native=native) if dialect != "echo-text" else None)
    if dialect != "auto":
        names = [dialect]
    elif native:
        names = ["llama.cpp"]
    else:
        names = ["echo-text"] if token_client is None else ["vllm", "echo", "echo-text"]
    errors: dict[str, ServiceError] = {}
    for name in names:
        server = _server(client, DIALECTS[name](model), token_client, local, batch_size)
        try:
            check(server, tolerance)
        except ServiceError as error:
            errors[name] = error
        else:
            return server
    raise _worst(client, model, errors)


def _is_llama_cpp(client: Client) -> bool:
    try:
        answer = client.get(_PROPS)
    except ServiceError:  # such as a page in HTML
        return False
    return isinstance(answer, dict) and "default_generation_settings" in answer


def _local(tokenizer: Any, owner: str) -> "LocalTokenClient":
    from mase.models.language.server_tokens import LocalTokenClient  # which needs torch

    return LocalTokenClient.of(tokenizer, owner)


def _coder(client: Client, model: str, *, native: bool) -> TokenClient | None:
    """Return the server as the one who turns texts into token ids; None if it does not."""
    if native:
        return LlamaCppTokenClient(client)
    token_client = VllmTokenClient(client, model)
    try:
        token_client.continuation("a")
    except (ServiceError, EmptyTextError):  # or the route is another server's, which reads another key
        return None
    return token_client


def _chats(client: Client, model: str) -> bool:
    """Return whether a server answers messages."""
    body = {"model": model, "messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 1}
    try:
        (answer,) = client.post(_CHAT, [body])
    except ServiceError:
        return False
    choices = answer.get("choices") if isinstance(answer, dict) else None
    return isinstance(choices, list) and any(isinstance(choice, dict) and "message" in choice for choice in choices)


def _server(
    client: Client,
    dialect: Dialect,
    token_client: TokenClient | None,
    local: "LocalTokenClient | None",
    batch_size: int | None,
) -> Server:
    splitting: Splitting
    if isinstance(dialect, EchoText):
        splitting = ByText(dialect, lambda body: client.post(dialect.path, [body])[0], local)
    elif token_client is None:
        raise CapabilityError(
            f"{client.url} has no /tokenize, expected the tokenizer of the model as tokenizer, or dialect='echo-text'"
        )
    else:
        splitting = ByIds(token_client)
    return Server(client, dialect, splitting, batch_size or dialect.batch_size)


def _worst(client: Client, model: str, errors: Mapping[str, ServiceError]) -> ServiceError:
    """Return the error to raise: the first about false scores, one about a server that only chats, or all reasons."""
    false = next((error for error in errors.values() if isinstance(error, ScoreMismatchError)), None)
    if false is None and _chats(client, model):
        return ServiceError(
            f"{client.url} chats, and does not say how likely a given answer is; expected "
            "completions with the log-probabilities of a prompt (echo=true and logprobs, as of vLLM, llama.cpp or "
            "text-generation-inference). mase.models.Chat.openai (--chat) explains what only answers, by comparing "
            "new answers with the first one"
        )
    if false is not None or len(errors) == 1:
        return false or next(iter(errors.values()))
    reasons = "; ".join(f"as {name}: {error}" for name, error in errors.items())
    return ServiceError(f"{client.url} scores no given answer, expected a server that does ({reasons})")


_BELOW = re.compile(r"(/v1)?(/chat)?(/completions)?$")  # what users copy of an address, besides the server


class CompletionServer(LanguageModel):
    """A language model behind a URL, as of vLLM, llama.cpp, and other servers that score a given answer.

    The server is checked when it is opened: the log-probabilities that it reports while it generates must come back
    when it scores the same tokens. See `mase.models.language.base.LanguageModel`.

    Parameters
    ----------
    base_url
        Address of the server, as in ``"http://localhost:8000"``, with or without ``/v1``.
    model
        Name of the model on the server; its only one by default.
    dialect
        How the server is asked to score an answer: "vllm" (`prompt_logprobs`), "llama.cpp" (its own `/completion` with
        a grammar), "echo" (`echo` with `logprobs`, prompts as token ids) or "echo-text" (the same with text, for
        servers that take no ids, such as llama-cpp-python). "auto" takes the first in which the scores are true.
    tokenizer
        The tokenizer of the model, from transformers. Without it, the server splits texts and turns messages into
        prompts, if it has `/tokenize` (vLLM) or `/apply-template` (llama.cpp). "echo" needs it elsewhere, and so does
        any prompt of messages. With it, no request is needed for either.
    batch_size
        Number of prompts in a request; 8 with vLLM and 1 elsewhere by default.
    tolerance
        Largest difference of two log-probabilities of the same token, in nats, in the check of the server. Servers that
        compute in half precision differ a little between generating and scoring.
    name
        Name for provenance; that of the model by default.
    **connection
        `token_env`, `headers_env`, `timeout`, `retries`, `concurrency` and the other attributes of
        `mase.models.http.client.Connection`.

    Attributes
    ----------
    n_setup
        Number of rows that the check evaluated. They are no part of the cost of an explanation.

    Raises
    ------
    CapabilityError
        If the dialect needs a tokenizer.
    OptionError
        If an option is invalid, or the server has several models and none is named.
    ScoreMismatchError
        If the scores of the server are false. The message has both series of numbers.
    ServiceError
        If the server does not answer, or does not score given answers.

    Notes
    -----
    Generating is greedy, but for penalties that a server applies by default in the dialects "echo" and "echo-text".
    """

    name: str
    sha256 = None
    n_setup = N_CHECKED

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        *,
        dialect: str = "auto",
        tokenizer: Any = None,
        batch_size: int | None = None,
        tolerance: float = 0.5,
        name: str | None = None,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < np.inf:
            raise OptionError(f"tolerance is {tolerance!r:.60}, expected a positive number")
        given: dict[str, Any] = {"tokenizer": tokenizer, "batch_size": batch_size, "tolerance": tolerance}
        client = Client(_BELOW.sub("", check_url(base_url)), Connection(**connection))
        size = None if batch_size is None else check_batch_size(batch_size)
        asked = only_model(client, model)
        self._server = open_server(
            client, asked, dialect=dialect, tokenizer=tokenizer, batch_size=size, tolerance=tolerance
        )
        self._local = None if tokenizer is None else _local(tokenizer, asked)
        self.name = name or asked
        self._opened = base_url, {"model": asked, "dialect": self.dialect, "name": self.name, **given, **connection}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the call that opens and checks the server again; credentials are read from the environment there."""
        return _reopened, (type(self), *self._opened)

    @property
    def dialect(self) -> str:
        """The dialect that is used."""
        return next(name for name, kind in DIALECTS.items() if kind is type(self._server.dialect))

    @property
    def description(self) -> LanguageDescription:
        """What the server was taken for."""
        return LanguageDescription(f"completion server, asked as {self.dialect}")

    def special_spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of a text that are special tokens; none without a tokenizer, since a server does not say."""
        return () if self._local is None else self._local.tokenizer.special_spans(text)

    def generate(self, prompt: Prompt, max_new_tokens: int) -> Continuation:
        """Return the greedy continuation of a prompt, without the token that ends it.

        Raises
        ------
        CapabilityError
            If the prompt has messages, and nobody turns them into text.
        ModelError
            If the server answers nothing.
        ServiceError
            If a request fails, or its answer does not have the form of the dialect.
        """
        (output,) = self._server.generated(self._server.splitting.prompts([prompt]), max_new_tokens)
        cut: Cut | None = None
        if output.cut:
            cut = "window" if len(output.tokens) < max_new_tokens else "max-new-tokens"
        return replace(self._server.splitting.generated(output), cut=cut)

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer.

        Raises
        ------
        EmptyTextError
            If it has none.
        ServiceError
            If a request fails.
        """
        return self._server.splitting.continuation(answer)

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
        """Return, for each answer, the natural log-probabilities `(n, t)` of its t tokens after each of n prompts.

        Raises
        ------
        CapabilityError
            If a prompt has messages, and nobody turns them into text.
        ServiceError
            If a request fails, or a number is missing, is none, or belongs to other tokens.
        """
        n, asked = len(prompts), self._server.splitting.prompts(prompts)
        scores = self._server.scores([Row(prompt, answer) for answer in answers for prompt in asked])
        return [
            np.array(scores[index * n : (index + 1) * n], dtype=np.float64).reshape(n, len(answer))
            for index, answer in enumerate(answers)
        ]


def _reopened(kind: type[CompletionServer], base_url: str, options: dict[str, Any]) -> CompletionServer:
    return kind(base_url, **options)

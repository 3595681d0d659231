"""Language models behind a URL: servers with the routes of OpenAI that score a given answer."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.models.http.address import check_url
from mase.models.http.client import Client
from mase.models.http.connection import Connection, ConnectionOptions
from mase.models.http.service import check_batch_size
from mase.models.language.completions.dialect import Row
from mase.models.language.completions.opening import DIALECTS, only_model, open_server
from mase.models.language.completions.trust import N_CHECKED
from mase.models.language.description import LanguageDescription
from mase.models.language.protocol import Continuation, Cut, Prompt

__all__ = ["CompletionServer"]

_BELOW = re.compile(r"(/v1)?(/chat)?(/completions)?$")  # what users copy of an address, besides the server


class CompletionServer:
    """A language model behind a URL, as of vLLM, llama.cpp, and other servers that score a given answer.

    The server is checked when it is opened: the log-probabilities that it reports while it generates must come back
    when it scores the same tokens. See `mase.models.language.protocol.LanguageModel`.

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
        `mase.models.http.connection.Connection`.

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

"""Find the dialect of a completion server: the first of those that it may speak in which its scores are true."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mase.errors import CapabilityError, EmptyTextError, OptionError, ScoreMismatchError, ServiceError
from mase.models.http.client import Client
from mase.models.language.completions.coder import Coder, LlamaCppCoder, VllmCoder
from mase.models.language.completions.dialect import Dialect
from mase.models.language.completions.echo import Echo, EchoText
from mase.models.language.completions.llama_cpp import LlamaCpp
from mase.models.language.completions.server import Server
from mase.models.language.completions.splitting import ByIds, ByText, Splitting
from mase.models.language.completions.trust import check
from mase.models.language.completions.vllm import Vllm

if TYPE_CHECKING:
    from mase.models.language.completions.local import LocalCoder

__all__ = ["DIALECTS", "only_model", "open_server"]

DIALECTS: Mapping[str, type[Vllm | LlamaCpp | Echo]] = {
    "vllm": Vllm,
    "llama.cpp": LlamaCpp,
    "echo": Echo,
    "echo-text": EchoText,
}
_MODELS, _PROPS, _CHAT = "/v1/models", "/props", "/v1/chat/completions"


def only_model(client: Client, model: str | None) -> str:
    """Return the name of the model that is meant; the only one of the server if none is given.

    Raises
    ------
    OptionError
        If the server has several, or does not say.
    ServiceError
        If it does not answer.
    """
    answer = client.get(_MODELS)  # also where a name is given: a server that cannot be reached is asked nothing else
    if model is not None:
        return model
    entries = answer.get("data") if isinstance(answer, dict) else None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    if not names:
        raise OptionError(
            f"no model is named and {client.url} lists none at {_MODELS}, expected model='NAME'; or the address before "
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
    """Return the server in the dialect that is given, or in the first in which its scores are true.

    Raises
    ------
    CapabilityError
        If the dialect needs a tokenizer, and there is none.
    OptionError
        If there is no such dialect.
    ScoreMismatchError
        If the server's scores are not true.
    ServiceError
        If it does not score given answers.
    """
    if dialect not in ("auto", *DIALECTS):
        raise OptionError(f"dialect is {dialect!r:.60}, expected 'auto', {', '.join(map(repr, DIALECTS))}")
    native = dialect == "llama.cpp" or (dialect == "auto" and _is_llama_cpp(client))
    local = None if tokenizer is None else _local(tokenizer, model)
    coder = local or (_coder(client, model, native=native) if dialect != "echo-text" else None)
    if dialect != "auto":
        names = [dialect]
    elif native:
        names = ["llama.cpp"]
    else:
        names = ["echo-text"] if coder is None else ["vllm", "echo", "echo-text"]
    errors: dict[str, ServiceError] = {}
    for name in names:
        server = _server(client, DIALECTS[name](model), coder, local, batch_size)
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


def _local(tokenizer: Any, owner: str) -> "LocalCoder":
    from mase.models.language.completions.local import LocalCoder  # which needs torch

    return LocalCoder.of(tokenizer, owner)


def _coder(client: Client, model: str, *, native: bool) -> Coder | None:
    """Return the server as the one who turns texts into token ids; None if it does not."""
    if native:
        return LlamaCppCoder(client)
    coder = VllmCoder(client, model)
    try:
        coder.continuation("a")
    except (ServiceError, EmptyTextError):  # or the route is another server's, which reads another key
        return None
    return coder


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
    client: Client, dialect: Dialect, coder: Coder | None, local: "LocalCoder | None", batch_size: int | None
) -> Server:
    splitting: Splitting
    if isinstance(dialect, EchoText):
        splitting = ByText(dialect, lambda body: client.post(dialect.path, [body])[0], local)
    elif coder is None:
        raise CapabilityError(
            f"{client.url} has no /tokenize, expected the tokenizer of the model as tokenizer, or dialect='echo-text'"
        )
    else:
        splitting = ByIds(coder)
    return Server(client, dialect, splitting, batch_size or dialect.batch_size)


def _worst(client: Client, model: str, errors: Mapping[str, ServiceError]) -> ServiceError:
    """Return the error to raise: the first about false scores, one about a server that only chats, or all reasons."""
    false = next((error for error in errors.values() if isinstance(error, ScoreMismatchError)), None)
    if false is None and _chats(client, model):
        return ServiceError(
            f"{client.url} chats, and does not say how likely a given answer is; expected "
            "completions with the log-probabilities of a prompt (echo=true and logprobs, as of vLLM, llama.cpp or "
            "text-generation-inference). What works with a chat route: a function that asks it and returns a number "
            "for each text, such as how far an answer agrees with the first one, passed as "
            "mase.models.Callable(function, outputs='values')"
        )
    if false is not None or len(errors) == 1:
        return false or next(iter(errors.values()))
    reasons = "; ".join(f"as {name}: {error}" for name, error in errors.items())
    return ServiceError(f"{client.url} scores no given answer, expected a server that does ({reasons})")

"""Chat models that only answer: the options of `mase explain` and `mase cite`, and what an address can."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mase.cli.options import comma_separated, options
from mase.errors import DataError

if TYPE_CHECKING:
    from mase.models.chat.chat import Chat
    from mase.models.chat.parts import Conversation


def _prices(context: click.Context, option: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    try:
        items = comma_separated(context, option, value)
        prices = None if items is None else tuple(map(float, items))
    except ValueError:
        prices = ()
    if prices is not None and len(prices) != 2:
        raise click.BadParameter(f"{value!r} is no pair of prices, expected IN,OUT as in 0.15,0.6")
    return prices


# Of every command that asks a chat model; they are taken out of the options by `taken`.
shared = options(
    click.option(
        "--chat", is_flag=True,
        help="The model only answers: ask the chat route of --server, or a function from messages to text (-m "
        "file.py:name), again without some parts.",
    ),
    click.option(
        "--archive", metavar="FILE",
        help="File of every answer, so that none is asked for twice. [default: beside the first --output]",
    ),
    click.option("--token-env", metavar="NAME", help="Environment variable that holds the key of the server."),
    click.option(
        "--temperature", type=click.FloatRange(0, 2), metavar="T", help="Temperature of a chat model. [default: 0]"
    ),
    click.option(
        "--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at the same time. [default: 8]"
    ),
    click.option(
        "--prices", callback=_prices, metavar="IN,OUT",
        help="Prices of a million tokens of prompts, and of answers.",
    ),
    click.option(
        "--max-total-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens after which to end early."
    ),
    click.option("--max-cost", type=float, metavar="C", help="Cost after which to end early; with --prices."),
)  # fmt: skip

classifying = options(
    click.option(
        "--labels", "chat_labels", callback=comma_separated, metavar="NAME,...",
        help="With --chat: the labels, one of which an answer names.",
    ),
    click.option(
        "--prompt", metavar="TEXT",
        help="With --chat: the prompt, in which {text} or {field} stands for what is explained.",
    ),
)  # fmt: skip

citing = options(
    click.option(
        "--messages", metavar="FILE", help="With --chat: a JSON list of messages, in place of --context and --query."
    ),
    click.option(
        "--measure", type=click.Choice(["overlap", "exact"]),
        help="With --chat: how answers are compared. [default: overlap, the F1 of their words]",
    ),
)  # fmt: skip

_SHARED = (
    "chat", "archive", "token_env", "temperature", "concurrency", "prices", "max_total_tokens", "max_cost",
)  # fmt: skip


def taken(given: dict[str, Any], *more: str) -> dict[str, Any]:
    """Take the options of chat models out of those of a command, without those that were not given.

    They have to be given with --chat.
    """
    values = {name: given.pop(name) for name in (*_SHARED, *more)}
    result = {name: value for name, value in values.items() if value is not None and value is not False}
    without = next((name for name in result if name != "chat"), None)
    if without is not None and "chat" not in result:
        raise click.UsageError(f"got {_option(without)} without --chat, expected both")
    return result


def _option(name: str) -> str:
    return f"--{name.removeprefix('chat_').replace('_', '-')}"


def is_typed(name: str) -> bool:
    """Return whether an option of the command that runs was typed."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def open_chat(
    typed: str | None, server: str | None, chosen: Mapping[str, Any], outputs: Sequence[str], *, max_tokens: int | None
) -> "Chat":
    """Return the chat model of a command: a name on a server, or the code of a function from messages to text."""
    from mase.models.chat.chat import Chat
    from mase.models.user_code import is_code, object_of

    given: dict[str, Any] = {name.removeprefix("chat_"): value for name, value in chosen.items() if name != "chat"}
    # The archive of answers, if nobody says where else; there is no place beside a stream, as of /dev/fd/3.
    is_stream = not outputs or Path(outputs[0]).is_relative_to("/dev") or Path(outputs[0]).is_fifo()
    beside = None if is_stream else f"{outputs[0]}.answers.jsonl"
    archive = given.setdefault("archive", beside)
    if server is not None:
        given |= {} if max_tokens is None else {"max_tokens": max_tokens}
        chat = Chat.openai(server, typed, **given)
    elif typed is None or not is_code(typed):
        raise click.UsageError("got --chat without --server, expected --server URL -m NAME, or code: -m file.py:name")
    else:
        _check_decided(chosen, "token_env", "temperature")
        if max_tokens is not None:
            raise click.UsageError("got --max-new-tokens with code, expected none: the code decides")
        result = object_of(typed)
        if isinstance(result, Chat):
            decided = ("chat",) if result.archive else ("chat", "archive")
            _check_decided(chosen, *(name for name in chosen if name not in decided))
            chat = result if result.archive or archive is None else result.archived(archive)
        else:
            chat = Chat(result, name=typed, **given)
    click.get_current_context().call_on_close(chat.close)
    return chat


def _check_decided(chosen: Mapping[str, Any], *names: str) -> None:
    for name in (name for name in names if name in chosen):
        raise click.UsageError(f"got {_option(name)} with code, expected none: the code decides")


def read_messages(file: str) -> list[Any]:
    """Return the messages of a JSON file: a list, or an object with the key "messages"."""
    from mase.files import read_bytes

    try:
        result = json.loads(read_bytes(Path(file)))
    except (ValueError, RecursionError) as error:
        raise DataError(f"cannot read {file!r} ({error}), expected a JSON list of messages") from error
    if isinstance(result, dict):
        result = result.get("messages")
    if not isinstance(result, list):
        raise DataError(f"{file!r} has no list of messages, expected one, as in [{{'role': 'user', 'content': '...'}}]")
    return result


def told_of_cost(chat: "Chat", conversation: "Conversation", given: Mapping[str, Any]) -> None:
    """Say what an explanation with the options that are given costs at most, before the first request."""
    from mase.cli import tell
    from mase.methods import configured
    from mase.models.chat.answers import METHOD
    from mase.units import splitter

    by, fields = splitter(given["units"]), conversation.document.fields
    n_units = sum(len(list(by.split(field.text))) for field in fields if not field.fixed)
    method = configured(given.get("method") or METHOD, n_samples=given.get("n_samples"))
    n_samples = method.budget(n_units, stops_early=given["stopping"].ruled)
    tell(f"at most {chat.estimate(conversation.messages(conversation.document.content), n_samples)}")


def answers_only(server: str, typed: str | None) -> dict[str, str] | None:
    """Return what an address can that chats, and says nothing of log-probabilities; None if it does not even chat."""
    from mase.errors import MaseError
    from mase.models.chat.chat import Chat

    question = [{"role": "user", "content": "Answer with the word yes."}]
    try:
        chat = Chat.openai(server, typed)
        first, second = chat.replies([(question, 0), (question, 1)])
    except MaseError:
        return None
    again = "the same when asked twice" if first.text == second.text else "differs when asked twice, at temperature 0"
    return {
        "model": f"{chat.name}, behind {chat.address}",
        "gives": "answers only, no log-probabilities of a given answer",
        "answers": f"“{first.text[:60]}” to “{question[0]['content']}”",
        "again": again,
        "way": "mase.models.Chat.openai, mase cite --chat and mase explain --chat: new answers are compared",
    }

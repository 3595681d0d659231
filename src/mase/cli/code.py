"""Open the model of a command: a name, a folder, a URL, or an object in the user's code."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from mase.models.language.protocol import LanguageModel
    from mase.models.protocol import Model

__all__ = ["LoadOptions", "check_unused", "open_language_model", "open_model", "set_longest_answer"]


class LoadOptions(TypedDict):
    """Options of a model that is loaded by its folder or name."""

    download: bool
    device: str | None
    trust_remote_code: bool


def open_model(typed: str, server: str | None = None, **options: Unpack[LoadOptions]) -> "Model":
    """Return the model that was typed: `module:name`, `file.py:name`, or a name, folder or URL for `mase.models.load`.

    Code is imported and run. With a server it is a language model there, the only one if no name was typed.

    Raises
    ------
    UsageError
        If an option is given that does not apply to code or to a URL.
    MaseError
        If there is no such model, or it cannot be opened (see `mase.models.code_reference.open_code`).
    """
    from mase.models import load
    from mase.models.code_reference import is_code, open_code
    from mase.models.loading import is_remote

    if server is not None:
        from mase.models.language.generated import Generated

        is_typed = click.get_current_context().get_parameter_source("model") is not ParameterSource.DEFAULT
        return Generated(open_language_model(typed if is_typed else None, server, **options))
    remote = is_remote(typed)
    if not remote and not is_code(typed):
        return load(typed, **options)
    what = "a model behind a URL" if remote else f"the code {typed!r}"
    check_unused(what, "the server" if remote else "it", options)
    return load(typed) if remote else open_code(typed)


def set_longest_answer(model: "Model", n: int | None) -> None:
    """Let a language model generate answers of at most `n` tokens; None leaves any model as it is.

    Raises
    ------
    UsageError
        If the model generates no answers, so that the option does not apply.
    """
    if n is None:
        return
    from mase.models.language.generated import Generated

    if not isinstance(model, Generated):
        raise click.UsageError(
            f"got --max-new-tokens with the model {model.name!r}, expected none: it generates no answers"
        )
    model.max_new_tokens = n


def open_language_model(typed: str | None, server: str | None, **options: Unpack[LoadOptions]) -> "LanguageModel":
    """Return the language model that was typed: a folder, a hub name, code, a description, or its name on a server.

    Raises
    ------
    UsageError
        If no model is given, a URL is given as the model, or an option that does not apply to code or to a server.
    MaseError
        If there is no such model, it cannot be opened, or it is no language model.
    """
    from mase.models.code_reference import is_code, open_code
    from mase.models.http.address import is_url
    from mase.models.language.opening import language_model
    from mase.models.loading import is_remote

    if server is not None:
        check_unused("a model on a server", "the server", options)
        from mase.models.language.completion_server import CompletionServer

        return CompletionServer(server, typed)
    if typed is None:
        raise click.UsageError("Missing option '-m' / '--model'.")
    if is_url(typed):
        raise click.UsageError(f"got the URL {typed} as --model, expected --server {typed} -m NAME, its name there")
    if is_code(typed) or is_remote(typed):
        check_unused(f"the {'code' if is_code(typed) else 'description'} {typed!r}", "it", options)
        return language_model(open_code(typed) if is_code(typed) else typed)
    from mase.models.language.loading import load_language_model

    return load_language_model(typed, **options)


def check_unused(what: str, decides: str, options: Mapping[str, Any]) -> None:
    """Check that no option is given that applies to a model that is loaded by its folder or name.

    Raises
    ------
    UsageError
        If one is.
    """
    option = next((name for name, value in options.items() if value not in (None, False)), None)
    if option is not None:
        raise click.UsageError(f"got --{option.replace('_', '-')} with {what}, expected none: {decides} decides")

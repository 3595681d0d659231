"""Open the model of a command: a name, a folder, a URL, or an object in the user's code."""

import click

from mase.models.protocol import Model

__all__ = ["open_model"]


def open_model(typed: str, *, download: bool, device: str | None, trust_remote_code: bool) -> Model:
    """Return the model that was typed: `module:name`, `file.py:name`, or a name, folder or URL for `mase.models.load`.

    Code is imported and run.

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

    remote = is_remote(typed)
    if not remote and not is_code(typed):
        return load(typed, download=download, device=device, trust_remote_code=trust_remote_code)
    given = {"--download": download, "--device": device is not None, "--trust-remote-code": trust_remote_code}
    option = next((name for name, is_given in given.items() if is_given), None)
    if option is not None:
        what = "a model behind a URL, expected none: the server" if remote else f"the code {typed!r}, expected none: it"
        raise click.UsageError(f"got {option} with {what} decides")
    return load(typed) if remote else open_code(typed)

"""Open the model of a command: a name, a folder, or a function, an estimator or an adapter in the user's code."""

import click

from mase.models.protocol import Model

__all__ = ["open_model"]


def open_model(typed: str, *, download: bool, device: str | None, trust_remote_code: bool) -> Model:
    """Return the model that was typed: `module:name`, `file.py:name`, or a name or folder for `mase.models.load`.

    Code is imported and run.

    Raises
    ------
    UsageError
        If an option is given that does not apply to code.
    MaseError
        If there is no such model, or it cannot be opened (see `mase.models.code_reference.open_code`).
    """
    from mase.models import load
    from mase.models.code_reference import is_code, open_code

    if not is_code(typed):
        return load(typed, download=download, device=device, trust_remote_code=trust_remote_code)
    given = {"--download": download, "--device": device is not None, "--trust-remote-code": trust_remote_code}
    option = next((name for name, is_given in given.items() if is_given), None)
    if option is not None:
        raise click.UsageError(f"got {option} with the code {typed!r}, expected none: the code itself decides")
    return open_code(typed)

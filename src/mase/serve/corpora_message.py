"""What the process that reads a corpus tells the server."""

import msgspec

__all__ = ["Message"]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """The share of the work that is done, or the type and the message of the error that ended it.

    `policy` is the security policy of the page, in the last message of a process that has written it.
    """

    share: float = 0.0
    error: str | None = None
    message: str = ""
    policy: str = ""

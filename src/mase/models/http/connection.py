"""How to talk to a model behind a URL: time-outs, retries, limits, and where its credentials are."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from mase.errors import OptionError
from mase.scalars import check_integer

__all__ = ["Connection", "ConnectionOptions"]


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
        How often a request is sent again after a dropped connection, a time-out or the status 429, 502, 503 or 504. The
        pauses grow from about 0.2 seconds to 30 and have a random part. A ``Retry-After`` of up to five minutes is
        honoured. A server that never answered and cannot be reached is asked once.
    concurrency
        Number of requests at the same time, each on a connection that is kept open.
    requests_per_second
        Upper bound of the rate at which this process sends requests; None for no bound.
    max_response_bytes
        Largest answer to one request, in bytes after decompression.

    Raises
    ------
    OptionError
        If a value is invalid.
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
        """Return the headers with the credentials, which are read from the environment.

        Raises
        ------
        OptionError
            If a variable is not set, or cannot be the value of a header.
        """
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

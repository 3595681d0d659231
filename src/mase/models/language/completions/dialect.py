"""What the dialects of completion servers share: what is asked, what is answered, and a strict reading of answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mase.errors import ServiceError
from mase.models.language.protocol import Continuation

__all__ = ["COMPLETIONS", "INCOMPLETE", "LENGTH", "Dialect", "Output", "Row", "choices", "listed", "number", "refused"]

COMPLETIONS = "/v1/completions"
LENGTH = "length"  # the `finish_reason` of a text that a limit ended
INCOMPLETE = "\ufffd"  # in the place of a character of several tokens
# vLLM writes -9999 for minus infinity, and llama.cpp the smallest number of its type.
_LEAST = -9000.0
_ROUNDING = 1e-3


@dataclass(frozen=True, slots=True)
class Row:
    """An answer to score after a prompt, which is a tuple of token ids, or the text for servers that take no ids."""

    prompt: tuple[int, ...] | str
    answer: Continuation


@dataclass(frozen=True, slots=True)
class Output:
    """What a server generated: the text and its t tokens, their ids if it says them, and their log-probabilities.

    `cut` is whether it says that a limit ended the text, and not the model.
    """

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...] | None
    log_probabilities: tuple[float, ...]
    cut: bool = False


class Dialect(Protocol):
    """How one kind of server is asked to score an answer and to generate one.

    Attributes
    ----------
    path
        Where it takes requests.
    batch_size
        Number of rows in a request, unless the user says another.
    """

    @property
    def path(self) -> str:
        """Where it takes requests."""
        ...

    @property
    def batch_size(self) -> int:
        """Number of rows in a request."""
        ...

    def score_body(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the JSON of the request that scores n answers."""
        ...

    def scores(self, answer: Any, rows: Sequence[Row]) -> list[list[float]]:
        """Return the log-probabilities in the answer to it: for each row those of the tokens of its answer.

        Raises
        ------
        ServiceError
            If a number is missing or none, or belongs to another token.
        """
        ...

    def generate_body(self, prompt: tuple[int, ...] | str, max_new_tokens: int) -> dict[str, Any]:
        """Return the JSON of the request that continues a prompt greedily."""
        ...

    def generated(self, answer: Any) -> Output:
        """Return what stands in the answer to it.

        Raises
        ------
        ServiceError
            If it does not have the form of the dialect.
        """
        ...


def refused(got: str, expected: str) -> ServiceError:
    """Return the error for an answer of the server."""
    return ServiceError(f"the server answered {got}, expected {expected}; no score was kept")


def choices(answer: Any, n: int) -> list[dict[str, Any]]:
    """Return the choices of a completion in the order of its n prompts.

    Raises
    ------
    ServiceError
        If there is not one for each.
    """
    found = listed(answer, "choices")
    objects = [choice for choice in found if isinstance(choice, dict)]
    indices = [choice.get("index") for choice in objects]
    if sorted(index for index in indices if isinstance(index, int)) != list(range(n)) or len(found) != n:
        raise refused(f"choices with the indices {indices!r:.60}", f"one choice for each of {n} prompts")
    return sorted(objects, key=lambda choice: int(choice["index"]))


def listed(value: Any, name: str) -> list[Any]:
    """Return the list that an object has under a name.

    Raises
    ------
    ServiceError
        If it has none.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, list):
        keys = f"an object with {list(value)!r:.200}" if isinstance(value, dict) else f"{value!r:.60}"
        raise refused(keys, f"the list {name!r}")
    return found


def number(value: Any, token: str) -> float:
    """Return a log-probability.

    Raises
    ------
    ServiceError
        If it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not _LEAST < value <= _ROUNDING:
        raise refused(f"the log-probability {value!r:.40} for the token {token!r:.60}", "a number from -9000 to 0")
    return min(float(value), 0.0)

"""The limits of a server: what one page can ask of it."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server.

    Attributes
    ----------
    text
        Characters of a text.
    n_samples
        Samples of an explanation.
    queue
        Requests that may wait for one model.
    seconds
        Time of one request, after which the process of the model is ended.
    body
        Bytes of a request.
    results
        Explanations that are kept; the oldest ones are forgotten.
    kept
        Bytes of all explanations that are kept.
    grace
        Seconds that a model has to answer the batch at which it is cancelled; then its process is ended.
    alone
        Seconds after which an explanation that its last follower has left is cancelled. A page that has lost its
        connection needs a few to connect again.
    """

    text: int = 20_000
    n_samples: int = 20_000
    queue: int = 100
    seconds: float = 600.0
    body: int = 1 << 20
    results: int = 200
    kept: int = 1 << 27
    grace: float = 3.0
    alone: float = 10.0

    def to_dict(self) -> dict[str, Any]:
        """Return the limits by name."""
        return asdict(self)

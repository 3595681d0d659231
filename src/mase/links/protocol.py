"""What a link says, in array arithmetic that NumPy and torch share."""

from typing import Any, Protocol

from mase.links import Output

__all__ = ["Functions", "LinkFunction"]


class Functions(Protocol):
    """The functions that links are written with, of NumPy or torch; arrays are `(n,)`, or `(n, k)` where it says so."""

    def log(self, chances: Any) -> Any:
        """Return log(max(p, FLOOR)) of probabilities."""
        ...

    def sigmoid(self, logits: Any) -> Any:
        """Return 1 / (1 + exp(-x))."""
        ...

    def log_sigmoid(self, logits: Any) -> Any:
        """Return its logarithm, exact where it saturates."""
        ...

    def softmax(self, logits: Any) -> Any:
        """Return probabilities `(n, k)` of logits `(n, k)`."""
        ...

    def log_softmax(self, logits: Any) -> Any:
        """Return their logarithms `(n, k)`, exact where they saturate."""
        ...

    def best_other(self, scores: Any, target: int) -> Any:
        """Return the largest of the scores `(n, k)` in each row but that of the target, `(n,)`."""
        ...


class LinkFunction(Protocol):
    """A link: the response as a function of the model's scores."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the response `(n,)` of scores `(n, k)`; `xp` has the functions of their library."""
        ...

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return the probabilities, each `(n,)`, that the response takes the logarithm of where scores are probabilities."""
        ...

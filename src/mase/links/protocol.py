"""The `LinkFunction` protocol, written in array arithmetic that works for both NumPy and torch."""

from typing import Any, Protocol

from mase.links import Output

__all__ = ["Functions", "LinkFunction"]


class Functions(Protocol):
    """The array functions that links use, from NumPy or torch; arrays are `(n,)` unless stated otherwise."""

    def log(self, probabilities: Any) -> Any:
        """Return log(max(p, FLOOR)) of probabilities."""
        ...

    def expm1(self, exponents: Any) -> Any:
        """Return exp(x) - 1, accurate where x is close to 0."""
        ...

    def sigmoid(self, logits: Any) -> Any:
        """Return 1 / (1 + exp(-x))."""
        ...

    def log_sigmoid(self, logits: Any) -> Any:
        """Return log(sigmoid(x)), accurate when the sigmoid saturates."""
        ...

    def softmax(self, logits: Any) -> Any:
        """Return probabilities `(n, k)` of logits `(n, k)`."""
        ...

    def log_softmax(self, logits: Any) -> Any:
        """Return the logarithms `(n, k)` of the probabilities, accurate when they saturate."""
        ...

    def best_other(self, scores: Any, target: int) -> Any:
        """Return the largest score `(n,)` of each row of scores `(n, k)`, except that of the target."""
        ...


class LinkFunction(Protocol):
    """A link: the response as a function of the model's scores."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the response `(n,)` of scores `(n, k)`; `xp` has the array functions of their library."""
        ...

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return the probabilities, each `(n,)`, whose logarithm the response takes if the scores are probabilities."""
        ...

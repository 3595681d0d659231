"""Links: which number of the scores is explained. No numpy is imported.

A link is written once, with functions that exist for both NumPy and torch, so that responses and their derivatives come
from the same formula.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mase.registry import Registry

# The built-in names, for type checkers and editors. A test checks that they match the registry.
Link = Literal["probability", "log-probability", "mean-log-probability", "logit", "margin", "value"]
Kind = Literal["logits", "probabilities", "log-probabilities", "values"]

LINKS = Registry(
    "link",
    {
        "probability": "mase.links:Probability",
        "log-probability": "mase.links:LogProbability",
        "mean-log-probability": "mase.links:MeanLogProbability",
        "logit": "mase.links:Logit",
        "margin": "mase.links:Margin",
        "value": "mase.links:Value",
    },
    "mase.links",
)

# The smallest probability whose logarithm is taken, for models that return probabilities. It is below the small
# probabilities that models produce, and so high that a probability rounded to 0 does not outweigh all others.
FLOOR = 1e-9

# The links of columns that are no class scores, the default first.
LINKS_WITHOUT_CLASSES: Mapping[Kind, tuple[Link, ...]] = {
    "values": ("value",),
    "log-probabilities": ("logit", "log-probability", "mean-log-probability", "probability"),
}


@dataclass(frozen=True, slots=True)
class Output:
    """The meaning of the k columns that a model returns.

    They are logits or probabilities, of one class out of k or of k separate labels; or they are values, which are no
    class scores: regressions, rankings, likelihoods, distances.

    `ranked` values belong to classes, and the class with the largest one is predicted, as by the decision function of a
    classifier. Log-probabilities are those of texts, each with the number of its tokens in `n_tokens`; they are no
    class scores either. `floor` is the smallest probability whose logarithm is taken.
    """

    kind: Kind = "logits"
    multilabel: bool = False
    ranked: bool = False
    n_tokens: tuple[int, ...] = ()
    floor: float = FLOOR

    @property
    def has_classes(self) -> bool:
        """Whether the columns are scores of classes."""
        return self.kind in ("logits", "probabilities")

    @property
    def links(self) -> tuple[str, ...] | None:
        """The only links of columns that are no class scores, the default first; None for class scores."""
        return LINKS_WITHOUT_CLASSES.get(self.kind)


def value_names(k: int) -> tuple[str, ...]:
    """Return names of k values without a name: "value", or "value 0", "value 1", ... of several."""
    return ("value",) if k == 1 else tuple(f"value {index}" for index in range(k))


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


@dataclass(frozen=True, slots=True)
class Contrast:
    """The response of the class minus that of the class with the index `against`, under the link `link`.

    A margin compares with one class instead of the best other one: it is the difference of their log-probabilities,
    which is the difference of their logits, and for separate labels the difference of their log-odds.
    """

    link: str
    against: int

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the difference `(n,)`."""
        link = self._link(output)
        return link.respond(scores, output, target, xp) - link.respond(scores, output, self.against, xp)

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return the probabilities whose logarithm the responses of both classes take."""
        link = self._link(output)
        return (*link.logged(scores, output, target, xp), *link.logged(scores, output, self.against, xp))

    def _link(self, output: Output) -> LinkFunction:
        margin = self.link == "margin" and not output.multilabel
        link: LinkFunction = LINKS["log-probability" if margin else self.link]()
        return link

    def __str__(self) -> str:
        return f"contrast of {self.link}"


@dataclass(frozen=True, slots=True)
class LogProbability:
    """The logarithm of the probability of the class, which is more accurate when the probability saturates."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return log p `(n,)`."""
        if output.kind == "log-probabilities":
            return scores[:, target]
        if output.kind == "probabilities":
            return xp.log(scores[:, target])
        return xp.log_sigmoid(scores[:, target]) if output.multilabel else xp.log_softmax(scores)[:, target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p."""
        return () if output.kind == "log-probabilities" else (scores[:, target],)


@dataclass(frozen=True, slots=True)
class Logit:
    """The logit of the class; for a model that returns probabilities or log-probabilities, log p - log(1 - p)."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the logit `(n,)`."""
        score = scores[:, target]
        if output.kind == "log-probabilities":
            return score - xp.log(-xp.expm1(score))
        return score if output.kind == "logits" else xp.log(score) - xp.log(_others(scores, target, output))

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p and 1 - p; of a log-probability, 1 - p alone."""
        score = scores[:, target]
        if output.kind == "log-probabilities":
            return (-xp.expm1(score),)
        return score, _others(scores, target, output)


# Below this, 1 - p has lost digits of a probability p that was close to 1.
_INEXACT = 1e-6


def _others(scores: Any, target: int, output: Output) -> Any:
    """Return 1 - p `(n,)`, or what the other classes have where p is so close to 1 that this has lost its digits."""
    rest = 1 - scores[:, target]
    if output.multilabel:
        return rest
    lost = rest < _INEXACT
    others = scores[:, :target].sum(1) + scores[:, target + 1 :].sum(1)
    return rest * (lost == 0) + others * lost


@dataclass(frozen=True, slots=True)
class Margin:
    """The log-probability of the class minus that of the best other class (for separate labels, of "not the class")."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the margin `(n,)`."""
        if output.multilabel:
            return Logit().respond(scores, output, target, xp)
        score, other = scores[:, target], xp.best_other(scores, target)
        return score - other if output.kind == "logits" else xp.log(score) - xp.log(other)

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p of the class and of the best other class."""
        if output.multilabel:
            return Logit().logged(scores, output, target, xp)
        return scores[:, target], xp.best_other(scores, target)


@dataclass(frozen=True, slots=True)
class MeanLogProbability:
    """The log-probability of a text, divided by the number of its tokens, so that texts of any length compare.

    A class counts as one token.
    """

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the mean `(n,)`."""
        n_tokens = output.n_tokens[target] if output.n_tokens else 1
        return LogProbability().respond(scores, output, target, xp) / n_tokens

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return what the log-probability takes the logarithm of."""
        return LogProbability().logged(scores, output, target, xp)


@dataclass(frozen=True, slots=True)
class Probability:
    """The probability of the class."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return p `(n,)`."""
        if output.kind == "probabilities":
            return scores[:, target]
        if output.kind == "log-probabilities":
            return 1 + xp.expm1(scores[:, target])
        return xp.sigmoid(scores[:, target]) if output.multilabel else xp.softmax(scores)[:, target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return an empty tuple: this link takes no logarithm."""
        return ()


@dataclass(frozen=True, slots=True)
class Value:
    """The number in the model's column as it is: a value, or the logit or probability that the model returns."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the column `(n,)`."""
        return scores[:, target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return an empty tuple: this link takes no logarithm."""
        return ()

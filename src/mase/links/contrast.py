"""A class rather than another one: the difference of their responses."""

from dataclasses import dataclass
from typing import Any

from mase.links import LINKS, Output
from mase.links.protocol import Functions, LinkFunction

__all__ = ["Contrast"]


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

"""What language models have beside the protocols of all models."""

from typing import Protocol, runtime_checkable

from mase.attribution import Answer

__all__ = ["AnsweredProbe", "LinkedModel"]


@runtime_checkable
class LinkedModel(Protocol):
    """A model that says, without being evaluated, which links its columns have (see `mase.links.Output.links`)."""

    @property
    def links(self) -> tuple[str, ...]:
        """Names of links, the default first."""
        ...


@runtime_checkable
class AnsweredProbe(Protocol):
    """A language model bound to a prompt, whose scores are log-probabilities of an answer and its parts."""

    @property
    def answer(self) -> Answer:
        """The answer."""
        ...

"""What an adapter is: it recognises the objects of one kind, and makes models of them."""

from typing import Any, ClassVar, Protocol

from mase.models.protocol import Model

__all__ = ["Adapter"]


class Adapter(Protocol):
    """One kind of object that can be explained.

    Attributes
    ----------
    understands
        What it takes, in words, for the error that says what is expected.
    """

    understands: ClassVar[str]

    def recognises(self, model: object) -> bool:
        """Return whether the object is of this kind; a framework that is not loaded yet has made no object."""
        ...

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the object as a model; `name` is what to call it, None for its own name.

        Raises
        ------
        OptionError, CapabilityError
            If an object of this kind cannot be explained.
        """
        ...

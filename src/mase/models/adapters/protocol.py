"""The protocol of adapters: an adapter recognises objects of one kind and turns them into models."""

from typing import Any, ClassVar, Protocol

from mase.models.protocol import Model

__all__ = ["Adapter"]


class Adapter(Protocol):
    """One kind of object that can be explained.

    Attributes
    ----------
    understands
        Description of the objects that it accepts, for error messages.
    """

    understands: ClassVar[str]

    def recognises(self, model: object) -> bool:
        """Return whether the object is of this kind.

        Do not import a framework for this: no object of a framework exists before the framework is imported.
        """
        ...

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the object as a model with the given `name`, or with its own name for None.

        What has a name already, such as a model of `mase.models`, keeps it.

        Raises
        ------
        OptionError, CapabilityError
            If an object of this kind cannot be explained, or a tokenizer is given that it does not need.
        """
        ...

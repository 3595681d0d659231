"""Show a model an example of its inputs, which tells how many classes a function without labels has."""

from contextlib import suppress

from mase.document import Document
from mase.errors import MaseError
from mase.models.protocol import Model
from mase.rng import untouched

__all__ = ["show_example"]


def show_example(model: Model, example: Document | str | None) -> None:
    """Ask a model about a document, unless it is a plain text or None; what it says or raises does not matter.

    A function whose classes have no names is asked about a plain text otherwise, which a function of records cannot
    read.
    """
    if isinstance(example, Document):
        with suppress(MaseError), untouched():
            model.predict([example])

"""The error tree: every error is a `MaseError` and also the builtin a caller would expect.

A message says what was got, what was expected and what to do about it.
"""

__all__ = [
    "CapabilityError",
    "DataError",
    "EmptyTextError",
    "InvalidTextError",
    "MaseError",
    "MissingDependencyError",
    "ModelError",
    "NonFiniteError",
    "OptionError",
    "PluginError",
    "ShapeError",
    "TooFewSamplesError",
    "UnknownNameError",
]


class MaseError(Exception):
    """Root of every error raised on purpose by this library."""


class OptionError(MaseError, ValueError):
    """An argument or option has a value that cannot be used."""


class TooFewSamplesError(OptionError):
    """The number of samples does not suffice for the words of this text; for a shorter one it may."""


class ShapeError(MaseError, ValueError):
    """An array has another shape than the one its place requires."""


class UnknownNameError(MaseError, LookupError):
    """A name is not in its registry, or a label is not one of the model's."""


class EmptyTextError(MaseError, ValueError):
    """A text holds nothing that can be scored: no word, or no token of the model's."""


class InvalidTextError(MaseError, ValueError):
    """A text is not valid Unicode, or an input is not a text."""


class ModelError(MaseError, RuntimeError):
    """The user's model raised an exception or returned something that is not class scores."""


class NonFiniteError(ModelError, ArithmeticError):
    """The model returned NaN or an infinity where a finite score is needed."""


class CapabilityError(MaseError, TypeError):
    """A method needs something that the model does not have (embeddings, gradients, a mask token)."""


class MissingDependencyError(MaseError, ImportError):
    """An optional dependency is not installed."""


class PluginError(MaseError, ImportError):
    """What another package adds to the library cannot be imported, or has a name that is taken."""


class DataError(MaseError, OSError):
    """A file or data set is missing, unreadable or not what its checksum says."""

"""The exception hierarchy: every error is a `MaseError` and also a subclass of a suitable built-in exception.

A message says what was received, what was expected and what to do about it.
"""


class MaseError(Exception):
    """Base class of all errors that this library raises."""


class MaseWarning(UserWarning):
    """Something that the user should know and that stops nothing. The command shows it as a line."""


class OptionError(MaseError, ValueError):
    """An argument or option has an invalid value."""


class TooFewSamplesError(OptionError):
    """The number of samples is too small for this text; it may be sufficient for a shorter one."""


class ShapeError(MaseError, ValueError):
    """An array has the wrong shape."""


class UnknownNameError(MaseError, LookupError):
    """A name is not in its registry, or a label is not one of the model's."""


class EmptyTextError(MaseError, ValueError):
    """A text has nothing that can be scored: no word, or no token of the model."""


class UnitsError(MaseError, ValueError):
    """What splits a text into units raised an exception or returned something other than spans."""


class InvalidTextError(MaseError, ValueError):
    """A text is not valid Unicode, or an input is not a text."""


class ModelError(MaseError, RuntimeError):
    """The model raised an exception or returned something other than class scores."""


class NonFiniteError(ModelError, ArithmeticError):
    """The model returned NaN or infinity, expected finite scores."""


class ServiceError(ModelError, ConnectionError):
    """A model behind a URL did not answer, or not as its protocol says."""


class RequestRefusedError(ServiceError):
    """A server refused a request because it has too many inputs."""


class BudgetSpentError(ModelError):
    """The tokens or the money that a chat model may use are spent."""


class ScoreMismatchError(ServiceError):
    """A server of language models scores the tokens that it generated otherwise than it did while generating them."""


class CapabilityError(MaseError, TypeError):
    """A method needs something that the model does not provide (embeddings, gradients, a mask token)."""


class MissingDependencyError(MaseError, ImportError):
    """An optional dependency is not installed."""


class NotPicklableError(MaseError, TypeError):
    """A model or a setting cannot be sent to another process, such as a lambda or a function of a notebook."""


class PluginError(MaseError, ImportError):
    """An entry that another package adds to a registry cannot be imported, or its name is already taken."""


class DataError(MaseError, OSError):
    """A file or data set is missing or unreadable, or does not match its checksum."""


class LockedError(DataError):
    """The folder of a run is in use by another process."""


class LimitError(MaseError, ValueError):
    """A request to `mase serve` exceeds one of its limits."""


class QueueFullError(LimitError):
    """Too many requests wait for a model of `mase serve`."""


class WorkerError(MaseError, RuntimeError):
    """A worker process ended while it opened the model or explained a text."""


class TextTimeoutError(WorkerError, TimeoutError):
    """Explaining a text took longer than the timeout."""


# Errors about the command rather than a text: if the first text fails with one, all would.
OF_THE_COMMAND = (CapabilityError, MissingDependencyError, OptionError, UnknownNameError)

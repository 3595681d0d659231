"""Black boxes with a fixed answer."""

from mase.models import Callable


def answering(answer, labels=None, **options):
    """A black box that gives the same answer to whatever it is asked."""
    return Callable(lambda texts: answer, labels, name="box", **options)

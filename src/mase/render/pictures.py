"""Figures of matplotlib as bytes of a file. Matplotlib is imported when a figure is made, and pyplot never."""

from io import BytesIO
from typing import TYPE_CHECKING, Any

from mase.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PICTURES", "check_matplotlib", "new_figure", "picture"]

# The formats by suffix, each with the entry of its metadata that would name the day.
PICTURES = {".png": None, ".svg": "Date", ".pdf": "CreationDate"}


def check_matplotlib() -> None:
    """Check that figures can be made, before any work."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"matplotlib cannot be imported ({error}); run: pip install 'mase-xai[plot]'"
        ) from error


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, whose parts are laid out without overlap; notebooks show it."""
    check_matplotlib()
    from mase.render.picture import Picture

    return Picture(figsize=(width, height), layout="constrained")


def picture(figure: "Figure", suffix: str) -> bytes:
    """Return a figure as the bytes of a file with this suffix of `PICTURES`: the same bytes for the same numbers."""
    from matplotlib import rc_context

    dated, file = PICTURES[suffix], BytesIO()
    options: dict[str, Any] = {} if dated is None else {"metadata": {dated: None}}
    with rc_context({"svg.hashsalt": "mase", "svg.fonttype": "none"}):
        figure.savefig(file, format=suffix[1:], dpi=200, **options)
    return file.getvalue()

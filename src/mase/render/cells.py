"""Labels and bars in the cells of a terminal."""

from rich.cells import cell_len, set_cell_size

from mase.characters import boundary
from mase.render.pieces import isolated

__all__ = ["bar", "cells", "shortened"]

_EIGHTHS = " ▏▎▍▌▋▊▉"


def shortened(label: str, width: int) -> str:
    """Return a label of at most `width` cells; a longer one ends with an ellipsis."""
    if cell_len(label) <= width:
        return label
    start = set_cell_size(label, width - 1).rstrip()
    return label[: boundary(label, len(start))] + "…"


def cells(label: str, width: int) -> str:
    """Return a label of exactly `width` cells; one that is read from right to left is kept apart from what follows."""
    shown = shortened(label, width)
    return isolated(shown) + " " * (width - cell_len(shown))


def bar(share: float, longest: int, *, ascii_only: bool) -> str:
    """Return a bar of at most `longest` cells, of which it fills a share."""
    if ascii_only:
        return "#" * round(share * longest)
    eighths = round(share * longest * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()

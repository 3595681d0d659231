"""Attributions as an interactive widget of a notebook: `mase.Widget`, which needs the extra ``notebook``."""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names

if TYPE_CHECKING:
    from mase.widget.widget import Widget as Widget

__all__ = ["Widget"]

if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__, __all__, {"Widget": "mase.widget.widget"}, needs={"Widget": [("anywidget", "notebook")]}
    )

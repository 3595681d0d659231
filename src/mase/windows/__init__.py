"""Texts that are longer than a model reads, explained in windows of the model's own length.

Windows are plain explanations of parts of the text, put together: nothing else in the library knows of them.
"""

from mase.windows.explaining import explained
from mase.windows.long_text import LongText, WindowText, check_windows
from mase.windows.masking import MaskedWindow, masked, with_evidence

__all__ = ["LongText", "MaskedWindow", "WindowText", "check_windows", "explained", "masked", "with_evidence"]

"""HTML output: one self-contained page with all texts."""

from typing import BinaryIO

from mase.attribution import Attribution
from mase.io.json import Failure
from mase.render.html import page

__all__ = ["HtmlPage"]


class HtmlPage:
    """Collects attributions and writes the page at the end, with the texts that failed."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.shown: dict[int, Attribution] = {}
        self.failures: dict[int, str] = {}

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Keep an attribution for the page, with its number."""
        if isinstance(result, Failure):
            self.failures[number] = f"{result.error}: {result.message}"
        else:
            self.shown[number] = result

    def close(self) -> None:
        """Write the page."""
        content = page(self.shown.values(), numbers=tuple(self.shown), failures=self.failures)
        self.stream.write(content.encode())

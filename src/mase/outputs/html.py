"""HTML output: one self-contained page with all texts."""

from typing import BinaryIO

from mase.attribution import Attribution
from mase.io.json import Failure
from mase.render.html import page

__all__ = ["HtmlPage"]


class HtmlPage:
    """Collects attributions and writes the page at the end, with the number of texts that failed."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.shown: dict[int, Attribution] = {}
        self.n_failed = 0

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Keep an attribution for the page, with its number."""
        if isinstance(result, Failure):
            self.n_failed += 1
        else:
            self.shown[number] = result

    def close(self) -> None:
        """Write the page."""
        content = page(self.shown.values(), numbers=tuple(self.shown), n_failed=self.n_failed)
        self.stream.write(content.encode())

"""What a reader sees: terminals and pages as plain text."""

import io
from html.parser import HTMLParser

from rich.console import Console

from mase.render.terminal import heat_map


def printed(made, width=100):
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, _environ={}).print(heat_map(made))
    return stream.getvalue()


class Visible(HTMLParser):
    """The text of a page without its style sheet; that of legends, apart."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.style = self.legend_open = False
        self.text = self.legend = ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.style = tag == "style" or (self.style and tag != "body")
        if tag == "p":
            self.legend_open = "legend" in (dict(attrs).get("class") or "")

    def handle_endtag(self, tag):
        self.style = self.style and tag != "style"
        self.legend_open = self.legend_open and tag != "p"

    def handle_data(self, data):
        if not self.style:
            self.text += data
            self.legend += data if self.legend_open else ""

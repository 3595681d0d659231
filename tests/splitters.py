"""Splitters for the tests."""


class Fixed:
    """A splitter of another package that returns what it is made with."""

    name, complete = "fixed", False

    def __init__(self, spans):
        self.spans = spans

    def split(self, text):
        return self.spans

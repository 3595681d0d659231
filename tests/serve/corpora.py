"""Corpora for tests: readers that make a small report at once, or when they are allowed to."""

import time
from threading import Event

from mase.errors import WorkerError
from mase_serve.corpora import Message, Preparing

__all__ = ["POLICY", "Reader", "settled"]

POLICY = "default-src 'none'"


class Reader:
    """Stands for the process that reads a corpus.

    It waits until `begin` is set, and at half of the work until `go` is. A source with "bad" in its name fails.
    """

    begin: Event
    go: Event
    sources: list[str]

    def __init__(self, source, folder, *columns):
        if "unstartable" in source:
            raise WorkerError("no more processes")
        self.source, self.folder, self.columns, self.is_ended = source, folder, columns, Event()
        self.sources.append(source)

    def follow(self, tell):
        self.begin.wait(60)
        tell(0.5)
        while not self.go.wait(0.002):
            if self.is_ended.is_set():
                return Message(error="WorkerError", message="ended")
        if "bad" in self.source:
            return Message(error="DataError", message="<script>it\x1b is bad</script>")
        (self.folder / "report" / "list").mkdir(parents=True)
        (self.folder / "report" / "index.html").write_text(f"page {self.folder.name}", encoding="utf-8")
        (self.folder / "report" / "list" / "texts-00000.js").write_text("mase.texts(0,[])", encoding="utf-8")
        return Message(1.0, policy=POLICY)

    def end(self):
        self.is_ended.set()


def settled(corpus):
    """Return what a corpus becomes: the first look that is no preparation."""
    for _ in range(5_000):
        found = corpus.look()
        if not isinstance(found, Preparing):
            return found
        time.sleep(0.002)
    raise TimeoutError("the corpus is still being read")

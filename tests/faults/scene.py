"""What is explained while faults happen: texts and a model, and the tables of a run that nothing interrupted."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq

from mase_corpora.folder import part_name
from tests.faults.command import finished, start
from tests.hostile.corpora import save_box, save_texts
from tests.runs import COMPARED

__all__ = ["Scene", "cheap", "lstm"]

_PATIENCE = 900.0


@dataclass(frozen=True)
class Scene:
    """A corpus, a model, and the settings of the command.

    Attributes
    ----------
    folder
        Folder for everything that is written.
    arguments
        Arguments of `mase run` without engine and output.
    n
        Number of texts.
    part_size
        Texts per part.
    """

    folder: Path
    arguments: tuple[str | Path, ...]
    n: int
    part_size: int

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return -(-self.n // self.part_size)

    @cached_property
    def reference(self) -> Path:
        """The folder of a run that nothing interrupted; it is made when it is first needed.

        Raises
        ------
        RuntimeError
            If that run fails.
        """
        run = self.folder / "uninterrupted"
        if not run.exists() or len(finished(run)) < self.n_parts:
            command = start((*self.arguments, "--jobs", "2"), run, self.folder / "uninterrupted.log")
            code = command.ended(_PATIENCE)
            if code:
                raise RuntimeError(f"the uninterrupted run ended with {code}:\n{command.words()}")
        return run

    def different(self, run: Path, parts: set[int]) -> list[str]:
        """Return the files of finished parts that are not, byte for byte, those of the uninterrupted run."""
        names = [f"{table}/{part_name(part)}" for part in sorted(parts) for table in COMPARED]
        return [name for name in names if _content(run / name) != _content(self.reference / name)]

    def rows(self, run: Path) -> tuple[int, int]:
        """Return how many texts have no row in a run, and how many have a row too many."""
        # Not with open_run, which refuses a part with a row too many.
        found = pq.read_table(run / "texts", columns=["row"])["row"].to_pylist()
        return len(set(range(self.n)) - set(found)), len(found) - len(set(found))


def cheap(folder: Path) -> Scene:
    """Return 2,000 short texts for a function that takes 1 ms per call."""
    source, box = save_texts(folder / "texts.txt", 2_000), save_box(folder / "box.py", 0.001)
    return Scene(folder, (source, "--model", box, "--n-samples", "32", "--batch-size", "16", "--part-size", "4"),
                 2_000, 4)  # fmt: skip


def lstm(folder: Path) -> Scene:
    """Return 600 short texts for the bundled LSTM with N = 200."""
    source = save_texts(folder / "texts.txt", 600)
    return Scene(folder, (source, "--model", "lstm-imdb", "--n-samples", "200", "--part-size", "4"), 600, 4)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None

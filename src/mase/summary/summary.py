"""The summary of a run: frozen tables that can be printed, written and turned into data frames."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mase.corpus.frames import frame
from mase.summary.effects import Family, GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase.summary.overview import Confusion, Distribution, Failures, NoteCount, Overview, PredictedClass

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from mase.corpus.opened import Run

__all__ = ["Settings", "Summary"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked of a summary.

    Attributes
    ----------
    label_column, group_column
        Names of kept columns, or None.
    min_texts
        Smallest number of texts of a word or phrase in a table.
    top
        Longest list: of words per response and direction, per prediction, or per response and group.
    false_discovery_rate
        The rate that is controlled in every table of words: at most this share of its rows is there by chance.
    low_confidence
        A prediction of a smaller probability has a low confidence: the lowest tenth. None if no probability is smaller.
    groups
        The values of the group column that were compared, the most frequent first.
    n_groups_left_out
        Values of the group column that were not compared: rare ones, and those after the 20 most frequent.
    """

    label_column: str | None
    group_column: str | None
    min_texts: int
    top: int
    false_discovery_rate: float
    low_confidence: float | None = None
    groups: tuple[str, ...] = ()
    n_groups_left_out: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """What the explanations of a run say together: about the model, and about how far they can be trusted.

    All words are in lower case and in the normal form NFC, so that "Film" and "film" are one word, and so is "é" as one
    character and as two. Common words are not left out. Punctuation is a word of its own where the run scored it as
    one.

    Rows of `words` are sorted by response, then "towards" before "away", then by the size of the effect; those of
    `phrases` by the size of the difference; those of `wrong`, `low_confidence` and `groups` by prediction (response and
    group), then by the size of the difference.
    """

    settings: Settings
    overview: Overview
    predictions: tuple[PredictedClass, ...]
    quality: tuple[Distribution, ...]
    notes: tuple[NoteCount, ...]
    failures: tuple[Failures, ...]
    words: tuple[WordEffect, ...]
    phrases: tuple[PhraseEffect, ...]
    confusion: tuple[Confusion, ...]
    wrong: tuple[PushDifference, ...]
    low_confidence: tuple[PushDifference, ...]
    groups: tuple[GroupDifference, ...]
    families: tuple[Family, ...]
    run: "Run" = field(hash=False, compare=False)

    def __repr__(self) -> str:
        lists = ("words", "phrases", "wrong", "low_confidence", "groups")
        found = ", ".join(f"{len(getattr(self, name)):,} {name}" for name in lists)
        return f"<Summary of {self.overview.n_explained:,} explained texts: {found}>"

    @property
    def tables(self) -> "Mapping[str, pa.Table]":
        """The tables as Arrow tables by name, such as ``"words"``, with a column for each field of their rows."""
        from mase.summary.tables import ROWS, table

        return {name: table(self, name) for name in ROWS}

    def to_html(self, folder: str | PathLike[str], *, texts: bool = True) -> Path:
        """Write a report for a browser to a folder, and return its page; see `mase.report.folder.write_report`.

        Raises
        ------
        DataError
            If the folder has files that are not of a report, if it cannot be written, or if the run cannot be read.
        """
        from mase.report.folder import write_report

        return write_report(self, folder, texts=texts)

    def to_frame(self, table: str) -> "pd.DataFrame":
        """Return a table as a pandas data frame, such as ``"words"``: one row per row, one column per field.

        Raises
        ------
        UnknownNameError
            If there is no such table.
        MissingDependencyError
            If pandas is not installed.
        """
        return frame(self.tables, table)

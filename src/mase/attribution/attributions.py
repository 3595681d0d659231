"""The results of several explanations: a list that shows, tabulates and saves itself."""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal, Self, SupportsIndex, overload

from mase.attribution.attribution import Attribution
from mase.attribution.frame import frame
from mase.attribution.rows import COLUMNS, TEXT_COLUMNS, rows, text_row
from mase.choices import check_choice
from mase.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Attributions"]


class Attributions(list[Attribution]):
    """A list of the attributions of several documents.

    `Explainer` returns it for a list of texts. It is a list in every respect. Slices and sums of it are `Attributions`.

    Examples
    --------
    >>> import mase
    >>> explainer = mase.Explainer(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts])
    >>> explainer(["a good day", "a bad day", "all good"])[::2]
    2 attributions
     1  0 90.0 %  good +3.58
     2  0 90.0 %  good +3.58
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Attribution: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Attribution | Self:
        found = super().__getitem__(index)
        return type(self)(found) if isinstance(found, list) else found

    def __add__(self, other: Iterable[Attribution]) -> Self:  # type: ignore[override]
        return type(self)([*self, *other]) if isinstance(other, list) else NotImplemented

    def copy(self) -> Self:
        """Return a list of the same attributions."""
        return type(self)(self)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the attributions in a file of JSON Lines, equal to those that were saved; none if it is empty.

        Raises
        ------
        DataError
            If the file is missing, is not JSON, or holds a text that could not be explained.
        """
        from mase.io.json import Failure, load_many

        found = cls()
        for result in load_many(path):
            if isinstance(result, Failure):
                raise DataError(
                    f"{fspath(path)!r} holds a failure ({result.error:.80}: {result.message:.400}), expected "
                    "attributions only; mase.io.json.load_many(path) reads both"
                )
            found.append(result)
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write the attributions to `path`: as JSON Lines, or in the format of .csv, .parquet or .txt.

        `Attributions.load` returns an equal list of JSON Lines, and the command reads the file, too. `to_html` writes
        pages.

        Raises
        ------
        OptionError
            If the path has another suffix.
        DataError
            If the file cannot be written.
        """
        from mase.outputs.file import save

        save(self, path)

    def to_frame(self, per: Literal["unit", "text"] = "unit") -> "pd.DataFrame":
        """Return a pandas data frame with one row per document, response and unit, or with one row per document.

        The first column, document, is the index of the attribution in the list. The others are those of
        `Attribution.to_frame`. Of `per="text"` they are text, label, probability (of a value NaN), target, reliable,
        verdict, and flip_set, the units without which the model predicts flip_label; None if that was not found.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        check_choice("per", per, ("unit", "text"))
        if per == "text":
            return frame((text_row(index, one) for index, one in enumerate(self)), TEXT_COLUMNS)
        found = ({"document": index} | row for index, attribution in enumerate(self) for row in rows(attribution))
        return frame(found, ["document", *COLUMNS])

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page of all attributions, and write it to `path` if one is given."""
        from mase.render.html import page, write_page

        return page(self) if path is None else write_page(self, path)

    def _repr_html_(self) -> str:
        from mase.render.listing import listing_html

        return listing_html(self)

    def __repr__(self) -> str:
        from mase.render.listing import listing

        return listing(self)

"""Documents of the table `texts`: read the texts of their fields."""

import msgspec

from mase.errors import DataError

__all__ = ["fields_of"]


class _Field(msgspec.Struct):
    name: str
    text: str


def fields_of(document: str | None, row: int) -> list[tuple[str, str]]:
    """Return the names and texts of the fields of a document; none if the run holds no texts.

    Raises
    ------
    DataError
        If it is not a document, for anybody may have made the run. The message names the row.
    """
    try:
        fields = [] if document is None else msgspec.json.decode(document, type=list[_Field])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DataError(
            f"the document of row {row} is not a list of fields as in docs/run.md: {error!s:.300}"
        ) from error
    return [(field.name, field.text) for field in fields]

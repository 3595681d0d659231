"""Units: the parts of a text that are in or out as one, such as words or sentences."""

import re
from collections.abc import Callable, Iterable

from mase.errors import OptionError
from mase.registry import Registry
from mase.text import Span
from mase.units.splitters import PREFIX, Function, Regex, Splitter

__all__ = ["DEFAULT", "UNITS", "Splitter", "Units", "splitter"]

# A name in UNITS, "re:" and a regular expression, a compiled one, a function from a text to spans, or a splitter.
Units = str | re.Pattern[str] | Callable[[str], Iterable[Span]] | Splitter
DEFAULT = "word"
UNITS = Registry(
    "unit",
    {
        "word": "mase.units.splitters:Word",
        "wordpunct": "mase.units.splitters:WordPunct",
        "token": "mase.units.splitters:Token",
        "phrase": "mase.units.splitters:Phrase",
        "sentence": "mase.units.splitters:Sentence",
        "line": "mase.units.splitters:Line",
        "paragraph": "mase.units.splitters:Paragraph",
        "document": "mase.units.splitters:WholeDocument",
        "dictionary": "mase.units.splitters:Dictionary",
    },
    group="mase.units",
)


def splitter(units: Units) -> Splitter:
    r"""Return the splitter that `units` names or is.

    Raises
    ------
    OptionError
        If it is none, or not a regular expression after "re:".
    UnknownNameError
        If there is no unit of this name.
    MissingDependencyError
        If the package that the unit needs is not installed.

    Examples
    --------
    >>> splitter("line").split("one\ntwo"), splitter("re:[aeiou]").split("one")
    ([(0, 3), (4, 7)], [(0, 1), (2, 3)])
    """
    if isinstance(units, str):
        result: Splitter = Regex.parse(units) if units.startswith(PREFIX) else UNITS.build(units)
        return result
    if isinstance(units, re.Pattern):
        return Regex(units)
    if isinstance(units, Splitter):
        return units
    if callable(units):
        return Function(units)
    raise OptionError(
        f"units is {units!r:.80}, expected one of {', '.join(UNITS)}, 're:' and a regular expression, a compiled "
        "pattern, or a function from a text to spans"
    )

"""Links from the texts of a report to the workbench of the server that shows it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, urlencode

from mase.corpus.opened import Run
from mase.report.entries import Entry

__all__ = ["Workbench"]

_LONGEST_SETTING = 200


@dataclass(frozen=True, slots=True)
class Workbench:
    """The workbench in which the texts of a run can be explained again and changed.

    Attributes
    ----------
    address
        Address of its page.
    settings
        What all texts of the run share, as the page reads it from its fragment: model, method and settings.
    """

    address: str
    settings: str

    @classmethod
    def of(cls, address: str, run: Run) -> Self:
        """Return the workbench at an address, with the settings of a run."""
        asked = run.manifest.asked
        found = dict(_settings(asked.model, asked.method)) | {"seed": asked.seed}
        return cls(address, urlencode(found, quote_via=quote))

    @property
    def link(self) -> str:
        """The link without a text, to which `&target=`, `&against=` and `&text=` can be added."""
        return f"{self.address}#{self.settings}"

    def href(self, entry: Entry) -> str:
        """Return the link of a text; "" if it is not known as the model got it."""
        if not entry.given:
            return ""
        classes = {"target": entry.response, "against": entry.against}
        found = {name: label for name, label in classes.items() if label is not None}
        return f"{self.link}&{urlencode(found | {'text': entry.given}, quote_via=quote)}"


def _settings(model: Mapping[str, Any], method: Mapping[str, Any]) -> Iterator[tuple[str, str | int]]:
    """Yield the settings of a run that have names in the workbench; anybody may have made the run."""
    space = method.get("space")
    found = {
        "model": model.get("name"),
        "method": method.get("name"),
        "units": method.get("units"),
        "n_samples": method.get("n_samples"),
        "reference": space.get("reference") if isinstance(space, Mapping) else None,
        "link": method.get("link"),
        "long": method.get("long"),
    }
    for name, value in found.items():
        if isinstance(value, str | int) and len(str(value)) <= _LONGEST_SETTING:
            yield name, value

"""Resume after the results in a file, which must be those that this command would have made."""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mase.attribution import Attribution
from mase.budget import AUTO
from mase.datasets.texts import Line
from mase.document import Document
from mase.errors import DataError, MaseWarning
from mase.files import cannot_read
from mase.io.differences import flat, shown
from mase.io.json import Failure, parse
from mase.io.schema import EARLIER_SCHEMA, SCHEMA, result
from mase.models.examples import show_example
from mase.models.identity import as_recorded, has_checksum, identity_in_run, unknown_model
from mase.models.protocol import Model
from mase.target import Question

if TYPE_CHECKING:
    from mase.explainer import Explainer

__all__ = ["Earlier", "Expected"]

_BEGINS = b'{"schema": "mase.'  # the beginning of every line that this library writes


class Earlier:
    """The results in a file, one per line.

    Attributes
    ----------
    end
        The end of the last complete line that was read so far, in bytes.
    is_torn
        Whether an incomplete line follows, which a kill or a full disk may leave.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0
        self.is_torn = False

    def __iter__(self) -> Iterator[Attribution | Failure]:
        """Yield the results in order."""
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if not file.peek(1) and _is_torn(line):
                        self.is_torn = True
                        return
                    parsed = self._result(line, number)
                    self.end += len(line)
                    yield parsed
        except DataError:
            raise
        except OSError as error:
            raise cannot_read(self.path, error) from error

    def _result(self, line: bytes, number: int) -> Attribution | Failure:
        place = f"{os.fspath(self.path)!r}, line {number}"
        document = parse(line, place=place)
        if isinstance(document, dict) and document.get("schema") == EARLIER_SCHEMA:
            raise DataError(
                f"{place} has the schema {EARLIER_SCHEMA!r} of an earlier release, expected {SCHEMA!r} in all lines; "
                "name another --output, or replace its results with --overwrite instead of --append"
            )
        parsed = result(document, place=place)
        if not line.endswith(b"\n"):
            raise DataError(f"{place} has no line end, expected one after each result; add it")
        return parsed


def _is_torn(last: bytes) -> bool:
    """Return whether the last line of a file is part of a result. Any other text is the user's, and is kept."""
    begun = last.rstrip(b"\0\r\n")
    if begun[: len(_BEGINS)] != _BEGINS[: len(begun)]:
        return False
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return True
    return not last.endswith(b"\n")


@dataclass(slots=True)
class Expected:
    """The provenance that all results of a command share, and what it asks of each.

    The `identity` of the model says how it reads texts, too.
    """

    model: Model
    identity: Mapping[str, Any]
    method: Mapping[str, Any]
    seed: int
    question: Question
    budget: Callable[[int], int]  # samples by the number of units
    labels: tuple[str, ...] | None = None  # of the model, once it was asked

    @classmethod
    def of(cls, explainer: "Explainer", question: Question) -> "Expected":
        """Return the provenance of an explainer's results."""
        plain = json.loads(
            json.dumps(explainer.settings, default=float)
        )  # tuples become lists, as when they are read back
        budget = partial(explainer.method.budget, stops_early=not explainer.stopping.never)
        return cls(explainer.model, identity_in_run(explainer.model), plain, explainer.seed, question, budget)

    def warn(self, path: Path) -> None:
        """Warn that a model without a checksum may not be the one that made the results in a file."""
        if not has_checksum(self.identity):
            kept = f"the results in {os.fspath(path)!r}"
            remedy = "replace them with --overwrite instead of --append"
            warnings.warn(unknown_model(self.identity, kept, remedy), MaseWarning, stacklevel=2)

    def check(self, result: Attribution | Failure, line: Line, place: str) -> None:
        """Check that a result in a file is the one that this command would make of a line of its input."""
        for what, got, expected in self._compared(result, line):
            if got != expected:
                raise DataError(
                    f"{place} has the {what} {shown(got, expected)}, expected {shown(expected, got)} of this "
                    "command; repeat the command that made the file, or replace its results with --overwrite "
                    "instead of --append"
                )

    def _compared(self, result: Attribution | Failure, line: Line) -> Iterator[tuple[str, Any, Any]]:
        if isinstance(result, Failure):
            yield "failure of text number", result.line, line.number
            return
        yield "text", Document(result.document).key, Document.of(line.text).key
        model = as_recorded(self.identity, result.model)
        recorded = flat(result.model)
        yield from ((f"model's {key}", recorded.get(key), value) for key, value in flat(model).items())
        if result.answer is None:  # the names of the parts of an answer depend on the text
            yield "classes", ", ".join(result.prediction.names), ", ".join(self._labels(line))
        got, expected = flat(_settings(result.method)), flat(self.method)
        if expected.get("n_samples") == AUTO and self._automatic(got.get("n_samples"), len(result.units)):
            expected |= {"n_samples": got["n_samples"]}
        yield from ((f"method's {key}", got.get(key), expected.get(key)) for key in expected | got)
        labels = result.prediction.names
        names = [labels[index] for index in self.question.indices(labels, result.prediction.ranked)]
        yield "target", ", ".join(response.name for response in result.responses), ", ".join(names)
        against = self.question.against_index(labels)
        yield "against", result.responses[0].against, None if against is None else labels[against]
        yield "seed", result.seed, self.seed

    def _labels(self, line: Line) -> tuple[str, ...]:
        """Return the classes of the model. A function of records that has no labels is asked about one first."""
        if self.labels is None:
            show_example(self.model, line.text)
            self.labels = self.model.labels
        return self.labels

    def _automatic(self, n_samples: Any, n_units: int) -> bool:
        """Return whether a number of samples is that of a text of so many units, some of which may not count."""
        return n_samples in {self.budget(n) for n in range(n_units + 1)}


def _settings(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide the scores; the batch size does not."""
    return {key: value for key, value in method.items() if key != "batch_size"}

"""What an experiment is: the work it needs, and the report that its records make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from mase.errors import DataError, OptionError
from mase.registry import unknown
from mase_paper.experiments.plots import Panel
from mase_paper.experiments.results import Outcomes, gather
from mase_paper.experiments.runner import Work
from mase_paper.experiments.specs import Spec
from mase_paper.experiments.testbeds import TARGETS, Target

__all__ = ["BATCH_SIZE", "Experiment", "Report", "Scope", "collected", "on_shared_texts"]

BATCH_SIZE = 1000  # texts per batch in the paper


@dataclass(frozen=True, slots=True)
class Scope:
    """How much of an experiment: None takes the experiment's own targets, methods and number of texts.

    `batches` are those that means and their spread are taken over; `seed` is that of the explanations.
    """

    targets: tuple[str, ...] | None = None
    specs: tuple[Spec, ...] | None = None
    n_texts: int | None = None
    batches: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.targets or ():
            if name not in TARGETS:
                raise unknown("target", name, list(TARGETS))
        if self.n_texts is not None and self.n_texts < 1:
            raise OptionError(f"n_texts is {self.n_texts}, expected an integer >= 1")
        if self.batches < 2:
            raise OptionError(f"batches is {self.batches}, expected an integer >= 2: a spread needs two")

    def chosen_targets(self, own: Sequence[str]) -> tuple[Target, ...]:
        """Return the targets wanted, `own` if none are named."""
        return tuple(TARGETS[name] for name in self.targets or own)

    def chosen_specs(self, own: Sequence[Spec]) -> tuple[Spec, ...]:
        """Return the specs wanted under the seed wanted, `own` if none are named."""
        return tuple(dict.fromkeys(spec.with_seed(self.seed) for spec in self.specs or own))

    def texts(self, own: int) -> int:
        """Return the number of texts wanted, `own` if none is named."""
        return own if self.n_texts is None else self.n_texts


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment found: plain JSON types, a page of Markdown, and figures by the end of their file's name.

    `columns` is how many panels stand side by side.
    """

    data: Mapping[str, Any]
    page: str
    figures: Mapping[str, Sequence[Panel]] = field(default_factory=dict)
    columns: int = 2


class Experiment(Protocol):
    """One table, figure or study."""

    @property
    def name(self) -> str:
        """Name of the command and of the files."""
        ...

    def works(self, scope: Scope) -> Sequence[Work]:
        """Return what has to be explained."""
        ...

    def report(self, scope: Scope, records: Path) -> Report:
        """Return what the records say, as many as there are."""
        ...


# What the records of a target must share to be compared.
_COMMON = ("model", "data", "text_seed", "operators")


def collected(works: Sequence[Work], records: Path) -> dict[Target, dict[Spec, Outcomes]]:
    """Return the outcomes of the work that has records, by target and spec, in the order of the work.

    Raises
    ------
    DataError
        If two specs of a target were run on other texts, weights or operators: they could not be compared.
    """
    wanted: dict[Target, dict[Spec, int]] = {}
    for work in works:
        wanted.setdefault(work.target, {})[work.spec] = work.n_texts
    found = {target: gather(records, target.name, specs) for target, specs in wanted.items()}
    for target, outcomes in found.items():
        _check_comparable(target, outcomes)
    return {target: outcomes for target, outcomes in found.items() if outcomes}


def on_shared_texts(works: Sequence[Work], records: Path) -> dict[Target, dict[Spec, Outcomes]]:
    """Return the outcomes on the first texts of each target, as many as every spec with records has."""
    fewest = {
        target: min((int(one.numbers[-1]) + 1 for one in outcomes.values()), default=0)
        for target, outcomes in collected(works, records).items()
    }
    return collected([replace(work, n_texts=fewest.get(work.target, 0)) for work in works], records)


def _check_comparable(target: Target, outcomes: Mapping[Spec, Outcomes]) -> None:
    first: tuple[Spec, Outcomes] | None = None
    for spec, one in outcomes.items():
        first = first or (spec, one)
        for key in _COMMON:
            ours, theirs = first[1].header.get(key), one.header.get(key)
            if ours != theirs:
                raise DataError(
                    f"on {target.name} the records of {first[0]} have {key} {ours!r} and those of {spec} {theirs!r}, expected "
                    "the same; keep them in folders of their own (--output)"
                )

"""The protocol of an experiment: the work that it needs, and the report on its records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from mase.errors import DataError, OptionError
from mase.methods import Configuration
from mase.metrics.tables import ResultTable
from mase.registry import unknown
from mase.render.figure import DotPanel
from mase_paper.experiments.plots import Panel
from mase_paper.experiments.results import Outcomes, gather
from mase_paper.experiments.runner import Work
from mase_paper.experiments.testbeds import TARGETS, Target

__all__ = ["BATCH_SIZE", "Experiment", "Report", "Scope", "collected", "on_shared_texts"]
BATCH_SIZE = 1000  # texts per batch in the paper


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of an experiment to run or report; None selects the experiment's default.

    `batches` is the number of batches for means and standard deviations. `seed` is the seed of the explanations.
    """

    targets: tuple[str, ...] | None = None
    configurations: tuple[Configuration, ...] | None = None
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

    def chosen_targets(self, default: Sequence[str]) -> tuple[Target, ...]:
        """Return the selected targets, or the default ones."""
        return tuple(TARGETS[name] for name in self.targets or default)

    def chosen_configurations(self, default: Sequence[Configuration]) -> tuple[Configuration, ...]:
        """Return the selected configurations, or the default ones, with the selected seed."""
        selected = self.configurations or default
        return tuple(dict.fromkeys(configuration.with_seed(self.seed) for configuration in selected))

    def texts(self, default: int) -> int:
        """Return the selected number of texts, or the default one."""
        return default if self.n_texts is None else self.n_texts


@dataclass(frozen=True, slots=True)
class Report:
    """The results of an experiment.

    Attributes
    ----------
    data
        Plain JSON types.
    page
        Markdown.
    tables
        The main tables, for CSV and LaTeX.
    figures
        Curves, by file name suffix.
    columns
        Number of panels of curves in a row.
    dots
        The panels of a picture of means.
    """

    data: Mapping[str, Any]
    page: str
    tables: Sequence[ResultTable]
    figures: Mapping[str, Sequence[Panel]] = field(default_factory=dict)
    columns: int = 2
    dots: Sequence[DotPanel] = ()


class Experiment(Protocol):
    """One table, figure or study."""

    @property
    def name(self) -> str:
        """Name on the command line and of the files."""
        ...

    def works(self, scope: Scope) -> Sequence[Work]:
        """Return the explanations that the experiment needs."""
        ...

    def report(self, scope: Scope, records: Path) -> Report:
        """Return the report on the records that exist."""
        ...


# Header fields that must be equal for records of a target to be comparable.
_COMMON = ("model", "data", "text_seed", "operators")


def collected(works: Sequence[Work], records: Path) -> dict[Target, dict[Configuration, Outcomes]]:
    """Return the outcomes of all work with records, by target and configuration, in the order of the work."""
    texts: dict[Target, dict[Configuration, range]] = {}
    for work in works:
        texts.setdefault(work.target, {})[work.configuration] = work.numbers
    by_target = {target: gather(records, target.name, by_configuration) for target, by_configuration in texts.items()}
    for target, outcomes in by_target.items():
        _check_comparable(target, outcomes)
    return {target: outcomes for target, outcomes in by_target.items() if outcomes}


def on_shared_texts(works: Sequence[Work], records: Path) -> dict[Target, dict[Configuration, Outcomes]]:
    """Return the outcomes on the first texts of each target that all configurations with records have."""
    fewest = {
        target: min((int(outcome.numbers[-1]) + 1 for outcome in outcomes.values()), default=0)
        for target, outcomes in collected(works, records).items()
    }
    return collected([replace(work, n_texts=fewest.get(work.target, 0)) for work in works], records)


def _check_comparable(target: Target, outcomes: Mapping[Configuration, Outcomes]) -> None:
    first: tuple[Configuration, Outcomes] | None = None
    for configuration, outcome in outcomes.items():
        first = first or (configuration, outcome)
        for key in _COMMON:
            ours, theirs = first[1].header.get(key), outcome.header.get(key)
            if ours != theirs:
                raise DataError(
                    f"on {target.name} the records of {first[0]} have {key} {ours!r} and those of "
                    f"{configuration} {theirs!r}, expected equal ones; keep them in separate folders (--output)"
                )

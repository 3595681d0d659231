"""The commands that repeat a report, without paths of the machine on which it was made."""

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any

from mase.methods import Configuration
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.results import Outcomes
from mase_paper.experiments.testbeds import Target

__all__ = ["as_made", "command", "repeat", "section"]
_APART = " --output OUT"


def command(name: str, scope: Scope) -> str:
    """Return the command of an experiment's report.

    Examples
    --------
    >>> command("table1", Scope(n_texts=100))
    'mase reproduce table1 --data-dir DIR --n-texts 100'
    """
    parts = [f"mase reproduce {name} --data-dir DIR"]
    parts += [f"--targets {','.join(scope.targets)}"] if scope.targets else []
    parts += [f"--methods {quote(','.join(map(str, scope.configurations)))}"] if scope.configurations else []
    parts += [f"--n-texts {scope.n_texts}"] if scope.n_texts else []
    parts += [f"--batches {scope.batches}"] if scope.batches != Scope().batches else []
    return " ".join(parts + ([f"--seed {scope.seed}"] if scope.seed else []))


def repeat(name: str, target: Target, outcomes: Mapping[Configuration, Outcomes], scope: Scope) -> list[str]:
    """Return the commands that repeat the records of these configurations on one target, with equal numbers of texts.

    They write to a separate folder, because a run explains nothing that already has a record.
    """
    groups: dict[tuple[int, str], list[Configuration]] = {}
    for configuration, outcome in outcomes.items():
        groups.setdefault((int(outcome.numbers.max()) + 1, as_made(outcome.header)), []).append(configuration)
    return [
        command(name, Scope((target.name,), tuple(configurations), n_texts, scope.batches)) + options + _APART
        for (n_texts, options), configurations in groups.items()
    ]


def as_made(header: Mapping[str, Any]) -> str:
    """Return the options with which records were made, from their header."""
    line = f" --text-seed {header['text_seed']}" if header["text_seed"] else ""
    line += f" --precision {header['precision']}" if header["precision"] != "float32" else ""
    return line + (f" --split {header['data']['split']}" if header["data"]["split"] != "test" else "")


def section(name: str, target: Target, lines: Iterable[str], one_row: Iterable[str] = ()) -> str:
    """Return, in Markdown, the commands that repeat a target's part of a report, and those for one of its rows."""
    commands = [*lines, f"mase reproduce {name} --targets {target.name} --report-only{_APART}"]
    parts = [
        "To make all of it again (`DIR` holds the tables of the data sets, `OUT` is a new folder):",
        _block(commands),
    ]
    return "\n\n".join([*parts, *(["One row of it:", _block(one_row)] if one_row else [])])


def _block(lines: Iterable[str]) -> str:
    return "\n".join(["```console", *(f"$ {line}" for line in lines), "```"])

"""The commands that repeat a report, as they would be typed: no path of the machine that made it."""

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any

from mase.experiments.experiment import Scope
from mase.experiments.outcomes import Outcomes
from mase.experiments.specs import Spec
from mase.experiments.targets import Target

__all__ = ["as_made", "block", "command", "repeat"]


def command(name: str, scope: Scope) -> str:
    """Return the command of an experiment's report.

    Examples
    --------
    >>> command("table1", Scope(n_texts=100))
    'mase reproduce table1 --data-dir DIR --n-texts 100'
    """
    parts = [f"mase reproduce {name} --data-dir DIR"]
    parts += [f"--targets {','.join(scope.targets)}"] if scope.targets else []
    parts += [f"--methods {quote(','.join(map(str, scope.specs)))}"] if scope.specs else []
    parts += [f"--n-texts {scope.n_texts}"] if scope.n_texts else []
    parts += [f"--batches {scope.batches}"] if scope.batches != Scope().batches else []
    return " ".join(parts + ([f"--seed {scope.seed}"] if scope.seed else []))


def repeat(name: str, target: Target, specs: Iterable[Spec], outcomes: Iterable[Outcomes], scope: Scope) -> str:
    """Return the command that repeats some specs on one target, with the settings that their records were made with."""
    known = list(outcomes)
    n_texts = max(int(one.numbers.max()) + 1 for one in known)
    return command(name, Scope((target.name,), tuple(specs), n_texts, scope.batches)) + as_made(known[0].header)


def as_made(header: Mapping[str, Any]) -> str:
    """Return the options of a command that are in the header of the records it wrote."""
    line = f" --text-seed {header['text_seed']}" if header["text_seed"] else ""
    line += f" --precision {header['precision']}" if header["precision"] != "float32" else ""
    return line + (f" --split {header['data']['split']}" if header["data"]["split"] != "test" else "")


def block(lines: Iterable[str]) -> str:
    """Return commands as a block of Markdown."""
    return "\n".join(["```console", *(f"$ {line}" for line in lines), "```"])

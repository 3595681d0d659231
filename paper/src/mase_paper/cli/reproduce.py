"""`mase reproduce`: run, resume and report the paper's tables and figure, and further studies."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mase.cli import tell
from mase.cli.options import names, precision
from mase.errors import DataError
from mase.files import check_writable
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.testbeds import TARGETS

if TYPE_CHECKING:
    from mase.methods import Configuration
    from mase_paper.experiments.testbeds import Target
    from mase_paper.experiments.trial import TrialResult

__all__ = ["reproduce"]

# Seconds between two lines of progress if standard error is not a terminal.
_INTERVAL = 60.0


def _some(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    result = names(context, option, value)
    if result == ():
        raise click.BadParameter("got no name, expected A,B,...; leave the option out for all")
    return result


@click.command(short_help="Repeat the paper's tables and figure.")
@click.argument("name", type=click.Choice(tuple(EXPERIMENTS)), metavar=f"[{'|'.join(EXPERIMENTS)}]")
@click.option(
    "--targets",
    callback=_some,
    metavar="A,B",
    help=f"Some of {', '.join(TARGETS)}. [default: all targets of the experiment]",
)
@click.option(
    "--methods",
    callback=_some,
    metavar="A,B",
    help="Methods, with settings as in mase-nlgp+sigma=0.3+n_samples=500. [default: all methods of the experiment]",
)
@click.option(
    "--n-texts", type=click.IntRange(min=1), metavar="N", help="Texts per target. [default: the experiment's number]"
)
@click.option("--batches", type=click.IntRange(min=2), default=10, show_default=True, help="Batches of 1,000 texts.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the explanations.")
@click.option(
    "--split",
    type=click.Choice(["test", "validation", "test-later"]),
    default="test",
    show_default=True,
    help="Explain texts of the test split, of the validation part of train, on which settings are chosen, or of the "
    "part of the test split that comparisons have left out.",
)
@click.option(
    "--text-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the order of the texts."
)
@click.option(
    "--data-dir", metavar="DIR", help="Folder of the data sets' tables. [default: $MASE_DATA, then the cache]"
)
@click.option(
    "--models",
    default=".",
    show_default=True,
    metavar="DIR",
    help="Folder with the models that `mase train` wrote, for targets that do not come with mase-xai.",
)
@click.option(
    "-o", "--output", default="mase-results", show_default=True, metavar="DIR", help="Folder of results and records."
)
@click.option(
    "--resume/--fresh",
    default=True,
    show_default=True,
    help="Resume after the existing records, or drop them and start again.",
)
@click.option(
    "--answers",
    metavar="DIR",
    help="Keep what the models answer in this folder, and ask no row again whose answer is there.",
)
@click.option("--report-only", is_flag=True, help="Explain nothing; report on the existing records.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes, of one thread each."
)
@precision
@click.option("--device", metavar="NAME", help="Device of the models, for example cuda. [default: cpu]")
def reproduce(
    *,
    name: str,
    targets: tuple[str, ...] | None,
    methods: tuple[str, ...] | None,
    n_texts: int | None,
    batches: int,
    seed: int,
    text_seed: int,
    split: str,
    data_dir: str | None,
    models: str,
    output: str,
    answers: str | None,
    resume: bool,
    report_only: bool,
    jobs: int,
    precision: Literal["float32", "bfloat16"],
    device: str | None,
) -> None:
    """Run an experiment of the paper, and report its figures next to the paper's.

    Every explanation is recorded at once. A stopped run resumes where it was. A longer run, or one with more methods,
    extends a shorter one. Text number i is the same text for all methods.

    \b
    Examples
      mase reproduce table1 --n-texts 100 --data-dir data
      mase reproduce table2 --targets bert-imdb --methods mase-paper,random --jobs 2
      mase reproduce faithfulness --report-only -o experiments/results
    """  # fmt: skip
    from mase.methods import parse
    from mase_paper.experiments.experiment import Scope
    from mase_paper.experiments.publish import publish
    from mase_paper.experiments.runner import Settings, run

    configurations = None if methods is None else tuple(parse(method) for method in methods)
    scope, experiment = Scope(targets, configurations, n_texts, batches, seed), EXPERIMENTS[name]
    folder = Path(output)
    _check(folder, name)
    if not report_only:
        _check_writable(folder, name)
        records = folder / "records"
        settings = Settings(
            records,
            data_dir,
            text_seed,
            precision,
            device,
            jobs,
            not resume,
            split,
            Path(models),
            None if answers is None else Path(answers),
        )
        run(experiment.works(scope), settings, _ProgressPrinter())
    for path in publish(experiment, scope, folder):
        click.echo(click.format_filename(path))


def _check(folder: Path, name: str) -> None:
    """Check that a report replaces only an earlier report: a folder without records has none."""
    if folder.exists() and not folder.is_dir():
        raise DataError(
            f"{str(folder)!r} is a file, expected the folder of results and records; name another with --output"
        )
    if (folder / "records").is_dir():
        return
    for path in (folder / f"{name}.{suffix}" for suffix in ("md", "json", "csv", "tex")):
        if path.is_file() and path.stat().st_size > 0:
            raise DataError(
                f"{str(path)!r} exists, but has no records that it could report; move it, or name another --output"
            )


def _check_writable(folder: Path, name: str) -> None:
    """Check before any text is explained that records and report can be written; create the folder of both."""
    check_writable(folder / f"{name}.md")
    if (folder / "records").exists():
        check_writable(folder / "records" / name)


class _ProgressPrinter:
    """Prints the progress of a run to standard error, with the time per text."""

    def begin(self, target: "Target", n_done: int, n_total: int) -> None:
        tell(f"{target.name}: {n_done:,} of at most {n_total:,} texts have records")
        self._name, self._left, self._n = target.name, n_total - n_done, 0
        self._start = self._printed = time.monotonic()

    def step(self, result: "TrialResult") -> None:
        del result
        self._n += 1
        now = time.monotonic()
        interval = _INTERVAL if not sys.stderr.isatty() else _INTERVAL / 10
        if self._n in (1, self._left) or now - self._printed > interval:
            self._printed = now
            each = (now - self._start) / self._n
            tell(
                f"{self._name}: {self._n:,} more texts, {each:.2f} s each, {_clock(each * (self._left - self._n))} left"
            )

    def refuse(self, target: "Target", configuration: "Configuration", reason: str) -> None:
        tell(f"{target.name}: {configuration} is left out: {reason}")


def _clock(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"

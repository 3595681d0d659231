"""The command `mase`, with one module per subcommand, which is imported when the subcommand is called."""

import os
import sys

import click

from mase import __version__
from mase.cli.group import LazyGroup
from mase.registry import Registry

__all__ = ["COMMANDS", "main"]

COMMANDS = Registry(
    "command",
    {
        name: f"mase.cli.{name}:{name}"
        for name in (
            "explain",
            "cite",
            "run",
            "status",
            "summary",
            "compare",
            "serve",
            "evaluate",
            "doctor",
            "models",
            "methods",
            "data",
        )
    },
    "mase.commands",
)


@click.command(
    cls=LazyGroup,
    registry=COMMANDS,
    packages={"reproduce": "mase-xai-paper", "train": "mase-xai-paper"},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="mase %(version)s")
def main() -> None:
    """Explain the decisions of a text classifier, or the answers of a language model, by what they read: scores with
    error bars, fit quality and provenance.

    \b
      mase explain "The cast is superb, but the plot is dull."
      mase explain -i reviews.txt --html reviews.html -o reviews.jsonl
      mase run reviews.csv -o run
      mase cite -m MODEL --context minutes.txt --query "Who pays for the hall?"

    Results go to standard output, everything else to standard error.

    \b
    Exit codes
      0    success
      1    an error, or some texts could not be explained or evaluated
      2    unknown or missing command, option or value
      3    a limit of `mase compare` is exceeded
      130  interrupted (Ctrl-C); results written before are kept
      141  the reader of the output closed it early
      143  terminated (SIGTERM or SIGHUP); results written before are kept
    """
    # Show progress bars of Hugging Face on terminals only, like ours. The variable is read at its first import.
    if sys.stderr is None or not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

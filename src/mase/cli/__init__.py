"""The command `mase`. One file per verb; a verb's file, and what it needs, is imported when the verb is called."""

import os
import sys

import click

from mase import __version__
from mase.cli.group import LazyGroup

__all__ = ["main"]


@click.command(
    cls=LazyGroup,
    verbs=("explain", "evaluate", "models", "methods", "data"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="mase %(version)s")
def main() -> None:
    """Which words made a text classifier decide: scores with error bars, fit quality and provenance.

    \b
      mase explain "The cast is superb, but the plot is dull."
      mase explain -i reviews.txt --html reviews.html -o reviews.jsonl

    Results go to standard output, everything else to standard error.

    \b
    Exit codes
      0    all went well
      1    some texts could not be explained, or an error said why nothing could
      2    the command was called in a way it does not know
      130  interrupted (Ctrl-C); what was written before stays
      141  the reader of the output closed it early
      143  terminated (SIGTERM); what was written before stays
    """
    # Bars of Hugging Face, like ours, are for terminals; read when it is first imported.
    if sys.stderr is None or not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

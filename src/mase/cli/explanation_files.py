"""The files of `mase explain`: one of JSON lines, that a later run can go on from, and others by their forms."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from mase.cli.output_files import Claim, Destination, Policy
from mase.outputs import OUTPUTS, form_of
from mase.outputs.json_lines import JsonLines

__all__ = ["Claims", "Files"]


@dataclass(frozen=True, slots=True)
class Claims:
    """The files that are this run's alone; `others` with their forms."""

    record: Claim | None
    others: tuple[tuple[Claim, str], ...]


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a command was given.

    Attributes
    ----------
    by_option
        Where to write, by what the user typed.
    forms
        The form of each, by the same.
    record
        Which of them is the one of JSON lines that grows with every text; None if there is none.
    """

    by_option: dict[str, Destination]
    forms: dict[str, str]
    record: str | None

    @classmethod
    def of(cls, names: Sequence[str], html: str | None, policy: Policy) -> "Files":
        """Return the files of `--output` NAME and `--html` FILE.

        Raises
        ------
        OptionError
            If no output has the suffix of a name.
        PluginError
            If the output is one of another package, which cannot be imported.
        UsageError
            If the command is to go on where results end, but no file can be gone on with.
        """
        typed = {"--output" if len(names) == 1 else f"--output {name}": name for name in names}
        forms = {option: form_of(name) for option, name in typed.items()}
        kinds = {option: OUTPUTS[form] for option, form in forms.items()}
        record = next((option for option, kind in kinds.items() if kind is JsonLines), None)
        if policy is Policy.APPEND and record is None:
            raise click.UsageError("got --append without a file to go on with, expected --output FILE.jsonl")
        if html is not None:
            typed, forms = typed | {"--html": html}, forms | {"--html": "html"}
        files = {option: Destination(name, policy, by_line=option == record) for option, name in typed.items()}
        return cls(files, forms, record)

    def claimed(self, context: click.Context) -> Claims:
        """Make the files this run's alone until the command ends.

        Raises
        ------
        DataError
            If a file holds something that the user did not ask to change, or another run is writing it.
        """
        claims = {option: context.with_resource(file.claimed()) for option, file in self.by_option.items()}
        others = tuple((claim, self.forms[option]) for option, claim in claims.items() if option != self.record)
        return Claims(None if self.record is None else claims[self.record], others)

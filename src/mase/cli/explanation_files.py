"""The files of `mase explain`: one with JSON lines, from which a later run can resume, and others by format."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from mase.cli.output_files import Claim, Destination, Policy
from mase.outputs import OUTPUTS, form_of
from mase.outputs.json_lines import JsonLines

__all__ = ["Claims", "Files"]


@dataclass(frozen=True, slots=True)
class Claims:
    """The files that this run has claimed; `others` with their formats."""

    record: Claim | None
    others: tuple[tuple[Claim, str], ...]


@dataclass(frozen=True, slots=True)
class Files:
    """The output files of a command.

    Attributes
    ----------
    by_option
        The files by option, as the user typed it.
    forms
        The format of each file, by option.
    record
        The option whose file has JSON lines and grows with every text, or None.
    """

    by_option: dict[str, Destination]
    forms: dict[str, str]
    record: str | None

    @classmethod
    def of(cls, names: Sequence[str], html: str | None, policy: Policy, *, resumes: bool = True) -> "Files":
        """Return the files of `--output` NAME and `--html` FILE; `resumes` says whether the command can be resumed."""
        typed = {"--output" if len(names) == 1 else f"--output {name}": name for name in names}
        forms = {option: form_of(name) for option, name in typed.items()}
        kinds = {option: OUTPUTS[form] for option, form in forms.items()}
        record = next((option for option, kind in kinds.items() if resumes and kind is JsonLines), None)
        if policy.append and record is None:
            raise click.UsageError("got --append without a file of JSON lines, expected --output FILE.jsonl")
        if html is not None:
            typed, forms = typed | {"--html": html}, forms | {"--html": "html"}
        files = {option: Destination(name, policy, by_line=option == record) for option, name in typed.items()}
        return cls(files, forms, record)

    def claimed(self, context: click.Context) -> Claims:
        """Claim the files for this run until the command ends."""
        claims = {option: context.with_resource(file.claimed()) for option, file in self.by_option.items()}
        others = tuple((claim, self.forms[option]) for option, claim in claims.items() if option != self.record)
        return Claims(None if self.record is None else claims[self.record], others)

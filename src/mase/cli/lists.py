"""Values of options that are lists."""

import csv
import re

import click

__all__ = ["comma_separated", "names", "pairs"]

_BETWEEN_NAMES = re.compile(r",(?![^()]*\))")  # no comma in brackets


def names(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the names of a list A,B(SETTING=VALUE,...),..., each once; a comma in brackets is part of a name."""
    if value is None:
        return None
    return tuple(dict.fromkeys(filter(None, map(str.strip, _BETWEEN_NAMES.split(value)))))


def comma_separated(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str] | None:
    """Return the items of a list A,B,...; one with a comma is quoted, as in a CSV file."""
    try:
        return None if value is None else next(csv.reader([value], skipinitialspace=True), [])
    except csv.Error as error:
        raise click.BadParameter(f"{value!r:.100} is no list of names, expected A,B,... in one line") from error


def pairs(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a repeatable option NAME=VALUE by name."""
    found: dict[str, str] = {}
    for text in values:
        name, sign, value = text.partition("=")
        if not sign:
            raise click.BadParameter(f"{text!r} has no '=', expected NAME=VALUE")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice, expected one value for each name")
        found[name] = value
    return found

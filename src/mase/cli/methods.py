"""`mase methods`: list or describe the methods."""

import click

__all__ = ["methods"]


@click.command(short_help="List the methods, or describe one.")
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods that `mase explain --method` takes, or show every setting of the method NAME."""
    from mase.methods import METHODS, describe

    if name is None:
        width = max(map(len, METHODS))
        for key, method in METHODS.items():
            click.echo(f"{key:<{width}}  {method.summary}")
        return
    method = METHODS[name]
    click.echo(f"{name}\n  {method.summary}")
    for key, value in describe(method).items():
        if key != "name":
            click.echo(f"  {key:<10} {_setting(value)}")


def _setting(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    rest = ", ".join(f"{key} {setting}" for key, setting in value.items() if key != "name")
    return f"{value['name']} ({rest})" if rest else str(value["name"])

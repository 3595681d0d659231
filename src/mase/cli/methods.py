"""`mase methods`: list or describe the methods."""

import click

__all__ = ["methods"]


@click.command(short_help="List the methods, or describe one.")
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods that `mase explain --method` takes, or show every setting of the method NAME."""
    from mase.errors import PluginError
    from mase.methods import METHODS, describe

    if name is None:
        width = max(map(len, METHODS))
        for key in METHODS:
            try:
                said = METHODS[key].summary
            except PluginError as error:  # a broken plug-in must not affect other methods
                said = f"not available: {error}"
            click.echo(f"{key:<{width}}  {said}")
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

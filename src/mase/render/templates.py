"""Templates of pages, in which Jinja escapes everything, and style sheets that a security policy can name."""

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["checksum", "resource", "templates"]


@cache
def templates(package: str) -> Environment:
    """Return the templates of a package; names that a page forgot to fill are errors."""
    return Environment(
        loader=PackageLoader(package, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def resource(package: str, name: str) -> str:
    """Return the content of a style sheet or a script of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def checksum(content: str) -> str:
    """Return the checksum by which a content security policy allows an inline style sheet or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

"""Where results come from: the versions of what computed them."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed"]


@cache
def installed() -> dict[str, str]:
    """Return the versions of Python and of the packages that scores depend on."""
    found = {"python": platform.python_version()}
    for package in ("mase-xai", "numpy", "scipy", "torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

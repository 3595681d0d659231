"""Provenance of results: the versions of the software that computed them."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed"]


@cache
def installed() -> dict[str, str]:
    """Return the versions of Python and of the packages that scores depend on."""
    versions = {"python": platform.python_version()}
    for package in ("mase-xai", "numpy", "scipy", "torch", "transformers"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions

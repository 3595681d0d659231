"""Where the repository is, for the tests of its documents and scripts; a source distribution has none of them."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
needs_repository = pytest.mark.skipif(
    not (ROOT / "experiments").is_dir(), reason="checks documents and scripts of the repository"
)


def script(name):
    """Return the module of a script in `experiments`."""
    spec = importlib.util.spec_from_file_location(f"experiments.{name}", ROOT / "experiments" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
